package propose

import (
	"cmp"
	"slices"
	"strings"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/templates"
)

// OverviewScope is the scope of a repository's dashboard issue.
const OverviewScope = "dashboard"

// mostListed bounds each list of a dashboard issue.
const mostListed = 150

// Overview gives the dashboard issue of a repository, from the threads that Holdfast has there and how many more wait.
// It is offered once: who closes it does without it. Of an unchanged state it has the same text.
func Overview(threads []bot.Thread, waiting int) (bot.Proposal, error) {
	p := bot.Proposal{
		Key: bot.Key(OverviewScope, "repository", string(bot.AsIssue)), Kind: bot.AsIssue, Title: "Drift dashboard", Labels: []string{"drift/dashboard"}, Once: true,
	}
	view := templates.Overview{Waiting: waiting}
	view.PullRequests, view.MorePullRequests = listed(threads, bot.AsPullRequest)
	view.Issues, view.MoreIssues = listed(without(threads, p.Key), bot.AsIssue)
	body, err := templates.OverviewBody(view)
	if err != nil {
		return p, err
	}
	p.Hash = bot.Hash(p.Key, body)
	p.Body = templates.Cut(body, "the forge lists the label drift", bot.Marker(p.Key, p.Hash)+"\n")
	return p, nil
}

// listed gives the open threads of a kind, by risk and title.
func listed(threads []bot.Thread, kind bot.Kind) (out []templates.Open, more int) {
	rank := map[string]detect.Risk{}
	for r := detect.Low; r <= detect.Critical; r++ {
		rank[r.String()] = r
	}
	for _, t := range threads {
		if t.Kind != kind || t.State != bot.Open {
			continue
		}
		one := templates.Open{Title: t.Title, URL: t.URL}
		for _, label := range t.Labels {
			name, ours := strings.CutPrefix(label, "drift/")
			if _, isRisk := rank[name]; isRisk {
				one.Risk = name
			} else if ours {
				one.Disposition = name
			}
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b templates.Open) int {
		return cmp.Or(cmp.Compare(rank[b.Risk], rank[a.Risk]), strings.Compare(a.Title, b.Title), strings.Compare(a.URL, b.URL))
	})
	if more = max(0, len(out)-mostListed); more > 0 {
		out = out[:mostListed]
	}
	return out, more
}

func without(threads []bot.Thread, key string) []bot.Thread {
	return slices.DeleteFunc(slices.Clone(threads), func(t bot.Thread) bool {
		has, _, _ := bot.ParseMarker(t.Body)
		return has == key
	})
}
