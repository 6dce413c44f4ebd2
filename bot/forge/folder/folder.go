// Package folder is a forge in a directory: each issue and pull request is a Markdown file with a header,
// comments appended. It serves for trying Holdfast out and where no forge can be reached. It knows no roles, reviews or
// checks: who may write to the directory may do everything.
package folder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// Forge keeps its threads below a directory: issues/N.md, pull-requests/N.md. Numbers are shared, as on
// GitHub. One process at a time may write.
type Forge struct {
	dir, account string
}

// New gives the forge in dir, which is made when absent. account is the author of what it opens.
func New(dir, account string) (*Forge, error) {
	for _, kind := range []bot.Kind{bot.AsIssue, bot.AsPullRequest} {
		if err := os.MkdirAll(filepath.Join(dir, folderOf(kind)), 0o755); err != nil {
			return nil, fmt.Errorf("folder forge: %w", err)
		}
	}
	return &Forge{dir: dir, account: account}, nil
}

func folderOf(k bot.Kind) string { return string(k) + "s" }

// header is the YAML front matter of a thread's file.
type header struct {
	Number int       `json:"number"`
	State  bot.State `json:"state"`
	Title  string    `json:"title"`
	Author string    `json:"author"`
	Labels []string  `json:"labels,omitempty"`
	Branch string    `json:"branch,omitempty"`
	Base   string    `json:"base,omitempty"`
}

// escape keeps a text from holding the line that starts a comment; unescape takes it back, byte for byte.
func escape(text string) string {
	return regexp.MustCompile(`<!-- holdfast (\\*)comment`).ReplaceAllString(text, `<!-- holdfast $1\comment`)
}

func unescape(text string) string {
	return regexp.MustCompile(`<!-- holdfast (\\*)\\comment`).ReplaceAllString(text, `<!-- holdfast ${1}comment`)
}

type file struct {
	header
	body     string
	comments []remark
}

// Threads lists the bot's own threads with a marker, newest first.
func (f *Forge) Threads(ctx context.Context, kind bot.Kind) ([]bot.Thread, error) {
	numbers, err := f.numbers(kind)
	if err != nil {
		return nil, err
	}
	var out []bot.Thread
	for _, n := range slices.Backward(numbers) {
		t, err := f.read(kind, n)
		if errors.Is(err, forge.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, _, ok := bot.ParseMarker(t.body); ok && t.Author == f.account {
			out = append(out, f.thread(kind, t))
		}
	}
	return out, ctx.Err()
}

// OpenIssue writes a new issue.
func (f *Forge) OpenIssue(_ context.Context, c forge.Content) (bot.Thread, error) {
	return f.open(bot.AsIssue, "", "", c)
}

// OpenPullRequest writes a new pull request.
func (f *Forge) OpenPullRequest(_ context.Context, branch, base string, c forge.Content) (bot.Thread, error) {
	if branch == "" || base == "" || branch == base {
		return bot.Thread{}, fmt.Errorf("%w: a pull request needs a branch and another base, got %q and %q", forge.ErrInvalid, branch, base)
	}
	return f.open(bot.AsPullRequest, branch, base, c)
}

func (f *Forge) open(kind bot.Kind, branch, base string, c forge.Content) (bot.Thread, error) {
	if strings.TrimSpace(c.Title) == "" {
		return bot.Thread{}, fmt.Errorf("%w: the title is empty", forge.ErrInvalid)
	}
	for {
		next, err := f.next()
		if err != nil {
			return bot.Thread{}, err
		}
		// The number is taken before the file has its content: another process may look for one now.
		reserved, err := os.OpenFile(f.path(kind, next), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return bot.Thread{}, fmt.Errorf("folder forge: %w", err)
		}
		if err := reserved.Close(); err != nil {
			return bot.Thread{}, fmt.Errorf("folder forge: %w", err)
		}
		t := file{header: header{Number: next, State: bot.Open, Title: c.Title, Author: f.account, Labels: c.Labels, Branch: branch, Base: base}, body: c.Body}
		return f.thread(kind, t), f.write(kind, t)
	}
}

// next gives the number after the highest of both kinds.
func (f *Forge) next() (int, error) {
	next := 1
	for _, k := range []bot.Kind{bot.AsIssue, bot.AsPullRequest} {
		numbers, err := f.numbers(k)
		if err != nil {
			return 0, err
		}
		if len(numbers) > 0 {
			next = max(next, numbers[len(numbers)-1]+1)
		}
	}
	return next, nil
}

// UpdateIssue replaces title, body and labels.
func (f *Forge) UpdateIssue(_ context.Context, number int, c forge.Content) (bot.Thread, error) {
	return f.update(bot.AsIssue, number, c)
}

// UpdatePullRequest replaces title, body and labels.
func (f *Forge) UpdatePullRequest(_ context.Context, number int, c forge.Content) (bot.Thread, error) {
	return f.update(bot.AsPullRequest, number, c)
}

func (f *Forge) update(kind bot.Kind, number int, c forge.Content) (bot.Thread, error) {
	t, err := f.read(kind, number)
	if err != nil {
		return bot.Thread{}, err
	}
	t.Title, t.body, t.Labels = c.Title, c.Body, c.Labels
	return f.thread(kind, t), f.write(kind, t)
}

// SetIssueOpen closes or reopens an issue.
func (f *Forge) SetIssueOpen(_ context.Context, number int, open bool) error {
	return f.setOpen(bot.AsIssue, number, open)
}

// SetPullRequestOpen closes or reopens a pull request that is not merged.
func (f *Forge) SetPullRequestOpen(_ context.Context, number int, open bool) error {
	return f.setOpen(bot.AsPullRequest, number, open)
}

func (f *Forge) setOpen(kind bot.Kind, number int, open bool) error {
	t, err := f.read(kind, number)
	if err != nil {
		return err
	}
	if t.State == bot.Merged {
		return fmt.Errorf("%w: %s %d is merged", forge.ErrInvalid, kind, number)
	}
	t.State = bot.Closed
	if open {
		t.State = bot.Open
	}
	return f.write(kind, t)
}

func (f *Forge) numbers(kind bot.Kind) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(f.dir, folderOf(kind)))
	if err != nil {
		return nil, fmt.Errorf("folder forge: %w", err)
	}
	var out []int
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".md")
		if n, err := strconv.Atoi(name); ok && err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (f *Forge) path(kind bot.Kind, number int) string {
	return filepath.Join(f.dir, folderOf(kind), strconv.Itoa(number)+".md")
}

func (f *Forge) read(kind bot.Kind, number int) (file, error) {
	path := f.path(kind, number)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return file{}, fmt.Errorf("%w: %s %d", forge.ErrNotFound, kind, number)
	}
	if err != nil {
		return file{}, fmt.Errorf("folder forge: %w", err)
	}
	if len(data) == 0 {
		return file{}, fmt.Errorf("%w: %s %d is being written", forge.ErrNotFound, kind, number)
	}
	rest, ok := strings.CutPrefix(string(data), "---\n")
	front, body, found := strings.Cut(rest, "\n---\n")
	if !ok || !found {
		return file{}, fmt.Errorf("folder forge: %s has no header between lines of ---", path)
	}
	var t file
	if err := yaml.UnmarshalStrict([]byte(front), &t.header); err != nil {
		return file{}, fmt.Errorf("folder forge: %s: %w", path, err)
	}
	if t.body, t.comments, err = splitComments(strings.TrimPrefix(body, "\n")); err != nil {
		return file{}, fmt.Errorf("folder forge: %s: %w", path, err)
	}
	return t, nil
}

// write replaces the file in one step, so that a crash leaves the old or the new one.
func (f *Forge) write(kind bot.Kind, t file) error {
	front, err := yaml.Marshal(t.header)
	if err != nil {
		return fmt.Errorf("folder forge: %w", err)
	}
	comments, err := joinComments(t.comments)
	if err != nil {
		return fmt.Errorf("folder forge: %w", err)
	}
	path := f.path(kind, t.Number)
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte("---\n"+string(front)+"---\n\n"+escape(t.body)+comments), 0o644); err != nil {
		return fmt.Errorf("folder forge: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("folder forge: %w", err)
	}
	return nil
}

func (f *Forge) thread(kind bot.Kind, t file) bot.Thread {
	return bot.Thread{
		Kind: kind, Number: t.Number, URL: f.path(kind, t.Number), State: t.State, Title: t.Title, Body: t.body,
		Labels: t.Labels, Branch: t.Branch, Author: t.Author,
	}
}
