// Package repo reads and writes a Git repository without a worktree: the tree at a revision, the history
// of the files that an Application reads, a signed commit built from tree objects, and a push that only
// succeeds while the branch stands where it was seen.
//
// A repository is read into memory once, by Open: one branch with its last Depth commits. A revision
// outside of them (a tag, another branch, an older commit that an engine applied) is fetched when it is
// asked for. Nothing is written to disk, and nothing reaches the remote but by Push.
package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/storage/memory"
)

// The limits that hold where Options or Limits leave them zero.
const (
	DefaultMaxBytes = 512 << 20
	DefaultMaxFiles = 100_000
	DefaultTimeout  = 2 * time.Minute
	DefaultDepth    = 250
	// AllHistory is the Depth that reads every commit of the branch.
	AllHistory = -1
)

// Errors to test with errors.Is; they come wrapped with the repository, branch or file.
var (
	// ErrMoved: the remote branch is not where the caller saw it.
	ErrMoved = errors.New("the branch has moved")
	// ErrTooLarge: the repository or folder exceeds the limit of bytes or files.
	ErrTooLarge = errors.New("too large")
	// ErrNotFound: no such repository, branch, tag or commit, or no right to see it.
	ErrNotFound = errors.New("not found")
	// ErrNotRepository: the folder exists and is no Git repository; Folder can read it.
	ErrNotRepository = errors.New("not a Git repository")
	// ErrEmpty: the repository has no commit.
	ErrEmpty = errors.New("the repository is empty: push a first commit")
	// ErrDenied: the remote wants credentials, or other ones.
	ErrDenied = errors.New("access denied")
	// ErrUnsigned: a commit was asked for without a signer.
	ErrUnsigned = errors.New("no signing key: every commit is signed, configure an SSH or OpenPGP key")
	// ErrConflict: an edit does not fit the tree that it is applied to.
	ErrConflict = errors.New("the edit does not fit the tree")
)

// Options say what to open. Zero values mean the defaults above, and the remote's default branch.
type Options struct {
	// URL is a file path, file://, http://, https:// or ssh:// (git@host:path too). Credentials inside
	// it are used where Auth is zero and never shown.
	URL string
	// Branch is the one to read; empty means the remote's default.
	Branch string
	Auth   Auth
	// MaxBytes bounds what is held in memory: the uncompressed size of each fetch, and of each tree.
	MaxBytes int64
	// MaxFiles bounds the files of one tree.
	MaxFiles int
	// Timeout bounds Open, each later fetch, and Push.
	Timeout time.Duration
	// Depth is how many commits of a branch are read; AllHistory reads all.
	Depth int
	// OrNone takes a repository that lacks Branch, and one without any commit, as it is: Exists then says no, and
	// a first commit can be made with Orphan.
	OrNone bool
	// NamesOnly leaves the content of files out where the remote can do so: Names and new files work, Tree does not.
	NamesOnly bool
}

// Auth are the credentials of a remote; the zero value means none.
type Auth struct {
	// Username and Password go into HTTP basic authentication. A token is the Password; Username may
	// then stay empty. With SSHKey, Password is the key's passphrase.
	Username, Password string
	// SSHKey is a private key, KnownHosts the known_hosts lines that the server's key must match. Both are
	// needed for ssh: a server that is not known is refused.
	SSHKey, KnownHosts []byte
}

// Repository is one remote as Open saw it, and the commits made on top. It is safe for concurrent use.
type Repository struct {
	remote  remote
	limits  Limits
	timeout time.Duration
	depth   int
	// namesOnly asks for no content of files.
	namesOnly bool

	mu    sync.Mutex // guards all below
	store *memory.Storage
	refs  refs
	// complete says that a branch was fetched without a depth.
	complete bool
	// blobs keeps file content that trees share.
	blobs map[plumbing.Hash][]byte
	// made lists the objects behind each commit made here, which the remote may not have.
	made map[plumbing.Hash][]plumbing.Hash
}

// refs is what the remote advertised.
type refs struct {
	head     plumbing.Hash
	branch   string                          // of HEAD; empty when detached
	byName   map[string]plumbing.Hash        // commit of each full name, tags peeled
	branches map[string]plumbing.Hash        // the same of refs/heads/, by short name
	ask      map[plumbing.Hash]plumbing.Hash // what to ask for to get such a commit: itself, or the tag around it
	anyWant  bool                            // the remote hands out commits that no ref names
}

// Open reads a repository into memory. Errors name the URL without credentials, and what to do.
func Open(ctx context.Context, o Options) (*Repository, error) {
	remote, err := newRemote(o.URL, o.Auth)
	if err != nil {
		return nil, err
	}
	r := &Repository{
		remote:  remote,
		limits:  Limits{Bytes: o.MaxBytes, Files: o.MaxFiles}.orDefault(),
		timeout: cmp.Or(o.Timeout, DefaultTimeout),
		depth:   cmp.Or(o.Depth, DefaultDepth),
		store:   memory.NewStorage(),
		blobs:   map[plumbing.Hash][]byte{},
		made:    map[plumbing.Hash][]plumbing.Hash{},
		refs:    readRefs(packp.NewAdvRefs()),

		namesOnly: o.NamesOnly,
	}
	err = r.fetch(ctx, r.depth, func(advertised *packp.AdvRefs) ([]plumbing.Hash, error) {
		r.refs = readRefs(advertised)
		want := r.refs.head
		if o.Branch != "" {
			h, ok := r.refs.branches[o.Branch]
			if !ok && o.OrNone {
				return nil, nil
			}
			if !ok {
				return nil, fmt.Errorf("branch %s: %w: the repository has %s", o.Branch, ErrNotFound, some(r.refs.branches))
			}
			want = h
		}
		if want.IsZero() && o.OrNone {
			return nil, nil
		}
		if want.IsZero() {
			return nil, fmt.Errorf("%w: HEAD names no commit; name a branch, the repository has %s", ErrNotFound, some(r.refs.branches))
		}
		return []plumbing.Hash{want}, nil
	})
	if err != nil && !(o.OrNone && errors.Is(err, ErrEmpty)) {
		return nil, fmt.Errorf("open repository %s: %w", remote.name, err)
	}
	return r, nil
}

// URL is the repository's, without credentials.
func (r *Repository) URL() string { return r.remote.name }

func readRefs(a *packp.AdvRefs) refs {
	out := refs{byName: map[string]plumbing.Hash{}, branches: map[string]plumbing.Hash{}, ask: map[plumbing.Hash]plumbing.Hash{}}
	if a.Head != nil {
		out.head = *a.Head
		out.ask[out.head] = out.head
	}
	for name, h := range a.References {
		commit := h
		if peeled, ok := a.Peeled[name]; ok {
			commit = peeled
		}
		out.byName[name] = commit
		// A remote hands out what its refs name, and an annotated tag names the tag, not the commit in it.
		if out.ask[commit].IsZero() || commit == h {
			out.ask[commit] = h
		}
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			out.branches[branch] = commit
		}
	}
	for _, symref := range a.Capabilities.Get(capability.SymRef) {
		if branch, ok := strings.CutPrefix(symref, "HEAD:refs/heads/"); ok {
			out.branch = branch
		}
	}
	out.anyWant = a.Capabilities.Supports(capability.AllowReachableSHA1InWant) ||
		a.Capabilities.Supports("allow-any-sha1-in-want")
	return out
}

// some lists a few names for an error message.
func some(byName map[string]plumbing.Hash) string {
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		return "no branch"
	case len(names) > 8:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:8], ", "), len(names)-8)
	}
	return strings.Join(names, ", ")
}
