package propose

import (
	"context"
	"slices"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/codify"
	"holdfast/gitops/render"
)

// wish turns the group's findings into wishes against the head of the base branch, whose render may differ from the
// applied one that the findings were made with.
func (g *group) wish(ctx context.Context, plans map[string]plan) []Skipped {
	wanted := g.of(detect.Codify)
	if len(wanted) == 0 {
		return nil
	}
	if g.source.Base == "" {
		return skip(wanted, plans, g.source.Reason)
	}
	head, err := g.in.Render(ctx, g.source.Tree, g.app)
	if err != nil {
		return skip(wanted, plans, "the head of "+g.source.Base+" does not render: "+err.Error())
	}
	g.reads = head.Reads
	var skipped []Skipped
	for _, f := range wanted {
		wishes, missed := g.wishesOf(f, head)
		g.wishes, skipped = append(g.wishes, wishes...), append(skipped, missed...)
	}
	tell(plans, skipped)
	return skipped
}

// wishesOf gives what one finding asks for: one wish for all that policy grants the same.
func (g *group) wishesOf(f detect.Finding, head *render.Result) ([]codify.Wish, []Skipped) {
	no := func(reason string) ([]codify.Wish, []Skipped) {
		return nil, []Skipped{{Finding: f.ID, Reason: reason}}
	}
	i := slices.IndexFunc(head.Objects, func(d gitops.Declared) bool { return d.ID == f.Object.ID() })
	wish := codify.Wish{App: g.app, FindingID: f.ID}
	grant(&wish, f.Grant)
	if f.Live != nil {
		wish.Live = *f.Live
	}
	switch {
	case f.Presence == detect.LiveOnly && i >= 0:
		return no("the head of " + g.source.Base + " declares it already")
	case f.Presence == detect.LiveOnly && f.Live == nil:
		return no("its live form was not read")
	case f.Presence == detect.LiveOnly:
		wish.CreateObject, wish.Declared.Object, wish.Unauthored = true, *f.Live, f.Unauthored
		return []codify.Wish{wish}, nil
	case i < 0:
		return no("the head of " + g.source.Base + " does not declare it any more")
	}
	wish.Declared = head.Objects[i]
	if f.Presence == detect.GitOnly {
		if wish.Declared.IsSecret() {
			return no("a patch that removes a Secret would show its values: remove it from Git by hand")
		}
		if f.Doubt != "" && g.in.Picked == "" {
			return no("it is not taken out of Git, since it may stand in the cluster all the same: " + f.Doubt + ". Whoever knows that it is gone names the finding: --finding " + f.ID)
		}
		wish.RemoveObject = true
		return []codify.Wish{wish}, nil
	}
	return fieldWishes(f, wish)
}

// fieldWishes gives a wish for the fields of a finding, one for each grant.
func fieldWishes(f detect.Finding, wish codify.Wish) ([]codify.Wish, []Skipped) {
	var out []codify.Wish
	var skipped []Skipped
	at := map[detect.Grant]int{}
	for _, field := range fieldsOf(f, detect.Codify) {
		if field.Masked {
			skipped = append(skipped, Skipped{f.ID, field.Path.String(), codify.SecretValue})
			continue
		}
		change := gitops.FieldChange{Path: field.Path, Before: gitops.Lookup(wish.Declared.Content, field.Path), After: field.Live}
		switch {
		case field.Leaves != "" && !field.Git.Set:
			skipped = append(skipped, Skipped{f.ID, field.Path.String(), "it is not written to Git: " + field.Leaves})
			continue
		case field.Leaves != "":
			change.After = gitops.Value{}
		}
		if _, begun := at[field.Grant]; !begun {
			at[field.Grant] = len(out)
			one := wish
			grant(&one, field.Grant)
			out = append(out, one)
		}
		i := at[field.Grant]
		out[i].Changes = append(out[i].Changes, change)
	}
	return out, skipped
}

func grant(w *codify.Wish, g detect.Grant) {
	w.Scope, w.AllowWide, w.AllowIncomplete = g.Scope, g.AllowWide, g.AllowIncomplete
}

// skip gives findings for which no codify is possible.
func skip(findings []detect.Finding, plans map[string]plan, reason string) []Skipped {
	var out []Skipped
	for _, f := range findings {
		out = append(out, Skipped{Finding: f.ID, Reason: reason})
	}
	tell(plans, out)
	return out
}

// tell notes what no codify was found for.
func tell(plans map[string]plan, skipped []Skipped) {
	for _, s := range skipped {
		note(plans, s.Finding, func(p *plan) {
			text := "not possible"
			if s.Path != "" {
				text += " for " + s.Path
			}
			p.failed = append(p.failed, text+": "+s.Reason)
		})
	}
}
