package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"holdfast/bot"
	"holdfast/bot/propose"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/templates"
)

type proposalsJSON struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Proposals  []proposalJSON `json:"proposals"`
	Skipped    []skippedJSON  `json:"skipped,omitempty"`
}

type proposalJSON struct {
	Key         string             `json:"key"`
	Kind        bot.Kind           `json:"kind"`
	Disposition detect.Disposition `json:"disposition"`
	Risk        detect.Risk        `json:"risk,omitzero"`
	Title       string             `json:"title"`
	Body        string             `json:"body"`
	Labels      []string           `json:"labels"`
	Repo        string             `json:"repo,omitempty"`
	Branch      string             `json:"branch,omitempty"`
	Base        string             `json:"base,omitempty"`
	Findings    []string           `json:"findings"`
	Files       []fileJSON         `json:"files,omitempty"`
	Proof       *gitops.Proof      `json:"proof,omitempty"`
}

type fileJSON struct {
	Path   string  `json:"path"`
	Before *string `json:"before,omitempty"`
	After  *string `json:"after,omitempty"`
	Diff   string  `json:"diff"`
}

type skippedJSON struct {
	Finding string `json:"finding"`
	Path    string `json:"path,omitempty"`
	Reason  string `json:"reason"`
}

func writeProposalsJSON(w io.Writer, proposals []bot.Proposal, skipped []propose.Skipped) error {
	doc := proposalsJSON{APIVersion: apiVersion, Kind: "Proposals", Proposals: []proposalJSON{}}
	for _, p := range proposals {
		one := proposalJSON{
			Key: p.Key, Kind: p.Kind, Disposition: p.Disposition, Risk: p.Risk, Title: p.Title, Body: p.Body, Labels: p.Labels,
			Repo: p.Repo, Branch: p.Branch, Base: p.Base, Findings: p.Findings, Proof: p.Proof,
		}
		for _, f := range p.Files {
			one.Files = append(one.Files, fileJSON{Path: f.Path, Before: content(f.Before), After: content(f.After), Diff: f.Diff})
		}
		doc.Proposals = append(doc.Proposals, one)
	}
	for _, s := range skipped {
		doc.Skipped = append(doc.Skipped, skippedJSON(s))
	}
	return writeJSON(w, doc)
}

// content gives a file as it is printed; nil where there is none.
func content(data []byte) *string {
	if data == nil {
		return nil
	}
	text := string(propose.Masked(data))
	return &text
}

// fitsOnePatch refuses proposals that change several repositories: git apply works on one.
func fitsOnePatch(proposals []bot.Proposal) error {
	var urls []string
	for _, p := range proposals {
		if len(p.Files) > 0 && !slices.Contains(urls, p.Repo) {
			urls = append(urls, p.Repo)
		}
	}
	if len(urls) < 2 {
		return nil
	}
	slices.Sort(urls)
	return fmt.Errorf("the proposals change %d repositories, and a patch fits one: choose it with --repository URL, or findings with --finding ID; there are %s",
		len(urls), strings.Join(urls, ", "))
}

// writePatch prints one patch of all pull requests for git apply. They are of one repository.
func writePatch(w io.Writer, proposals []bot.Proposal) error {
	files, err := propose.Combined(proposals)
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := io.WriteString(w, f.Diff); err != nil {
			return err
		}
	}
	return nil
}

// leftOut names what drifts, or was chosen, and is in no pull request, and so not in a patch, a line each with the reason.
func leftOut(result detect.Scan, override detect.Disposition, proposals []bot.Proposal, skipped []propose.Skipped, planned map[string]propose.Plan) []string {
	held := map[string]bool{}
	for _, p := range proposals {
		for _, id := range p.Findings {
			held[id] = held[id] || p.Kind == bot.AsPullRequest
		}
	}
	var out []string
	for _, f := range result.Findings {
		name := objectName(f.Object)
		say := func(path, reason string) {
			out = append(out, templates.Printable(strings.TrimSpace("not in the patch: "+name+" "+path))+": "+oneLine(reason))
		}
		missed := 0
		for _, s := range skipped {
			if s.Finding == f.ID {
				say(s.Path, s.Reason)
				missed++
			}
		}
		wanted := func(d detect.Disposition, rule string) string {
			return fmt.Sprintf("policy wants %s (%s)", inWords(d), rule)
		}
		for _, field := range f.Fields {
			if held[f.ID] && field.Drift && override == "" && (field.Disposition == detect.AsIssue || field.Disposition == detect.Ignore) {
				say(field.Path.String(), wanted(field.Disposition, field.Rule))
			}
		}
		if missed > 0 || held[f.ID] || !f.Drift {
			continue
		}
		switch plan := planned[f.ID]; {
		case plan.Revert != "":
			say("", plan.Revert)
		case override != "":
			say("", fmt.Sprintf("--disposition %s makes %s of it", override, inWords(override)))
		default:
			say("", wanted(f.Disposition, f.Rule))
		}
	}
	return out
}

func inWords(d detect.Disposition) string {
	switch d {
	case detect.Codify, detect.Revert:
		return "a " + string(d)
	case detect.Ignore:
		return "nothing done"
	}
	return "an issue"
}

// writeProposals prints proposals as Markdown, for a terminal and for files alike.
func writeProposals(w io.Writer, result detect.Scan, proposals []bot.Proposal, skipped []propose.Skipped) error {
	for i, p := range proposals {
		if i > 0 {
			fmt.Fprint(w, "\n---\n\n")
		}
		fmt.Fprintf(w, "# %s\n\n", p.Title)
		if p.Kind == bot.AsPullRequest {
			fmt.Fprintf(w, "Pull request from `%s` to `%s`. ", p.Branch, p.Base)
		} else {
			fmt.Fprint(w, "Issue. ")
		}
		fmt.Fprintf(w, "Labels: %s\n\n%s", strings.Join(p.Labels, ", "), p.Body)
	}
	if len(proposals) == 0 {
		fmt.Fprintf(w, "Nothing to propose: %s.\n", noDrift(result))
	}
	for _, s := range skipped {
		path := s.Path
		if path == "" {
			path = "whole object"
		}
		fmt.Fprintf(w, "\nnot placed: finding %s, %s: %s\n", s.Finding, templates.Printable(path), oneLine(s.Reason))
	}
	return nil
}
