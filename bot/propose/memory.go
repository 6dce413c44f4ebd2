package propose

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
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
			if _, known := record.About[out[i].ID]; known && !record.FirstSeen.IsZero() && record.FirstSeen.Before(out[i].FirstSeen) {
				out[i].FirstSeen = record.FirstSeen
			}
		}
	}
	return out
}

// place gives the key of a codify, and its branch where that does not follow from the key. While an open one is about
// nothing that drifts now, its recorded values are kept for a person to decide about, and the next key is taken.
func (j joint) place() (key, branch string) {
	if key, branch, ok := j.adopted(); ok {
		return key, branch
	}
	for n := 1; ; n++ {
		name := "codify"
		if n > 1 {
			name += " " + strconv.Itoa(n)
		}
		key := bot.Key(j.lead().scope(), name, string(bot.AsPullRequest))
		if !j.undone(key) {
			return key, ""
		}
	}
}

func (j joint) undone(key string) bool {
	for _, t := range j.lead().in.Threads {
		known, _, ok := bot.ParseMarker(t.Body)
		if !ok || known != key || t.State != bot.Open {
			continue
		}
		before := bot.ParseRecord(t.Body).About
		for _, g := range j {
			now := about(g.drifts, "")
			maps.Copy(now, about(g.drifts, detect.Codify))
			for name := range now {
				if _, still := before[name]; still {
					return false
				}
			}
		}
		return len(before) > 0
	}
	return false
}

// about gives what a thread remembers of findings, as bot.Record.About has it: object-level drift by the
// finding's ID, the fields with a disposition one by one, by names of their own. An empty disposition takes
// every drift.
func about(findings []detect.Finding, d detect.Disposition) map[string]string {
	out := map[string]string{}
	for _, f := range findings {
		if len(f.Fields) == 0 {
			out[f.ID] = f.Fingerprint
		}
		for _, field := range fieldsOf(f, d) {
			change, _ := json.Marshal([]any{field.Git, field.Live})
			print := string(change)
			if field.Masked { // the values are placeholders; the finding's fingerprint tells one change from another
				print = f.Fingerprint
			}
			out[bot.FieldName(f.ID, field.Path.String())] = bot.Hash(print)[:12]
		}
	}
	return out
}

// Drifting gives all that drifts in a scan, named as in bot.Record.About.
func Drifting(s detect.Scan) map[string]string {
	drifts := slices.DeleteFunc(slices.Clone(s.Findings), func(f detect.Finding) bool { return !f.Drift })
	out := about(drifts, "")
	maps.Copy(out, fingerprints(drifts))
	return out
}

// fingerprints are those of whole findings, by their IDs.
func fingerprints(findings []detect.Finding) map[string]string {
	out := map[string]string{}
	for _, f := range findings {
		out[f.ID] = f.Fingerprint
	}
	return out
}

// FilesHash tells whether the files of a pull request are as they were when it was made, before and after, in whatever
// order they come.
func FilesHash(files []bot.FileChange) string {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b bot.FileChange) int { return strings.Compare(a.Path, b.Path) })
	var parts []string
	for _, f := range files {
		parts = append(parts, f.Path, fmt.Sprint(f.Before == nil, f.Remove), string(f.Before), string(f.After))
	}
	return bot.Hash(parts...)
}

// restsOn tells whether what a proof rests on is as it was: what each Application declares without the edit.
func restsOn(p gitops.Proof) string {
	var parts []string
	for _, m := range p.Applications {
		parts = append(parts, m.Cluster, m.Namespace, m.Name, m.Path, m.Before)
	}
	return bot.Hash(parts...)[:12]
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
