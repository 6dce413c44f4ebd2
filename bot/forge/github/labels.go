package github

import (
	"context"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"
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
		color := colorOf(name)
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

// mergeLabels keeps what people added and replaces what Holdfast gave.
func mergeLabels(present, wanted []string) []string {
	out := slices.Clone(wanted)
	for _, name := range present {
		own := name == "drift" || strings.HasPrefix(name, "drift/")
		if !own && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if out == nil {
		return []string{} // an empty list clears, none leaves as is
	}
	return out
}

func labelNames(labels []*gh.Label) []string {
	var out []string
	for _, l := range labels {
		out = append(out, l.GetName())
	}
	return out
}

// colorOf gives the colour in hex that a new label gets: the risks from red to grey, the rest in one violet.
func colorOf(name string) string {
	switch strings.TrimPrefix(name, "drift/") {
	case "critical":
		return "b60205"
	case "high":
		return "d93f0b"
	case "medium":
		return "fbca04"
	case "low":
		return "c5def5"
	}
	return "6f42c1"
}
