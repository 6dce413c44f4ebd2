package repo

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"holdfast/gitops"
	"holdfast/gitops/repo/sign"
)

// Person is the author of a commit.
type Person struct{ Name, Email string }

// Commit is a commit to be made.
type Commit struct {
	// Parent is any revision that Resolve takes. With Orphan it is ignored: the commit starts a history of its
	// own, from the empty tree.
	Parent string
	Orphan bool
	// Edits are applied to the parent's tree. Each Before must be what the tree holds, or ErrConflict.
	Edits   []gitops.Edit
	Message string
	// Author is the committer too. When is the time of both, to the second.
	Author Person
	When   time.Time
	Signer sign.Signer
}

// Commit builds a signed commit from tree objects and gives its hash. Only the trees on the way to an edited
// file are rewritten. Nothing reaches the remote before Push. Files keep their mode; new ones are regular.
func (r *Repository) Commit(c Commit) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.commit(c)
	if err != nil {
		return "", fmt.Errorf("%s: commit: %w", r.remote.name, err)
	}
	return h.String(), nil
}

func (r *Repository) commit(c Commit) (plumbing.Hash, error) {
	if err := c.check(); err != nil {
		return plumbing.ZeroHash, err
	}
	var parents []plumbing.Hash
	base := plumbing.ZeroHash
	if !c.Orphan {
		parent, err := r.resolve(c.Parent)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if base, err = r.rootTree(parent); err != nil {
			return plumbing.ZeroHash, err
		}
		parents = append(parents, parent)
	}
	w := treeWriter{repository: r}
	root, err := w.apply(base, c.Edits)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if root == base {
		return plumbing.ZeroHash, errors.New("nothing to commit: the edits change no file")
	}
	author := object.Signature{Name: c.Author.Name, Email: c.Author.Email, When: c.When}
	out := object.Commit{
		Author:       author,
		Committer:    author,
		Message:      strings.TrimRight(strings.ToValidUTF8(c.Message, "\uFFFD"), "\n") + "\n",
		TreeHash:     root,
		ParentHashes: parents,
	}
	if out.PGPSignature, err = signature(&out, c.Signer); err != nil {
		return plumbing.ZeroHash, err
	}
	h, err := w.store(out.Encode)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	r.made[h] = w.made
	return h, nil
}

// check refuses what git fsck would complain about, or would read otherwise than meant.
func (c Commit) check() error {
	switch {
	case c.Signer == nil:
		return ErrUnsigned
	case c.When.Unix() <= 0:
		return errors.New("the author date is not set")
	case strings.TrimSpace(c.Message) == "":
		return errors.New("the message is empty")
	case strings.Contains(c.Message, "\x00"):
		return errors.New("the message holds a NUL byte")
	case strings.TrimSpace(c.Author.Name) == "" || strings.TrimSpace(c.Author.Email) == "":
		return errors.New("the author needs a name and an e-mail address")
	case strings.ContainsAny(c.Author.Name+c.Author.Email, "<>\n\r\x00"):
		return errors.New("the author's name or e-mail address holds a character that git does not take (<, > or a line break)")
	}
	return nil
}

func signature(c *object.Commit, signer sign.Signer) (string, error) {
	var unsigned plumbing.MemoryObject
	if err := c.EncodeWithoutSignature(&unsigned); err != nil {
		return "", err
	}
	reader, err := unsigned.Reader()
	if err != nil {
		return "", err
	}
	payload, err := io.ReadAll(reader)
	if err != nil {
		return "", err
	}
	return signer.Sign(payload)
}

// Exists says whether the remote had a branch at Open, or Push made it since.
func (r *Repository) Exists(branch string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.refs.branches[branch]
	return ok
}
