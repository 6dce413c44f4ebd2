package gitlab

import (
	"context"
	"net/http"

	gl "github.com/xanzy/go-gitlab"

	"holdfast/bot"
)

// makeLabels makes the labels that the project does not have, with their colours: GitLab would make them by itself, all in
// one. What it has is asked for once.
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
		if f.labels[name] {
			continue
		}
		_, response, err := f.client.Labels.CreateLabel(f.project, &gl.CreateLabelOptions{Name: &name, Color: gl.Ptr("#" + bot.LabelColor(name))}, gl.WithContext(ctx))
		// 409 says that somebody else has made it meanwhile.
		if err != nil && (response == nil || response.StatusCode != http.StatusConflict) {
			return f.refused(ctx, err, labelling, "make the label %s", name)
		}
		f.labels[name] = true
	}
	return nil
}

// listLabels gives the names, with those of the groups above.
func (f *Forge) listLabels(ctx context.Context) (map[string]bool, error) {
	known := map[string]bool{}
	for page := 1; page != 0; {
		labels, response, err := f.client.Labels.ListLabels(f.project, &gl.ListLabelsOptions{ListOptions: gl.ListOptions{Page: page, PerPage: perPage}}, gl.WithContext(ctx))
		if err != nil {
			return nil, f.fail(ctx, err, reading, "list the labels")
		}
		for _, l := range labels {
			known[l.Name] = true
		}
		page = response.NextPage
	}
	return known, nil
}

// given are the labels of a new thread.
func given(labels []string) *gl.LabelOptions {
	if len(labels) == 0 {
		return nil
	}
	return (*gl.LabelOptions)(&labels)
}
