package github

import (
	"context"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"holdfast/bot"
)

// checkName is the status check's name, which branch protection may require.
const checkName = "holdfast"

// Limits of GitHub (docs.github.com, "Create a check run", "Create a commit status"), in characters where text is meant.
const (
	notesAtOnce   = 50
	longestTitle  = 250
	longestText   = 65_000
	longestStatus = 140
)

// Report reports the status check: as a check run with remarks on lines by an App, as a commit status with a plain token,
// which may not write check runs.
func (f *Forge) Report(ctx context.Context, check bot.Check) error {
	if f.app == nil {
		return f.reportStatus(ctx, check)
	}
	return f.reportRun(ctx, check)
}

func (f *Forge) reportStatus(ctx context.Context, check bot.Check) error {
	state, title := string(check.Verdict), check.Title
	if check.Verdict == bot.Neutral {
		state, title = "success", "neutral: "+title
	}
	status := &gh.RepoStatus{State: &state, Context: gh.String(checkName), Description: gh.String(cut(title, longestStatus))}
	if check.URL != "" {
		status.TargetURL = &check.URL
	}
	if _, _, err := f.client.Repositories.CreateStatus(ctx, f.owner, f.repo, check.Commit, status); err != nil {
		return f.fail(ctx, err, "report the status of commit %s", check.Commit)
	}
	return nil
}

// reportRun writes a check run. One that is there with the same content is left alone. One that is still pending without
// remarks is completed; else a new one takes its place, for remarks cannot be taken back. The content's hash is written
// with the last request, so that what was cut off in between is written anew.
func (f *Forge) reportRun(ctx context.Context, check bot.Check) error {
	latest, err := f.latestRun(ctx, check.Commit)
	if err != nil {
		return err
	}
	digest := checkDigest(check)
	if latest.GetExternalID() == digest {
		return nil
	}
	chunks := [][]*gh.CheckRunAnnotation{nil}
	for i, n := range check.Notes {
		if i > 0 && i%notesAtOnce == 0 {
			chunks = append(chunks, nil)
		}
		chunks[len(chunks)-1] = append(chunks[len(chunks)-1], annotation(n))
	}
	id := latest.GetID()
	for i, chunk := range chunks {
		run := runContent(check, chunk)
		if i == len(chunks)-1 {
			run.ExternalID = &digest
		}
		fresh := i == 0 && (latest == nil || latest.GetStatus() == "completed" || latest.GetOutput().GetAnnotationsCount() > 0)
		if id, err = f.writeRun(ctx, id, fresh, check.Commit, run); err != nil {
			return err
		}
	}
	return nil
}

// latestRun gives the App's newest check run on a commit, nil where there is none.
func (f *Forge) latestRun(ctx context.Context, commit string) (*gh.CheckRun, error) {
	runs, _, err := f.client.Checks.ListCheckRunsForRef(ctx, f.owner, f.repo, commit, &gh.ListCheckRunsOptions{
		CheckName: gh.String(checkName), Filter: gh.String("latest"), AppID: &f.appID,
	})
	if err != nil {
		return nil, f.fail(ctx, err, "list the check runs of commit %s", commit)
	}
	var latest *gh.CheckRun
	for _, run := range runs.CheckRuns {
		if latest == nil || run.GetID() > latest.GetID() {
			latest = run
		}
	}
	return latest, nil
}

// writeRun makes a check run where fresh, else adds to the one with id, and gives its ID.
func (f *Forge) writeRun(ctx context.Context, id int64, fresh bool, commit string, run gh.UpdateCheckRunOptions) (int64, error) {
	if !fresh {
		if _, _, err := f.client.Checks.UpdateCheckRun(ctx, f.owner, f.repo, id, run); err != nil {
			return 0, f.fail(ctx, err, "update the check run of commit %s", commit)
		}
		return id, nil
	}
	made, _, err := f.client.Checks.CreateCheckRun(ctx, f.owner, f.repo, gh.CreateCheckRunOptions{
		Name: run.Name, HeadSHA: commit, DetailsURL: run.DetailsURL, ExternalID: run.ExternalID,
		Status: run.Status, Conclusion: run.Conclusion, Output: run.Output,
	})
	if err != nil {
		return 0, f.fail(ctx, err, "make a check run of commit %s", commit)
	}
	return made.GetID(), nil
}

func runContent(check bot.Check, notes []*gh.CheckRunAnnotation) gh.UpdateCheckRunOptions {
	run := gh.UpdateCheckRunOptions{
		Name: checkName, Status: gh.String("in_progress"),
		Output: &gh.CheckRunOutput{Title: gh.String(cut(check.Title, longestTitle)), Summary: gh.String(cut(check.Summary, longestText)), Annotations: notes},
	}
	if check.Verdict != bot.Pending {
		run.Status, run.Conclusion = gh.String("completed"), gh.String(string(check.Verdict))
	}
	if check.URL != "" {
		run.DetailsURL = &check.URL
	}
	return run
}

func annotation(n bot.CheckNote) *gh.CheckRunAnnotation {
	line := max(n.Line, 1)
	return &gh.CheckRunAnnotation{
		Path: &n.Path, StartLine: &line, EndLine: &line, AnnotationLevel: gh.String("warning"), Message: gh.String(cut(n.Message, longestText)),
	}
}

func checkDigest(check bot.Check) string {
	parts := []string{string(check.Verdict), check.Title, check.Summary, check.URL}
	for _, n := range check.Notes {
		parts = append(parts, n.Path, strconv.Itoa(n.Line), n.Message)
	}
	return bot.Hash(parts...)
}

// cut shortens a text to so many characters, the last of which then says that more follows.
func cut(text string, most int) string {
	runes := []rune(strings.ToValidUTF8(text, "�"))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}
