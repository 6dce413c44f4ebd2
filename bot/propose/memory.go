package propose

import (
	"fmt"
	"slices"
	"strconv"

	"holdfast/bot"
	"holdfast/detect"
)

// remembered gives the scan's findings with the time at which an open issue says that they were first seen:
// a deletion, a removal and a scale leave no time in the cluster.
func remembered(in Input) []detect.Finding {
	out := slices.Clone(in.Scan.Findings)
	for _, t := range in.Threads {
		if t.Kind != bot.AsIssue || t.State != bot.Open {
			continue
		}
		record := bot.ParseRecord(t.Body)
		for i := range out {
			if _, known := record.Findings[out[i].ID]; known && !record.FirstSeen.IsZero() && record.FirstSeen.Before(out[i].FirstSeen) {
				out[i].FirstSeen = record.FirstSeen
			}
		}
	}
	return out
}

// codifyKey is the key of the group's codify. While an open one is about nothing that drifts now, its
// recorded values are kept for a person to decide about, and the next key is taken.
func (g group) codifyKey() string {
	for n := 1; ; n++ {
		about := "codify"
		if n > 1 {
			about += " " + strconv.Itoa(n)
		}
		key := bot.Key(g.scope(), about, string(bot.AsPullRequest))
		if !g.undone(key) {
			return key
		}
	}
}

func (g group) undone(key string) bool {
	for _, t := range g.in.Threads {
		known, _, ok := bot.ParseMarker(t.Body)
		if !ok || known != key || t.State != bot.Open {
			continue
		}
		record := bot.ParseRecord(t.Body)
		return len(record.Findings) > 0 && !slices.ContainsFunc(g.drifts, func(f detect.Finding) bool {
			_, about := record.Findings[f.ID]
			return about
		})
	}
	return false
}

func fingerprints(findings []detect.Finding) map[string]string {
	out := map[string]string{}
	for _, f := range findings {
		out[f.ID] = f.Fingerprint
	}
	return out
}

// filesHash tells whether the files of a pull request are as they were when it was made, before and after.
func filesHash(files []bot.FileChange) string {
	var parts []string
	for _, f := range files {
		parts = append(parts, f.Path, fmt.Sprint(f.Before == nil, f.Remove), string(f.Before), string(f.After))
	}
	return bot.Hash(parts...)
}

// closesAfterHeal says whether policy closes a proposal of all these once the engine undid them.
func closesAfterHeal(findings []detect.Finding, d detect.Disposition) bool {
	for _, f := range findings {
		if len(f.Fields) == 0 && f.AfterHeal != "close" {
			return false
		}
		for _, field := range fieldsOf(f, d) {
			if field.AfterHeal != "close" {
				return false
			}
		}
	}
	return true
}
