package github

import (
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"holdfast/bot/forge"
	"holdfast/gitops"
)

// Commit is a commit that GitHub makes.
type Commit struct {
	// Branch is the branch that the commit becomes the head of, without refs/heads/.
	Branch string
	// Head is what the branch is at now; empty for a branch that does not exist.
	Head string
	// Base is the parent.
	Base    string
	Message string
	Edits   []gitops.Edit
}

// MakeCommit lets GitHub make and sign a commit, which then shows as Verified, and puts a branch on it: an alternative to
// pushing a commit that Holdfast signed. It gives the commit's hash. GitHub signs what an App writes without naming an
// author (docs.github.com, "Signature verification for bots"); a commit that it did not sign is forge.ErrForbidden, and
// the branch is not touched. Without edits, or when the branch is not at Head, it is forge.ErrInvalid. Of a branch that
// exists, GitHub offers no compare-and-swap: it is read right before it is moved.
func (f *Forge) MakeCommit(ctx context.Context, c Commit) (string, error) {
	if len(c.Edits) == 0 {
		return "", fmt.Errorf("github: %s/%s: commit to %s: %w: no edits", f.owner, f.repo, c.Branch, forge.ErrInvalid)
	}
	base, _, err := f.client.Git.GetCommit(ctx, f.owner, f.repo, c.Base)
	if err != nil {
		return "", f.fail(ctx, err, "read commit %s", c.Base)
	}
	entries, err := f.treeEntries(ctx, base.GetTree().GetSHA(), c.Edits)
	if err != nil {
		return "", err
	}
	tree, _, err := f.client.Git.CreateTree(ctx, f.owner, f.repo, base.GetTree().GetSHA(), entries)
	if err != nil {
		return "", f.fail(ctx, err, "make the tree of a commit to %s", c.Branch)
	}
	made, _, err := f.client.Git.CreateCommit(ctx, f.owner, f.repo,
		&gh.Commit{Message: &c.Message, Tree: tree, Parents: []*gh.Commit{{SHA: &c.Base}}}, nil)
	if err != nil {
		return "", f.fail(ctx, err, "make a commit to %s", c.Branch)
	}
	if v := made.GetVerification(); !v.GetVerified() {
		return "", fmt.Errorf("github: %s/%s: commit to %s: %w: GitHub did not sign it (%s), as it does for Apps: use an App, or a signing key and push",
			f.owner, f.repo, c.Branch, forge.ErrForbidden, v.GetReason())
	}
	return made.GetSHA(), f.moveBranch(ctx, c.Branch, c.Head, made.GetSHA())
}

// treeEntries uploads what the edits write. Files keep their modes.
func (f *Forge) treeEntries(ctx context.Context, tree string, edits []gitops.Edit) ([]*gh.TreeEntry, error) {
	listed, _, err := f.client.Git.GetTree(ctx, f.owner, f.repo, tree, true)
	if err != nil {
		return nil, f.fail(ctx, err, "list the files of tree %s", tree)
	}
	modes := map[string]string{}
	for _, e := range listed.Entries {
		modes[e.GetPath()] = e.GetMode()
	}
	var out []*gh.TreeEntry
	for _, edit := range edits {
		mode, known := modes[edit.Path]
		switch {
		case edit.Path == "" || path.Clean("/"+edit.Path) != "/"+edit.Path:
			return nil, fmt.Errorf("github: %s/%s: %w: %q is no path of a file", f.owner, f.repo, forge.ErrInvalid, edit.Path)
		case !known && (edit.Remove || edit.Before != nil):
			return nil, fmt.Errorf("github: %s/%s: %w: %s is not in tree %s, or the tree is too large for GitHub to list", f.owner, f.repo, forge.ErrInvalid, edit.Path, tree)
		case !known:
			mode = "100644"
		case !strings.HasPrefix(mode, "100"):
			return nil, fmt.Errorf("github: %s/%s: %w: %s is no plain file", f.owner, f.repo, forge.ErrInvalid, edit.Path)
		}
		entry := &gh.TreeEntry{Path: &edit.Path, Mode: &mode, Type: gh.String("blob")}
		if !edit.Remove { // an entry without hash is removed
			blob, _, err := f.client.Git.CreateBlob(ctx, f.owner, f.repo,
				&gh.Blob{Content: gh.String(base64.StdEncoding.EncodeToString(edit.After)), Encoding: gh.String("base64")})
			if err != nil {
				return nil, f.fail(ctx, err, "upload %s", edit.Path)
			}
			entry.SHA = blob.SHA
		}
		out = append(out, entry)
	}
	return out, nil
}

func (f *Forge) moveBranch(ctx context.Context, branch, from, to string) error {
	ref := &gh.Reference{Ref: gh.String("refs/heads/" + branch), Object: &gh.GitObject{SHA: &to}}
	if from == "" {
		if _, _, err := f.client.Git.CreateRef(ctx, f.owner, f.repo, ref); err != nil {
			return f.fail(ctx, err, "make the branch %s", branch)
		}
		return nil
	}
	now, _, err := f.client.Git.GetRef(ctx, f.owner, f.repo, "heads/"+branch)
	if err != nil {
		return f.fail(ctx, err, "read the branch %s", branch)
	}
	if at := now.GetObject().GetSHA(); at != from {
		return fmt.Errorf("github: %s/%s: %w: the branch %s is at %s, not at %s: somebody moved it", f.owner, f.repo, forge.ErrInvalid, branch, at, from)
	}
	if _, _, err := f.client.Git.UpdateRef(ctx, f.owner, f.repo, ref, true); err != nil {
		return f.fail(ctx, err, "move the branch %s", branch)
	}
	return nil
}
