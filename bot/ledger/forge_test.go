package ledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/repotest"
	"holdfast/gitops/repo/sign"
)

// record is a record's file, put together by hand and signed as the ledger does.
type record struct {
	sequence      int64
	previous      string
	at            time.Time
	kind          ledger.Kind
	predicateType string
	subject       string
	content       string
	digest        string // of the statement's subject; empty for the right one
	signer        sign.Signer
}

// edit gives the record as a file to be added.
func (r record) edit(t *testing.T) gitops.Edit {
	t.Helper()
	content := []byte(r.content)
	if r.digest == "" {
		h := sha256.Sum256(content)
		r.digest = hex.EncodeToString(h[:])
	}
	if r.predicateType == "" {
		r.predicateType = r.kind.PredicateType()
	}
	payload, err := json.Marshal(map[string]any{
		"_type": ledger.StatementType, "predicateType": r.predicateType,
		"subject":   []any{map[string]any{"name": r.subject, "digest": map[string]any{"sha256": r.digest}}},
		"predicate": map[string]any{"sequence": r.sequence, "previous": r.previous, "time": r.at, "subject": r.subject, "content": json.RawMessage(content)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return gitops.Edit{Path: r.path(), After: sealed(t, r.signer, payload)}
}

func (r record) path() string {
	predicateType := r.predicateType
	if predicateType == "" {
		predicateType = r.kind.PredicateType()
	}
	n := ledger.Name{Sequence: r.sequence, Kind: r.kind, Subject: detect.Digest(r.subject)[:12], Content: detect.Digest(predicateType, r.content)[:20]}
	return n.Path(r.at)
}

// sealed puts a payload into an envelope.
func sealed(t *testing.T, signer sign.Signer, payload []byte) []byte {
	t.Helper()
	e := envelope{PayloadType: ledger.PayloadType, Payload: payload}
	armored, err := signer.SignIn(ledger.Namespace, []byte(e.preAuthentic()))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(fmt.Sprintf(`{"payloadType":%q,"payload":%q,"signatures":[{"keyid":%q,"sig":%q}]}`+"\n",
		e.PayloadType, base64Of(payload), signer.KeyID(), base64Of([]byte(armored))))
}

// next is a good record for the end of the ledger.
func (w *world) next(t *testing.T) record {
	t.Helper()
	w.now = w.now.Add(time.Minute)
	all := w.batches(t)
	return record{
		sequence: int64(len(w.files(t)) + 1), previous: all[len(all)-1], at: w.now, kind: ledger.Commanded, subject: "command/https://git.example.com/c/1",
		content: `{"by":"alice","comment":"https://git.example.com/c/1","outcome":"refused","text":"/drift ignore 90d","thread":{"key":"ab","kind":"issue","repository":"r"}}`,
		signer:  w.key.signer,
	}
}

// confused signs records as commits, and commits as records.
type confused struct{ sign.Signer }

func (c confused) Sign(payload []byte) (string, error) {
	return c.Signer.SignIn(ledger.Namespace, payload)
}

func (c confused) SignIn(_ string, payload []byte) (string, error) { return c.Signer.Sign(payload) }

// raw makes the branch point to a commit.
func (w *world) raw(t *testing.T, commit string) {
	t.Helper()
	repotest.Git(t, w.dir, "update-ref", "refs/heads/"+ledger.DefaultBranch, commit)
}

// object stores an object, whatever it holds.
func (w *world) object(t *testing.T, kind string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "content")
	write(t, file, content)
	return repotest.Git(t, w.dir, "hash-object", "-w", "--literally", "-t", kind, file)
}

func treeOf(mode, name, hash string) []byte {
	raw, _ := hex.DecodeString(hash)
	return append([]byte(mode+" "+name+"\x00"), raw...)
}

// plumb adds the next record with a mode of its own, in an unsigned batch.
func (w *world) plumb(t *testing.T, mode, content string) {
	t.Helper()
	r := w.next(t)
	good := w.forge(t, w.key.signer, r.at, r.edit(t))
	blob := w.object(t, "blob", []byte(content))
	index := filepath.Join(t.TempDir(), "index")
	run := func(args ...string) string {
		return repotest.Git(t, w.dir, append([]string{"--work-tree=" + filepath.Dir(index)}, args...)...)
	}
	t.Setenv("GIT_INDEX_FILE", index)
	run("read-tree", good)
	run("update-index", "--cacheinfo", mode+","+blob+","+r.path())
	tree := run("write-tree")
	w.raw(t, repotest.Git(t, w.dir, "commit-tree", tree, "-p", good+"^", "-m", "plumbed"))
}

// batch is the files that a batch added, with the time at which it did.
type batch []gitops.Edit

func filesOf(t *testing.T, w *world, commits ...string) (out []batch) {
	t.Helper()
	for _, c := range commits {
		var b batch
		for _, path := range strings.Fields(repotest.Git(t, w.dir, "show", "--format=", "--name-only", c)) {
			b = append(b, gitops.Edit{Path: path, After: w.file(t, path)})
		}
		out = append(out, b)
	}
	return out
}

// rewrite makes the ledger anew of batches, in good commits of the same key: each at the time of its records.
func (w *world) rewrite(t *testing.T, batches []batch) {
	t.Helper()
	w.replace(t, batches, w.key.signer)
}

// replace makes the ledger anew of batches.
func (w *world) replace(t *testing.T, batches []batch, signer sign.Signer) {
	t.Helper()
	repotest.Git(t, w.dir, "update-ref", "-d", "refs/heads/"+ledger.DefaultBranch)
	r, err := repo.Open(t.Context(), ledger.Options(w.dir, repo.Auth{}, ledger.DefaultBranch))
	if err != nil {
		t.Fatal(err)
	}
	parent := ""
	for _, b := range batches {
		var s ledger.Statement
		if err := json.Unmarshal(read(t, b[0].After).Payload, &s); err != nil {
			t.Fatal(err)
		}
		parent = commitTo(t, r, parent, b, s.Predicate.Time, signer)
	}
	if err := r.Push(t.Context(), ledger.DefaultBranch, parent, ""); err != nil {
		t.Fatal(err)
	}
}

func commitTo(t *testing.T, r *repo.Repository, parent string, b batch, when time.Time, signer sign.Signer) string {
	t.Helper()
	commit, err := r.Commit(repo.Commit{Parent: parent, Orphan: parent == "", Edits: b, Message: "forged", Author: holdfast, When: when, Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

func judgeRange(t *testing.T, dir, revisions string, keys ledger.Keys) ledger.CommitsReport {
	t.Helper()
	commits, err := repo.Range(dir, revisions)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.VerifyCommits(commits, keys)
}
