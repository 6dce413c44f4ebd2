package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	gl "github.com/xanzy/go-gitlab"

	"holdfast/bot"
)

// notesOf is one half of GitLab's API for notes, which it has for issues and for merge requests.
type notesOf struct {
	list   func(page int) ([]*gl.Note, *gl.Response, error)
	create func(body string) (*gl.Note, *gl.Response, error)
	update func(id int, body string) (*gl.Note, *gl.Response, error)
	award  func(id int, name string) (*gl.AwardEmoji, *gl.Response, error)
	awards func(id, page int) ([]*gl.AwardEmoji, *gl.Response, error)
}

func (f *Forge) notes(ctx context.Context, kind bot.Kind, number int) notesOf {
	with, order, sort := gl.WithContext(ctx), gl.Ptr("updated_at"), gl.Ptr("desc")
	options := func(page int) gl.ListOptions { return gl.ListOptions{Page: page, PerPage: perPage} }
	if kind == bot.AsPullRequest {
		return notesOf{
			list: func(page int) ([]*gl.Note, *gl.Response, error) {
				return f.client.Notes.ListMergeRequestNotes(f.project, number, &gl.ListMergeRequestNotesOptions{ListOptions: options(page), OrderBy: order, Sort: sort}, with)
			},
			create: func(body string) (*gl.Note, *gl.Response, error) {
				return f.client.Notes.CreateMergeRequestNote(f.project, number, &gl.CreateMergeRequestNoteOptions{Body: &body}, with)
			},
			update: func(id int, body string) (*gl.Note, *gl.Response, error) {
				return f.client.Notes.UpdateMergeRequestNote(f.project, number, id, &gl.UpdateMergeRequestNoteOptions{Body: &body}, with)
			},
			award: func(id int, name string) (*gl.AwardEmoji, *gl.Response, error) {
				return f.client.AwardEmoji.CreateMergeRequestAwardEmojiOnNote(f.project, number, id, &gl.CreateAwardEmojiOptions{Name: name}, with)
			},
			awards: func(id, page int) ([]*gl.AwardEmoji, *gl.Response, error) {
				list := gl.ListAwardEmojiOptions(options(page))
				return f.client.AwardEmoji.ListMergeRequestAwardEmojiOnNote(f.project, number, id, &list, with)
			},
		}
	}
	return notesOf{
		list: func(page int) ([]*gl.Note, *gl.Response, error) {
			return f.client.Notes.ListIssueNotes(f.project, number, &gl.ListIssueNotesOptions{ListOptions: options(page), OrderBy: order, Sort: sort}, with)
		},
		create: func(body string) (*gl.Note, *gl.Response, error) {
			return f.client.Notes.CreateIssueNote(f.project, number, &gl.CreateIssueNoteOptions{Body: &body}, with)
		},
		update: func(id int, body string) (*gl.Note, *gl.Response, error) {
			return f.client.Notes.UpdateIssueNote(f.project, number, id, &gl.UpdateIssueNoteOptions{Body: &body}, with)
		},
		award: func(id int, name string) (*gl.AwardEmoji, *gl.Response, error) {
			return f.client.AwardEmoji.CreateIssuesAwardEmojiOnNote(f.project, number, id, &gl.CreateAwardEmojiOptions{Name: name}, with)
		},
		awards: func(id, page int) ([]*gl.AwardEmoji, *gl.Response, error) {
			list := gl.ListAwardEmojiOptions(options(page))
			return f.client.AwardEmoji.ListIssuesAwardEmojiOnNote(f.project, number, id, &list, with)
		},
	}
}

// Comment adds a note.
func (f *Forge) Comment(ctx context.Context, kind bot.Kind, number int, body string) error {
	_, err := f.say(ctx, kind, number, body)
	return err
}

func (f *Forge) say(ctx context.Context, kind bot.Kind, number int, body string) (*gl.Note, error) {
	body, err := f.text(body)
	if err != nil {
		return nil, err
	}
	note, _, err := f.notes(ctx, kind, number).create(body)
	if err != nil {
		return nil, f.refused(ctx, err, discussing, "comment on %s %d", kind, number)
	}
	return note, nil
}

// Answer adds a note and gives it.
func (f *Forge) Answer(ctx context.Context, kind bot.Kind, number int, body string) (bot.Comment, error) {
	login, err := f.account(ctx)
	if err != nil {
		return bot.Comment{}, err
	}
	note, err := f.say(ctx, kind, number, body)
	if err != nil {
		return bot.Comment{}, err
	}
	return f.comment(note, kind, number, login), nil
}

// Comments lists the notes of a thread that people wrote, created or changed at since or later, oldest first.
func (f *Forge) Comments(ctx context.Context, kind bot.Kind, number int, since time.Time) ([]bot.Comment, error) {
	login, err := f.account(ctx)
	if err != nil {
		return nil, err
	}
	found := map[int]*gl.Note{} // one that is changed meanwhile shifts the pages
	for page := 1; page != 0; {
		notes, response, err := f.notes(ctx, kind, number).list(page)
		if err != nil {
			return nil, f.fail(ctx, err, reading, "list the comments of %s %d", kind, number)
		}
		page = response.NextPage
		for _, n := range notes { // newest change first
			if n.UpdatedAt != nil && n.UpdatedAt.Before(since) {
				page = 0
				break
			}
			if !n.System {
				found[n.ID] = n
			}
		}
	}
	if err := f.correctEdits(ctx, found); err != nil {
		return nil, err
	}
	var out []bot.Comment
	for _, n := range found {
		if c := f.comment(n, kind, number, login); !c.Updated.Before(since) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b bot.Comment) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// Rewrite replaces the text of a note of the bot's own.
func (f *Forge) Rewrite(ctx context.Context, c bot.Comment, body string) error {
	body, err := f.text(body)
	if err != nil {
		return err
	}
	if _, _, err := f.notes(ctx, c.Kind, c.Number).update(int(c.ID), body); err != nil {
		return f.refused(ctx, err, discussing, "rewrite comment %d of %s %d", c.ID, c.Kind, c.Number)
	}
	return nil
}

// emoji are GitLab's names.
func emoji(r bot.Reaction) string {
	switch r {
	case bot.Done:
		return "thumbsup"
	case bot.Refused:
		return "thumbsdown"
	}
	return string(r) // eyes, confused
}

// React awards an emoji. GitLab answers 404 both when the bot gave it already and when there is no such note.
func (f *Forge) React(ctx context.Context, c bot.Comment, r bot.Reaction) error {
	notes := f.notes(ctx, c.Kind, c.Number)
	_, _, err := notes.award(int(c.ID), emoji(r))
	if err == nil {
		return nil
	}
	if errors.Is(err, gl.ErrNotFound) {
		switch given, listErr := f.gave(ctx, notes, int(c.ID), emoji(r)); {
		case given:
			return nil
		case listErr != nil:
			err = listErr
		}
	}
	return f.refused(ctx, err, discussing, "react to comment %d of %s %d", c.ID, c.Kind, c.Number)
}

func (f *Forge) gave(ctx context.Context, notes notesOf, id int, name string) (bool, error) {
	login, err := f.account(ctx)
	if err != nil {
		return false, err
	}
	for page := 1; page != 0; {
		awards, response, err := notes.awards(id, page)
		if err != nil {
			return false, err
		}
		for _, a := range awards {
			if a.Name == name && strings.EqualFold(a.User.Username, login) {
				return true, nil
			}
		}
		page = response.NextPage
	}
	return false, nil
}

func (f *Forge) comment(n *gl.Note, kind bot.Kind, number int, own string) bot.Comment {
	c := bot.Comment{ID: int64(n.ID), Kind: kind, Number: number, Author: actor(n.Author.Username, own), Body: n.Body, URL: f.page(kind, number) + fmt.Sprintf("#note_%d", n.ID)}
	if n.CreatedAt != nil {
		c.Created = *n.CreatedAt
	}
	if c.Updated = c.Created; n.UpdatedAt != nil {
		c.Updated = *n.UpdatedAt
	}
	return c
}

// page is a thread's address for people.
func (f *Forge) page(kind bot.Kind, number int) string {
	folder := "issues"
	if kind == bot.AsPullRequest {
		folder = "merge_requests"
	}
	return f.graphql.JoinPath("..", "..", f.project, "-", folder, fmt.Sprint(number)).String()
}
