package ledger_test

import (
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/repotest"
	"holdfast/gitops/repo/sign"
)

// start is when the ledgers of the tests begin.
var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

var holdfast = repo.Person{Name: "Holdfast", Email: "holdfast@example.com"}

// key is a signing key made in memory, and its line of an allowed-signers file.
type key struct {
	signer sign.Signer
	public string
}

func newKey(t testing.TB) key {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := sign.Load(pem.EncodeToMemory(block), nil)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return key{signer, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(parsed)))}
}

// world is a repository with a ledger, and the key that writes it.
type world struct {
	dir string
	key key
	now time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ledger.git")
	repotest.Git(t, t.TempDir(), "init", "-q", "--bare", "-b", "main", dir)
	return &world{dir: dir, key: newKey(t), now: start}
}

func (w *world) ledger() ledger.Ledger {
	return ledger.Ledger{
		Open: func(ctx context.Context) (*repo.Repository, error) {
			return repo.Open(ctx, ledger.Options(w.dir, repo.Auth{}, ledger.DefaultBranch))
		},
		Whole: func(ctx context.Context) (*repo.Repository, error) {
			return repo.Open(ctx, repo.Options{URL: w.dir, Branch: ledger.DefaultBranch, Depth: 1})
		},
		Branch: ledger.DefaultBranch, Signer: w.key.signer, Author: holdfast, Now: func() time.Time { return w.now },
		Wait: func(context.Context, int) error { return nil },
	}
}

// append writes a batch, a minute after the one before.
func (w *world) append(t testing.TB, records ...ledger.Record) (ledger.Head, int) {
	t.Helper()
	w.now = w.now.Add(time.Minute)
	head, n, err := w.ledger().Append(t.Context(), records)
	if err != nil {
		t.Fatal(err)
	}
	return head, n
}

// verify judges the ledger by an allowed-signers file; without one, the world's key may sign.
func (w *world) verify(t testing.TB, change ...func(*ledger.Input)) ledger.Report {
	t.Helper()
	report, err := w.tryVerify(t, change...)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (w *world) tryVerify(t testing.TB, change ...func(*ledger.Input)) (ledger.Report, error) {
	t.Helper()
	lineage, err := repo.OpenLineage(t.Context(), repo.LineageOptions{Location: w.dir, Branch: ledger.DefaultBranch, MaxFile: ledger.MaxRecord})
	if err != nil {
		return ledger.Report{}, err
	}
	defer lineage.Close()
	in := ledger.Input{Steps: lineage.Steps(), Head: lineage.Head(), Beyond: lineage.Beyond, Now: w.now, Keys: w.keys(t, "bot@example.com "+w.key.public)}
	for _, c := range change {
		c(&in)
	}
	return ledger.Verify(in), nil
}

func (w *world) keys(t testing.TB, lines ...string) *sign.Allowed {
	t.Helper()
	var keys sign.Allowed
	if err := keys.Add("allowed_signers", []byte(strings.Join(lines, "\n")+"\n"), time.UTC); err != nil {
		t.Fatal(err)
	}
	return &keys
}

// forge makes a commit on the ledger's branch that no Ledger would make.
func (w *world) forge(t testing.TB, signer sign.Signer, when time.Time, edits ...gitops.Edit) string {
	t.Helper()
	return w.forgeOn(t, "", signer, when, edits...)
}

// forgeOn does so on top of a parent, which the branch is then cut back to.
func (w *world) forgeOn(t testing.TB, parent string, signer sign.Signer, when time.Time, edits ...gitops.Edit) string {
	t.Helper()
	r, err := repo.Open(t.Context(), repo.Options{URL: w.dir, Branch: ledger.DefaultBranch, Depth: repo.AllHistory})
	if err != nil {
		t.Fatal(err)
	}
	head, err := r.Head(ledger.DefaultBranch)
	if err != nil {
		t.Fatal(err)
	}
	if parent == "" {
		parent = head
	}
	commit, err := r.Commit(repo.Commit{Parent: parent, Edits: edits, Message: "forged", Author: holdfast, When: when, Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Push(t.Context(), ledger.DefaultBranch, commit, head); err != nil {
		t.Fatal(err)
	}
	return commit
}

// files lists the records' paths, in order.
func (w *world) files(t testing.TB) []string {
	t.Helper()
	return strings.Fields(repotest.Git(t, w.dir, "ls-tree", "-r", "--name-only", ledger.DefaultBranch))
}

func (w *world) file(t testing.TB, path string) []byte {
	t.Helper()
	return []byte(repotest.Git(t, w.dir, "show", ledger.DefaultBranch+":"+path) + "\n")
}

// batches lists the commits, oldest first.
func (w *world) batches(t testing.TB) []string {
	t.Helper()
	all := strings.Fields(repotest.Git(t, w.dir, "rev-list", ledger.DefaultBranch))
	slices.Reverse(all)
	return all
}

// seen is a finding, told by its name and what is live.
func seen(name, live string) ledger.Record {
	id := detect.Digest(name)[:12]
	return ledger.Record{Kind: ledger.FindingSeen, Subject: ledger.SubjectOfFinding(id), Content: ledger.Finding{
		ID: id, Fingerprint: detect.Digest(live)[:16], Cluster: "north", Application: "flux-system/shop",
		Object:   detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name},
		Presence: detect.Both, Cause: detect.CauseManual, Risk: "high", Reason: "a person changed it",
		Controls: []detect.Control{{Standard: "nist-800-53r5", ID: "CM-3(5)", Title: "Automated Security Response"}, {Standard: "pci-dss-4.0.1", ID: "6.5.1"}},
		Writer:   &detect.Writer{Manager: "kubectl-edit", User: "alice", Confidence: detect.ByAudit},
		Fields:   []ledger.Field{{Path: "spec.replicas", Cause: detect.CauseManual, Live: &ledger.Value{SHA256: detect.Digest(live), JSON: []byte(`"` + live + `"`)}}},
	}, Observed: ledger.FindingObserved{FirstSeen: start, Applied: "main@sha1:0000000000000000000000000000000000000000"}}
}

func decided(name string, d detect.Disposition) ledger.Record {
	id := detect.Digest(name)[:12]
	return ledger.Record{Kind: ledger.Decided, Subject: ledger.SubjectOfFinding(id), Content: ledger.Decision{
		Finding: id, Disposition: d, Rule: "manual (production, rule 2)", Policy: ledger.Policy{Name: "production", SHA256: detect.Digest("production")},
	}}
}

func threadOf(name string) ledger.Thread {
	return ledger.Thread{Repository: "https://git.example.com/shop", Key: detect.Digest(name)[:20], Kind: "issue", Number: 7, URL: "https://git.example.com/shop/issues/7"}
}

func proposed(name, hash string) ledger.Record {
	thread := threadOf(name)
	return ledger.Record{Kind: ledger.Proposed, Subject: ledger.SubjectOfThread(thread.Repository, thread.Key), Content: ledger.Proposal{
		Thread: thread, Hash: hash, Title: "Drift: " + name, Disposition: detect.Revert, Findings: []string{detect.Digest(name)[:12]},
	}, Observed: ledger.ProposalObserved{Action: "open"}}
}

func converged(name string) ledger.Record {
	id := detect.Digest(name)[:12]
	return ledger.Record{Kind: ledger.Converged, Subject: ledger.SubjectOfFinding(id), Content: ledger.Convergence{Finding: id, Reason: "the cluster and Git agree"}}
}

func closed(name string) ledger.Record {
	thread := threadOf(name)
	return ledger.Record{Kind: ledger.ThreadClosed, Subject: ledger.SubjectOfThread(thread.Repository, thread.Key), Content: ledger.Closing{Thread: thread, Reason: "the cluster and Git agree"}}
}

// trail writes a ledger of six batches and eleven records, in one push.
func (w *world) trail(t testing.TB) {
	t.Helper()
	w.batchesOf(t, [][]ledger.Record{
		{seen("web", "3"), decided("web", detect.Revert)},
		{proposed("web", "aa")},
		{seen("db", "1"), decided("db", detect.AsIssue), proposed("db", "bb")},
		{proposed("web", "cc")},
		{converged("web"), closed("web")},
		{seen("web", "5"), decided("web", detect.Revert)},
	})
}

// batchesOf writes batches a minute apart, as Ledger does, in one push.
func (w *world) batchesOf(t testing.TB, batches [][]ledger.Record) {
	t.Helper()
	options := ledger.Options(w.dir, repo.Auth{}, ledger.DefaultBranch)
	options.Timeout = time.Hour // a large ledger in one push
	r, err := repo.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	state, err := ledger.NewState(nil)
	if err != nil {
		t.Fatal(err)
	}
	var head ledger.Head
	for i, records := range batches {
		w.now = w.now.Add(time.Minute)
		b, err := ledger.NewBatch(state, head, records, w.key.signer, w.now)
		if err != nil || len(b.Files) != len(records) {
			t.Fatalf("batch %d has %d of %d records, %v", i, len(b.Files), len(records), err)
		}
		commit, err := r.Commit(repo.Commit{Parent: head.Commit, Orphan: head.Commit == "", Edits: b.Files, Message: b.Message, Author: holdfast, When: b.Time, Signer: w.key.signer})
		if err != nil {
			t.Fatal(err)
		}
		head = ledger.Head{Commit: commit, Time: b.Time}
	}
	if err := r.Push(t.Context(), ledger.DefaultBranch, head.Commit, ""); err != nil {
		t.Fatal(err)
	}
}

// copied is a world of its own that starts as this one is.
func (w *world) copied(t testing.TB) *world {
	t.Helper()
	out := *w
	out.dir = filepath.Join(t.TempDir(), "ledger.git")
	if err := os.CopyFS(out.dir, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	return &out
}

func faults(r ledger.Report) (out []string) {
	for _, p := range r.Problems {
		out = append(out, fmt.Sprintf("%s %.7s %d", p.Fault, p.Commit, p.Sequence))
	}
	return out
}

func has(r ledger.Report, f ledger.Fault) bool {
	return slices.ContainsFunc(r.Problems, func(p ledger.Problem) bool { return p.Fault == f })
}

func write(t testing.TB, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
