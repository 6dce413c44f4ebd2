package gitea

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"holdfast/bot"
)

// labelIDs gives the numbers of the wanted labels and of those among present that people added. Labels that the
// repository does not have are made. Names are told apart by case.
func (f *Forge) labelIDs(ctx context.Context, present []label, wanted []string) ([]int64, error) {
	ids := []int64{} // an empty list clears, none leaves as is
	for _, l := range present {
		if !bot.OwnLabel(l.Name) && !slices.Contains(wanted, l.Name) {
			ids = append(ids, l.ID)
		}
	}
	if len(wanted) == 0 {
		return ids, nil
	}
	known := map[string]int64{}
	err := pages(ctx, f, f.at("labels"), nil, func(l label) bool {
		known[l.Name] = l.ID
		return true
	})
	if err != nil {
		return nil, f.fail(ctx, err, "list the labels")
	}
	for _, name := range wanted {
		id, found := known[name]
		if !found {
			var made label
			if err := f.write(ctx, http.MethodPost, f.at("labels"), map[string]any{"name": name, "color": "#" + bot.LabelColor(name)}, &made); err != nil {
				return nil, f.fail(ctx, err, "make the label %s", name)
			}
			id, known[name] = made.ID, made.ID
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// withLabels gives a thread the labels that it lacks and takes those of Holdfast that are no longer wanted.
func (f *Forge) withLabels(ctx context.Context, t bot.Thread, present []label, wanted []string) (bot.Thread, error) {
	own := slices.DeleteFunc(slices.Clone(t.Labels), func(name string) bool { return !bot.OwnLabel(name) && !slices.Contains(wanted, name) })
	if slices.Equal(slices.Sorted(slices.Values(own)), slices.Sorted(slices.Values(wanted))) {
		return t, nil
	}
	ids, err := f.labelIDs(ctx, present, wanted)
	if err != nil {
		return t, err
	}
	var labels []label
	if err := f.write(ctx, http.MethodPut, f.at("issues", strconv.Itoa(t.Number), "labels"), map[string]any{"labels": ids}, &labels); err != nil {
		return t, f.fail(ctx, err, "%s %d is there; set its labels", t.Kind, t.Number)
	}
	t.Labels = labelNames(labels)
	return t, nil
}

func labelNames(labels []label) []string {
	var out []string
	for _, l := range labels {
		out = append(out, l.Name)
	}
	return out
}
