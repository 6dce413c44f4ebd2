package propose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify"
)

// shown asks for the edits of a request. Where a patch has to hold all of them, the changes whose edits it cannot
// show are left out: those that stand beside the values of a Secret.
func (in Input) shown(ctx context.Context, request codify.Request) (*codify.Answer, []Skipped, error) {
	answer, err := codify.Propose(ctx, request)
	if err != nil || !in.Shown {
		return answer, nil, err
	}
	hidden, err := hiddenFiles(answer.Edits)
	if err != nil || len(hidden) == 0 {
		return answer, nil, err
	}
	var skipped []Skipped
	if request.Wishes, skipped, err = showable(ctx, request); err != nil {
		return nil, nil, err
	}
	if answer, err = codify.Propose(ctx, request); err != nil {
		return nil, nil, err
	}
	if hidden, err = hiddenFiles(answer.Edits); err != nil || len(hidden) == 0 {
		return answer, skipped, err
	}
	// Edits that can be shown alone and not together: the file is not written at all.
	forbidden := request.Forbidden
	request.Forbidden = func(path string) (string, bool) {
		if slices.Contains(hidden, path) {
			return besideSecret([]string{path}), true
		}
		return forbidden(path)
	}
	answer, err = codify.Propose(ctx, request)
	return answer, skipped, err
}

// showable gives the wishes of a request without the changes whose own edits a patch cannot show.
func showable(ctx context.Context, request codify.Request) ([]codify.Wish, []Skipped, error) {
	var out []codify.Wish
	var skipped []Skipped
	for _, wish := range request.Wishes {
		whole := wish
		whole.Changes = nil
		left := 0
		for _, part := range parts(wish) {
			alone := request
			alone.Wishes = []codify.Wish{part}
			answer, err := codify.Propose(ctx, alone)
			if err != nil {
				return nil, nil, err
			}
			hidden, err := hiddenFiles(answer.Edits)
			if err != nil {
				return nil, nil, err
			}
			if len(hidden) == 0 {
				whole.Changes = append(whole.Changes, part.Changes...)
				left++
				continue
			}
			for _, o := range answer.Placed {
				skipped = append(skipped, Skipped{o.FindingID, o.Path.String(), besideSecret(hidden)})
			}
		}
		if left > 0 {
			out = append(out, whole)
		}
	}
	return out, skipped, nil
}

func besideSecret(files []string) string {
	return fmt.Sprintf("its edit of %s stands beside a Secret's value, which a patch would have to show: let a pull request make it", strings.Join(files, ", "))
}

// parts gives a wish for each change of one; an object that comes or goes is one change.
func parts(wish codify.Wish) []codify.Wish {
	if len(wish.Changes) < 2 {
		return []codify.Wish{wish}
	}
	var out []codify.Wish
	for _, c := range wish.Changes {
		one := wish
		one.Changes = []gitops.FieldChange{c}
		out = append(out, one)
	}
	return out
}

// hiddenFiles are those whose change a patch cannot show.
func hiddenFiles(edits []gitops.Edit) ([]string, error) {
	var out []string
	for _, e := range edits {
		change, err := fileChange(e)
		if err != nil {
			return nil, err
		}
		if change.Hidden {
			out = append(out, e.Path)
		}
	}
	return out, nil
}
