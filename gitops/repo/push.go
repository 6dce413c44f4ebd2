package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// Push makes a remote branch point to a commit, if and only if it still points to expected; expected "" means
// that it must not exist. Otherwise the error is ErrMoved and the remote is as it was. The remote itself compares
// (each command of the push protocol names the old hash), so of several concurrent pushes exactly one wins.
// expected need not be an ancestor of commit: a branch of Holdfast's own is replaced that way.
//
// After a broken connection the remote is asked what it has; a branch that points to commit is a success.
func (r *Repository) Push(ctx context.Context, branch, commit, expected string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref := plumbing.NewBranchReferenceName(branch)
	if err := ref.Validate(); err != nil || branch == "" {
		return fmt.Errorf("%s: push: %q is no valid branch name", r.remote.name, branch)
	}
	for _, h := range []string{commit, expected} {
		if !plumbing.IsHash(h) && (h != "" || h == commit) {
			return fmt.Errorf("%s: push branch %s: %q is no full commit hash", r.remote.name, branch, h)
		}
	}
	command := packp.Command{Name: ref, Old: plumbing.NewHash(expected), New: plumbing.NewHash(commit)}
	if _, ok := r.stored(command.New); !ok {
		return fmt.Errorf("%s: push branch %s: commit %s: %w", r.remote.name, branch, commit, ErrNotFound)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		sent, err := r.send(ctx, command)
		if err != nil && sent {
			err = r.settle(ctx, command, err)
		}
		if err == nil {
			break
		}
		// Another push holds the branch for a moment. It has not moved yet, so asking again is the same question.
		if locked := sent && strings.Contains(err.Error(), "lock"); locked && wait < time.Second && Pause(ctx, wait) == nil {
			continue
		}
		return fmt.Errorf("%s: push branch %s: %w", r.remote.name, branch, err)
	}
	r.refs.branches[branch], r.refs.byName[ref.String()] = command.New, command.New
	return nil
}

// Pause waits for d, or until ctx ends; the error is ctx's.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// send runs one push. sent says whether the remote may have acted.
func (r *Repository) send(ctx context.Context, command packp.Command) (sent bool, err error) {
	endpoint := r.remote.endpoint
	session, err := r.remote.client.NewReceivePackSession(&endpoint, r.remote.auth)
	if err != nil {
		return false, r.remote.explain(ctx, err)
	}
	defer session.Close()
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return false, r.remote.explain(ctx, err)
	}
	now := advertised.References[command.Name.String()]
	if now == command.New {
		return false, nil // done before
	}
	if now != command.Old {
		return false, moved(now, command.Old)
	}
	pack, err := r.pack(command.New)
	if err != nil {
		return false, err
	}
	var said remark
	request := packp.NewReferenceUpdateRequestFromCapabilities(advertised.Capabilities)
	if advertised.Capabilities.Supports(capability.Sideband64k) {
		if err := request.Capabilities.Set(capability.Sideband64k); err != nil {
			return false, err
		}
		request.Progress = &said
	}
	request.Commands = []*packp.Command{&command}
	request.Packfile = io.NopCloser(bytes.NewReader(pack))
	report, err := session.ReceivePack(ctx, request)
	if err == nil && report != nil {
		err = report.Error()
	}
	if err != nil {
		return true, said.join(r.remote.explain(ctx, err))
	}
	return true, nil
}

// settle asks the remote where the branch is after a push that gave an error.
func (r *Repository) settle(ctx context.Context, command packp.Command, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	endpoint := r.remote.endpoint
	session, err := r.remote.client.NewReceivePackSession(&endpoint, r.remote.auth)
	if err != nil {
		return cause
	}
	defer session.Close()
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return cause
	}
	switch now := advertised.References[command.Name.String()]; now {
	case command.New:
		return nil
	case command.Old:
		return cause
	default:
		return moved(now, command.Old)
	}
}

func moved(now, expected plumbing.Hash) error {
	at := func(h plumbing.Hash) string {
		if h.IsZero() {
			return "absent"
		}
		return h.String()
	}
	return fmt.Errorf("%w: it is %s, expected %s", ErrMoved, at(now), at(expected))
}

// pack holds the objects of commit and of the commits made here below it. What they rest on came from the
// remote.
func (r *Repository) pack(commit plumbing.Hash) ([]byte, error) {
	var hashes []plumbing.Hash
	for {
		made, here := r.made[commit]
		if !here {
			break
		}
		hashes = append(hashes, made...)
		parent := r.parent(commit)
		if parent.IsZero() {
			break
		}
		commit = parent
	}
	slices.SortFunc(hashes, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
	hashes = slices.Compact(hashes)
	var out bytes.Buffer
	// A window of 0: no deltas, which a handful of small objects is not worth.
	if _, err := packfile.NewEncoder(&out, r.store, false).Encode(hashes, 0); err != nil {
		return nil, fmt.Errorf("write the pack: %w", err)
	}
	return out.Bytes(), nil
}

// remark keeps what the remote says beside its verdict, such as why a hook or a branch rule refuses.
type remark struct{ text []byte }

func (m *remark) Write(b []byte) (int, error) {
	const most = 2000
	m.text = append(m.text, b[:min(len(b), most-len(m.text))]...)
	return len(b), nil
}

func (m *remark) join(err error) error {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(m.text), "?"))
	text = strings.Join(strings.Fields(text), " ")
	if text == "" || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w (the remote says: %s)", err, text)
}
