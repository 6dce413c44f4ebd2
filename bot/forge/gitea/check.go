package gitea

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"holdfast/bot"
	"holdfast/bot/forge"
)

const (
	checkContext = "holdfast" // the name of the status check
	longestTitle = 250        // characters of a status that are surely kept
)

// Report sets a commit status. Gitea has no neutral one and shows a line only: the summary and the notes are left out.
// A status that says so already is left alone, since Gitea keeps every one.
func (f *Forge) Report(ctx context.Context, check bot.Check) error {
	want := status{State: string(check.Verdict), Context: checkContext, Description: check.Title, TargetURL: check.URL}
	if check.Verdict == bot.Neutral {
		want.State, want.Description = string(bot.Success), "neutral: "+check.Title
	}
	want.Description = cut(want.Description, longestTitle)
	address := f.at("statuses", check.Commit)
	var newest status
	err := pages(ctx, f, address, url.Values{"sort": {"recentupdate"}}, func(s status) bool {
		if s.Context != checkContext {
			return true
		}
		newest = s
		return false
	})
	if err != nil {
		return f.fail(ctx, err, "read the status of commit %s", check.Commit)
	}
	if newest == want {
		return nil
	}
	err = f.write(ctx, http.MethodPost, f.at("statuses", check.Commit), map[string]any{
		"state": want.State, "context": want.Context, "description": want.Description, "target_url": want.TargetURL,
	}, nil)
	if err != nil && f.gone(ctx, check.Commit) {
		err = &refusal{status: http.StatusNotFound, said: "no such commit"} // Gitea calls it a fault of its own
	}
	if err != nil {
		return f.fail(ctx, err, "report on commit %s", check.Commit)
	}
	return nil
}

// gone says whether the repository surely has no such commit.
func (f *Forge) gone(ctx context.Context, commit string) bool {
	err := f.read(ctx, f.at("git", "commits", commit), nil)
	return errors.Is(explain(ctx, err), forge.ErrNotFound)
}

// cut shortens a line to at most so many characters.
func cut(line string, most int) string {
	runes := []rune(line)
	if len(runes) <= most {
		return line
	}
	return string(runes[:most-1]) + "…"
}
