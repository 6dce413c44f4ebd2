package propose

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/templates"
)

// GuardScope is the scope of pull requests that commit guards.
const GuardScope = "guard"

// Guards gives the pull request that commits a cluster's guards as one file, at view.Path in the source's tree. It is nil
// where the file stands there already as it is wanted. The view says the rest of the text; its diff and base are filled
// in.
func Guards(source Source, file []byte, risk detect.Risk, view templates.Guard) (*bot.Proposal, error) {
	if source.Reason != "" {
		return nil, fmt.Errorf("%s: %s", source.Repo, source.Reason)
	}
	at := view.Path
	if ext := path.Ext(at); path.Clean(at) != at || path.IsAbs(at) || strings.HasPrefix(at, ".") || ext != ".yaml" && ext != ".yml" {
		return nil, fmt.Errorf("path %q: want a .yaml file in the repository, such as clusters/north/guard.yaml", at)
	}
	edit := gitops.Edit{Path: at, After: file}
	if before, there := source.Tree.Read(at); there {
		if string(before) == string(file) {
			return nil, nil
		}
		edit.Before = before
	}
	change, err := fileChange(edit)
	if err != nil {
		return nil, err
	}
	if list, ok := unlisted(source.Tree, at); ok {
		view.Remarks = append(slices.Clip(view.Remarks), list+" lists the files of this folder, and does not name this one: add it there, or nothing applies it")
	}
	view.Diff, view.Base = change.Diff, source.Base
	body, err := templates.GuardBody(view)
	if err != nil {
		return nil, err
	}
	p := &bot.Proposal{
		Key: bot.Key(GuardScope, view.Cluster, at, string(bot.AsPullRequest)), Kind: bot.AsPullRequest, Title: templates.Title("Guard what is applied from Git on " + view.Cluster),
		Labels: []string{"drift/guard"}, Repo: source.Repo, Base: source.Base, BaseCommit: source.BaseCommit, Files: []bot.FileChange{change}, Risk: risk,
	}
	p.Branch, p.Hash = "holdfast/guard-"+p.Key[10:], bot.Hash(p.Key, at, string(file))
	record := bot.Record{Files: FilesHash(p.Files), Base: p.BaseCommit}
	p.Body = templates.Cut(body, "the commit on branch "+p.Branch+" has the whole change", record.String()+"\n"+bot.Marker(p.Key, p.Hash)+"\n")
	p.Message, err = templates.CommitMessage(templates.Commit{Subject: p.Title, Trailers: []templates.Trailer{{Key: "Holdfast-Key", Value: p.Key}}})
	return p, err
}

// unlisted gives the kustomization file beside a new file that does not name it.
func unlisted(tree gitops.Tree, file string) (name string, ok bool) {
	for _, base := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		at := path.Join(path.Dir(file), base)
		if text, there := tree.Read(at); there {
			return at, !strings.Contains(string(text), path.Base(file))
		}
	}
	return "", false
}
