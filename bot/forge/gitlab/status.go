package gitlab

import (
	"context"
	"strings"

	gl "github.com/xanzy/go-gitlab"

	"holdfast/bot"
)

// checkName is the commit status's name.
const checkName = "holdfast"

// longestStatus is how many characters of a description GitLab keeps.
const longestStatus = 255

// Report sets the commit status. GitLab has neither a neutral one nor remarks: neutral is success and says so. Over one that
// is pending, GitLab takes no other pending one, so its text stays until there is a verdict.
func (f *Forge) Report(ctx context.Context, check bot.Check) error {
	state, title := gl.BuildStateValue(check.Verdict), check.Title
	switch check.Verdict {
	case bot.Neutral:
		state, title = gl.Success, "neutral: "+title
	case bot.Failure:
		state = gl.Failed
	}
	title = cut(title, longestStatus)
	latest, err := f.latestStatus(ctx, check.Commit)
	if err != nil {
		return err
	}
	if latest != nil && latest.Status == string(state) && (state == gl.Pending || latest.Description == title && latest.TargetURL == check.URL) {
		return nil
	}
	options := &gl.SetCommitStatusOptions{State: state, Name: gl.Ptr(checkName), Description: &title}
	if check.URL != "" {
		options.TargetURL = &check.URL
	}
	if _, _, err := f.client.Commits.SetCommitStatus(f.project, check.Commit, options, gl.WithContext(ctx)); err != nil {
		return f.refused(ctx, err, contributing, "report the status of commit %s", check.Commit)
	}
	return nil
}

// latestStatus gives the newest status of Holdfast's name, nil where there is none.
func (f *Forge) latestStatus(ctx context.Context, commit string) (*gl.CommitStatus, error) {
	var latest *gl.CommitStatus
	for page := 1; page != 0; {
		statuses, response, err := f.client.Commits.GetCommitStatuses(f.project, commit,
			&gl.GetCommitStatusesOptions{Name: gl.Ptr(checkName), ListOptions: gl.ListOptions{Page: page, PerPage: perPage}}, gl.WithContext(ctx))
		if err != nil {
			return nil, f.fail(ctx, err, reading, "list the statuses of commit %s", commit)
		}
		for _, s := range statuses {
			if latest == nil || s.ID > latest.ID {
				latest = s
			}
		}
		page = response.NextPage
	}
	return latest, nil
}

// cut shortens a text to so many characters, the last of which then says that more follows.
func cut(text string, most int) string {
	runes := []rune(strings.ToValidUTF8(text, "�"))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}
