package gitlab

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	gl "github.com/xanzy/go-gitlab"
)

// correctEdits makes UpdatedAt the time when the text was last changed. In the REST API it also moves when somebody gives
// a note an emoji or resolves it, and so a comment that the bot reacted to would count as edited. The GraphQL API has the
// time apart (Note.lastEditedAt). A note of which it does not tell keeps its time, and counts as edited.
func (f *Forge) correctEdits(ctx context.Context, notes map[int]*gl.Note) error {
	var moved []int
	for _, id := range slices.Sorted(maps.Keys(notes)) {
		if n := notes[id]; n.CreatedAt != nil && n.UpdatedAt != nil && n.UpdatedAt.After(*n.CreatedAt) {
			moved = append(moved, id)
		}
	}
	for chunk := range slices.Chunk(moved, perPage) {
		edited, err := f.editTimes(ctx, chunk, notes)
		if err != nil {
			return f.fail(ctx, err, reading, "ask when comments were edited")
		}
		for _, id := range chunk {
			if at, told := edited[id]; told {
				notes[id].UpdatedAt = &at
			}
		}
	}
	return nil
}

// editTimes asks the GraphQL API when notes were edited. What it does not tell is left out.
func (f *Forge) editTimes(ctx context.Context, ids []int, notes map[int]*gl.Note) (map[int]time.Time, error) {
	name := regexp.MustCompile(`^[A-Za-z]+$`)
	var query strings.Builder
	query.WriteString("query {")
	for _, id := range ids {
		class := string(notes[id].Type) // DiffNote, DiscussionNote, or none
		if !name.MatchString(class) {
			class = "Note"
		}
		fmt.Fprintf(&query, ` n%d: note(id: "gid://gitlab/%s/%d") { lastEditedAt }`, id, class, id)
	}
	query.WriteString(" }")
	request, err := f.client.NewRequest(http.MethodPost, "", map[string]string{"query": query.String()}, []gl.RequestOptionFunc{gl.WithContext(ctx)})
	if err != nil {
		return nil, err
	}
	request.URL = f.graphql
	var answer struct {
		Data map[string]*struct {
			LastEditedAt *time.Time `json:"lastEditedAt"`
		} `json:"data"`
	}
	if _, err := f.client.Do(request, &answer); err != nil {
		return nil, err
	}
	out := map[int]time.Time{}
	for _, id := range ids {
		switch n := answer.Data[fmt.Sprintf("n%d", id)]; {
		case n == nil:
		case n.LastEditedAt == nil: // never
			out[id] = *notes[id].CreatedAt
		default:
			out[id] = *n.LastEditedAt
		}
	}
	return out, nil
}
