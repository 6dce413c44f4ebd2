package github

import (
	"context"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"holdfast/bot"
)

// makeLabels makes the labels that the repository does not have. What it has is asked for once.
func (f *Forge) makeLabels(ctx context.Context, names []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(names) > 0 && f.labels == nil {
		known, err := f.listLabels(ctx)
		if err != nil {
			return err
		}
		f.labels = known
	}
	for _, name := range names {
		if f.labels[strings.ToLower(name)] {
			continue
		}
		color := bot.LabelColor(name)
		_, response, err := f.client.Issues.CreateLabel(ctx, f.owner, f.repo, &gh.Label{Name: &name, Color: &color})
		// 422 also says that somebody else has made it meanwhile; any other fault shows when it is used.
		if err != nil && (response == nil || response.StatusCode != http.StatusUnprocessableEntity) {
			return f.fail(ctx, err, "make the label %s", name)
		}
		f.labels[strings.ToLower(name)] = true
	}
	return nil
}

// listLabels gives the names in lower case: to GitHub they are the same in any case.
func (f *Forge) listLabels(ctx context.Context) (map[string]bool, error) {
	known := map[string]bool{}
	for page := 1; page != 0; {
		labels, response, err := f.client.Issues.ListLabels(ctx, f.owner, f.repo, &gh.ListOptions{Page: page, PerPage: perPage})
		if err != nil {
			return nil, f.fail(ctx, err, "list the labels")
		}
		for _, l := range labels {
			known[strings.ToLower(l.GetName())] = true
		}
		page = response.NextPage
	}
	return known, nil
}

func labelNames(labels []*gh.Label) []string {
	var out []string
	for _, l := range labels {
		out = append(out, l.GetName())
	}
	return out
}
