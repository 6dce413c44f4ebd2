package publish

import (
	"context"
	"errors"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/folder"
)

// mortal is a forge that takes so many effects and no more, as if the process had died.
type mortal struct {
	*folder.Forge
	left int
}

func (m *mortal) live() error {
	if m.left == 0 {
		return errors.New("dead")
	}
	m.left--
	return nil
}

func (m *mortal) UpdateIssue(ctx context.Context, number int, c forge.Content) (bot.Thread, error) {
	if err := m.live(); err != nil {
		return bot.Thread{}, err
	}
	return m.Forge.UpdateIssue(ctx, number, c)
}

func (m *mortal) UpdatePullRequest(ctx context.Context, number int, c forge.Content) (bot.Thread, error) {
	if err := m.live(); err != nil {
		return bot.Thread{}, err
	}
	return m.Forge.UpdatePullRequest(ctx, number, c)
}

func (m *mortal) Comment(ctx context.Context, kind bot.Kind, number int, body string) error {
	if err := m.live(); err != nil {
		return err
	}
	return m.Forge.Comment(ctx, kind, number, body)
}

func (m *mortal) SetIssueOpen(ctx context.Context, number int, open bool) error {
	if err := m.live(); err != nil {
		return err
	}
	return m.Forge.SetIssueOpen(ctx, number, open)
}

func (m *mortal) SetPullRequestOpen(ctx context.Context, number int, open bool) error {
	if err := m.live(); err != nil {
		return err
	}
	return m.Forge.SetPullRequestOpen(ctx, number, open)
}
