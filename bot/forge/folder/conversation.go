package folder

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// remark is a comment in a thread's file. Its ID is its place, from 1.
type remark struct {
	Author    string         `json:"author"`
	Created   time.Time      `json:"created"`
	Updated   time.Time      `json:"updated"`
	Reactions []bot.Reaction `json:"reactions,omitempty"`
	body      string
}

var _ forge.Conversation = (*Forge)(nil)

// splitComments parts a file's text into the body and its comments, which hidden lines start. A line without particulars is
// of a comment that somebody wrote by hand.
func splitComments(text string) (string, []remark, error) {
	starts := regexp.MustCompile(`\n<!-- holdfast comment(?: (\{.*\}))? -->\n`).FindAllStringSubmatchIndex(text, -1)
	if len(starts) == 0 {
		return unescape(text), nil, nil
	}
	var out []remark
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		r := remark{body: unescape(strings.TrimRight(text[at[1]:end], "\n"))}
		if at[2] >= 0 {
			if err := json.Unmarshal([]byte(text[at[2]:at[3]]), &r); err != nil {
				return "", nil, fmt.Errorf("comment %d: %w", i+1, err)
			}
		}
		out = append(out, r)
	}
	return unescape(text[:starts[0][0]]), out, nil
}

func joinComments(comments []remark) (string, error) {
	var out strings.Builder
	for _, c := range comments {
		about, err := json.Marshal(c) // < and > are escaped in it
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "\n<!-- holdfast comment %s -->\n%s\n", about, escape(c.body))
	}
	return out.String(), nil
}

// Comment appends to a thread's file.
func (f *Forge) Comment(ctx context.Context, kind bot.Kind, number int, body string) error {
	_, err := f.Answer(ctx, kind, number, body)
	return err
}

// Answer appends to a thread's file and gives the comment.
func (f *Forge) Answer(_ context.Context, kind bot.Kind, number int, body string) (bot.Comment, error) {
	t, err := f.read(kind, number)
	if err != nil {
		return bot.Comment{}, err
	}
	now := time.Now().UTC()
	t.comments = append(t.comments, remark{Author: f.account, Created: now, Updated: now, body: strings.TrimRight(body, "\n")})
	return f.comment(kind, t, len(t.comments)-1), f.write(kind, t)
}

// Comments lists the comments that were written or changed at since or later, oldest first.
func (f *Forge) Comments(_ context.Context, kind bot.Kind, number int, since time.Time) ([]bot.Comment, error) {
	t, err := f.read(kind, number)
	if err != nil {
		return nil, err
	}
	var out []bot.Comment
	for i := range t.comments {
		if c := f.comment(kind, t, i); !c.Updated.Before(since) {
			out = append(out, c)
		}
	}
	return out, nil
}

func (f *Forge) comment(kind bot.Kind, t file, i int) bot.Comment {
	r := t.comments[i]
	return bot.Comment{
		ID: int64(i + 1), Kind: kind, Number: t.Number, Author: bot.Actor{Login: r.Author, Bot: r.Author == f.account}, Body: r.body,
		Created: r.Created, Updated: r.Updated, URL: fmt.Sprintf("%s#%d", f.path(kind, t.Number), i+1),
	}
}

// Rewrite replaces the text of a comment.
func (f *Forge) Rewrite(_ context.Context, c bot.Comment, body string) error {
	return f.change(c, func(r *remark) {
		if body = strings.TrimRight(body, "\n"); body != r.body {
			r.body, r.Updated = body, time.Now().UTC()
		}
	})
}

// React notes the reaction beside the comment.
func (f *Forge) React(_ context.Context, c bot.Comment, reaction bot.Reaction) error {
	return f.change(c, func(r *remark) {
		if !slices.Contains(r.Reactions, reaction) {
			r.Reactions = append(r.Reactions, reaction)
		}
	})
}

func (f *Forge) change(c bot.Comment, do func(*remark)) error {
	t, err := f.read(c.Kind, c.Number)
	if err != nil {
		return err
	}
	if c.ID < 1 || c.ID > int64(len(t.comments)) {
		return fmt.Errorf("%w: comment %d of %s %d", forge.ErrNotFound, c.ID, c.Kind, c.Number)
	}
	do(&t.comments[c.ID-1])
	return f.write(c.Kind, t)
}
