package gitea

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holdfast/bot"
)

// Comment adds a comment.
func (f *Forge) Comment(ctx context.Context, kind bot.Kind, number int, body string) error {
	_, err := f.Answer(ctx, kind, number, body)
	return err
}

// Answer adds a comment. Gitea has one address for those of issues and pull requests, and calls a thread that is not
// there a fault of its own, so the thread is read first.
func (f *Forge) Answer(ctx context.Context, kind bot.Kind, number int, body string) (bot.Comment, error) {
	own, err := f.Account(ctx)
	if err != nil {
		return bot.Comment{}, err
	}
	if _, err := f.numbered(ctx, kind, number); err != nil {
		return bot.Comment{}, err
	}
	var said comment
	if err := f.write(ctx, http.MethodPost, f.at("issues", strconv.Itoa(number), "comments"), map[string]any{"body": body}, &said); err != nil {
		return bot.Comment{}, f.fail(ctx, err, "comment on %s %d", kind, number)
	}
	return said.comment(kind, number, own.Login), nil
}

// Comments lists a thread's comments that were created or changed at since or later, oldest first; what reviews say
// is not among them. Gitea's times are whole seconds: an edit in the second of the creation cannot be told.
func (f *Forge) Comments(ctx context.Context, kind bot.Kind, number int, since time.Time) ([]bot.Comment, error) {
	own, err := f.Account(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := f.numbered(ctx, kind, number); err != nil {
		return nil, err
	}
	address := f.at("issues", strconv.Itoa(number), "comments") // gives all at once
	if !since.IsZero() {
		address.RawQuery = url.Values{"since": {since.UTC().Format(time.RFC3339)}}.Encode()
	}
	var list []comment
	if err := f.read(ctx, address, &list); err != nil {
		return nil, f.fail(ctx, err, "list the comments of %s %d", kind, number)
	}
	var out []bot.Comment
	for _, c := range list {
		out = append(out, c.comment(kind, number, own.Login))
	}
	return out, nil
}

// Rewrite replaces the text of a comment.
func (f *Forge) Rewrite(ctx context.Context, c bot.Comment, body string) error {
	if err := f.write(ctx, http.MethodPatch, f.at("issues", "comments", strconv.FormatInt(c.ID, 10)), map[string]any{"body": body}, nil); err != nil {
		return f.fail(ctx, err, "rewrite comment %d of %s %d", c.ID, c.Kind, c.Number)
	}
	return nil
}

// React adds the reaction; one that stands there already is no error. A server can be set up to know others only.
func (f *Forge) React(ctx context.Context, c bot.Comment, r bot.Reaction) error {
	address := f.at("issues", "comments", strconv.FormatInt(c.ID, 10), "reactions")
	if err := f.write(ctx, http.MethodPost, address, map[string]any{"content": r}, nil); err != nil {
		return f.fail(ctx, err, "react with %s to comment %d of %s %d", r, c.ID, c.Kind, c.Number)
	}
	return nil
}
