package ledger_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/gitops/repo/repotest"
	"holdfast/gitops/repo/sign"
)

func TestALedgerIsWhole(t *testing.T) {
	w := newWorld(t)
	w.trail(t)
	report := w.verify(t)
	if report.Verdict != ledger.Unanchored || report.Batches != 6 || report.Records != 11 || len(report.Problems) != 0 {
		t.Errorf("%s, %d batches, %d records, %+v; want consistent with 6 and 11", report.Verdict, report.Batches, report.Records, report.Problems)
	}
	if s := report.Signatures; len(s) != 1 || s[0].Batches != 6 || s[0].Records != 11 || s[0].Principals[0] != "bot@example.com" {
		t.Errorf("signatures %+v", s)
	}
	repotest.Git(t, w.dir, "fsck", "--strict", "--full")
	for _, commit := range w.batches(t) {
		if out, err := repotest.VerifySSH(t, w.dir, commit, w.key.public); err != nil {
			t.Errorf("git verify-commit: %v\n%s", err, out)
		}
	}
}

func TestNothingIsWrittenTwice(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name    string
		records []ledger.Record
		want    int
	}{
		{"a drift and its decision", []ledger.Record{seen("web", "3"), decided("web", detect.Revert)}, 2},
		{"the same again", []ledger.Record{seen("web", "3"), decided("web", detect.Revert)}, 0},
		{"another decision", []ledger.Record{seen("web", "3"), decided("web", detect.AsIssue)}, 1},
		{"another live value, decided alike", []ledger.Record{seen("web", "4"), decided("web", detect.AsIssue)}, 2},
		{"the first value again", []ledger.Record{seen("web", "3"), decided("web", detect.AsIssue)}, 2},
		{"a thread", []ledger.Record{proposed("web", "aa")}, 1},
		{"the thread changes, and back", []ledger.Record{proposed("web", "bb"), proposed("web", "aa"), proposed("web", "aa")}, 2},
		{"convergence and closing", []ledger.Record{converged("web"), closed("web")}, 2},
		{"the same again", []ledger.Record{converged("web"), closed("web")}, 0},
		{"the end of what never was", []ledger.Record{converged("db"), closed("db")}, 0},
		{"the drift is back, as it was", []ledger.Record{seen("web", "3"), decided("web", detect.AsIssue), proposed("web", "aa")}, 3},
		{"and gone", []ledger.Record{converged("web"), closed("web")}, 2},
	} {
		if _, n := w.append(t, c.records...); n != c.want {
			t.Errorf("%s: %d records are written, want %d", c.name, n, c.want)
		}
	}
	if report := w.verify(t); report.Verdict != ledger.Unanchored {
		t.Errorf("%s: %+v", report.Verdict, report.Problems)
	}
}

func TestBatchesOfSeveralWritersFollowEachOther(t *testing.T) {
	w := newWorld(t)
	w.append(t, seen("first", "1"))
	const writers = 6
	var group sync.WaitGroup
	counts := make([]int, writers)
	errs := make([]error, writers)
	for i := range writers {
		group.Go(func() {
			// Every writer has one record of its own and one that all have.
			l := w.ledger()
			_, counts[i], errs[i] = l.Append(t.Context(), []ledger.Record{seen(fmt.Sprint("own", i), "1"), seen("shared", "1")})
		})
	}
	group.Wait()
	total := 0
	for i, err := range errs {
		if err != nil {
			t.Errorf("writer %d: %v", i, err)
		}
		total += counts[i]
	}
	report := w.verify(t)
	if total != writers+1 || report.Records != writers+2 || report.Verdict != ledger.Unanchored {
		t.Errorf("%d records written, %d read, %s: %+v; want %d and %d", total, report.Records, report.Verdict, report.Problems, writers+1, writers+2)
	}
}

func TestAClockThatIsBehindIsToldBeforeItSpoilsALedger(t *testing.T) {
	w := newWorld(t)
	w.append(t, seen("web", "1"))
	w.now = w.now.Add(-5 * time.Minute)
	if _, n, err := w.ledger().Append(t.Context(), []ledger.Record{seen("web", "2")}); n != 1 || err != nil {
		t.Errorf("a little behind: %d, %v", n, err)
	}
	w.now = w.now.Add(-time.Hour)
	if _, _, err := w.ledger().Append(t.Context(), []ledger.Record{seen("web", "3")}); err == nil || !strings.Contains(err.Error(), "set the clock") {
		t.Errorf("an hour behind: %v", err)
	}
	w.now = w.now.Add(2 * time.Hour)
	if report := w.verify(t); report.Verdict != ledger.Unanchored {
		t.Errorf("%s: %+v", report.Verdict, report.Problems)
	}
}

func TestABranchThatHoldsSomethingElseIsNoLedger(t *testing.T) {
	w := newWorld(t)
	work := repotest.Init(t)
	repotest.Commit(t, work, "first", map[string]string{"README.md": "x"})
	repotest.Git(t, work, "push", "-q", w.dir, "main:refs/heads/holdfast/ledger")
	if _, _, err := w.ledger().Append(t.Context(), []ledger.Record{seen("web", "1")}); err == nil || !strings.Contains(err.Error(), "README.md is no record") {
		t.Errorf("error %v", err)
	}
}

// envelope is a record's file, taken apart without the package's own code.
type envelope struct {
	PayloadType string
	Payload     []byte
	Signatures  []struct {
		KeyID string
		Sig   []byte
	}
}

// preAuthentic is what DSSE signs (DSSEv1 pre-authentication encoding).
func (e envelope) preAuthentic() string {
	return fmt.Sprintf("DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(e.Payload), e.Payload)
}

func read(t *testing.T, file []byte) envelope {
	t.Helper()
	var e envelope
	if err := json.Unmarshal(file, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSSHKeygenAcceptsARecord(t *testing.T) {
	w := newWorld(t)
	w.trail(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "allowed"), []byte(`bot@example.com namespaces="holdfast-ledger" `+w.key.public+"\n"))
	verify := func(message string, e envelope) error {
		write(t, filepath.Join(dir, "signature"), e.Signatures[0].Sig)
		cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", filepath.Join(dir, "allowed"), "-I", "bot@example.com", "-n", "holdfast-ledger", "-s", filepath.Join(dir, "signature"))
		cmd.Stdin = strings.NewReader(message)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	for _, path := range w.files(t) {
		e := read(t, w.file(t, path))
		if err := verify(e.preAuthentic(), e); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if verify(e.preAuthentic()+"x", e) == nil {
			t.Errorf("%s: ssh-keygen accepts it for other content", path)
		}
		if e.PayloadType != "application/vnd.in-toto+json" || !bytes.Contains(e.Payload, []byte(`"_type":"https://in-toto.io/Statement/v1"`)) {
			t.Errorf("%s: no in-toto statement: %s", path, e.Payload)
		}
	}
}

func TestGPGAcceptsARecordAndItsBatch(t *testing.T) {
	ring := repotest.NewKeyring(t)
	id := ring.Generate(t, "bot", "ed25519", "0", "")
	signer, err := sign.Load(ring.Private(t, id, ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.key.signer, w.now = signer, time.Now().Add(-10*time.Minute)
	w.trail(t)
	var keys sign.Allowed
	if err := keys.Add("keys.asc", []byte(ring.Run(t, "--armor", "--export", id)), time.UTC); err != nil {
		t.Fatal(err)
	}
	report := w.verify(t, func(in *ledger.Input) { in.Keys = &keys })
	if report.Verdict != ledger.Unanchored || report.Records != 11 || report.Signatures[0].Key != id {
		t.Errorf("%s, %d records, signed by %+v: %+v", report.Verdict, report.Records, report.Signatures, report.Problems)
	}
	dir := t.TempDir()
	for _, path := range w.files(t) {
		e := read(t, w.file(t, path))
		write(t, filepath.Join(dir, "record"), []byte(e.preAuthentic()))
		write(t, filepath.Join(dir, "record.asc"), e.Signatures[0].Sig)
		ring.Run(t, "--verify", filepath.Join(dir, "record.asc"), filepath.Join(dir, "record"))
	}
	for _, commit := range w.batches(t) {
		if out, err := ring.Verify(t, w.dir, commit); err != nil {
			t.Errorf("git verify-commit: %v\n%s", err, out)
		}
	}
}

func TestARecordThatIsTooLargeIsNotWritten(t *testing.T) {
	w := newWorld(t)
	r := seen("web", "1")
	f := r.Content.(ledger.Finding)
	f.Reason = strings.Repeat("x", ledger.MaxRecord)
	r.Content = f
	if _, _, err := w.ledger().Append(t.Context(), []ledger.Record{r}); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("error %v", err)
	}
}

func TestTextThatIsNoUTF8IsRecordedAsSuch(t *testing.T) {
	w := newWorld(t)
	w.append(t, seen("web", "\xff\xfe <b>&\u2028"))
	if report := w.verify(t); report.Verdict != ledger.Unanchored || report.Records != 1 {
		t.Errorf("%s: %+v", report.Verdict, report.Problems)
	}
}

func TestNamesOfRecords(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", -5*3600))
	n := ledger.Name{Sequence: 42017, Kind: ledger.Decided, Subject: "0123456789ab", Content: "0123456789abcdef0123"}
	path := n.Path(at)
	if want := "records/2026/01/02/00000420/0000042017-decision-0123456789ab-0123456789abcdef0123.json"; path != want {
		t.Errorf("path %s, want %s", path, want)
	}
	if got, day, ok := ledger.ParsePath(path); !ok || got != n || day.Format(time.DateOnly) != "2026-01-02" {
		t.Errorf("%+v, %s, %v", got, day, ok)
	}
	for _, bad := range []string{
		"", "records", "../" + path, "/" + path, path + "/x", strings.Replace(path, "/02/", "/32/", 1), strings.Replace(path, "00000420", "00000421", 1),
		strings.Replace(path, ".json", ".JSON", 1), strings.Replace(path, "decision", "..", 1), strings.Replace(path, "records/", "records//", 1), path + "\n",
	} {
		if _, _, ok := ledger.ParsePath(bad); ok {
			t.Errorf("%q is taken for a record", bad)
		}
	}
}

func TestAnchorsAreRead(t *testing.T) {
	commit := strings.Repeat("ab", 20)
	got, err := ledger.ParseAnchors("anchors", []byte("# seen\n\n"+commit+" 2026-11-30T10:00:00Z issue 7 of shop\n"+commit+"\t2026-11-30T11:00:00+01:00\n"))
	if err != nil || len(got) != 2 || got[0].Where != "issue 7 of shop" || !got[0].Time.Equal(got[1].Time) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"": "no anchor", "abc 2026-11-30T10:00:00Z": "anchors:1: want a full commit hash", commit: "anchors:1", commit + " yesterday": "no time",
	} {
		if _, err := ledger.ParseAnchors("anchors", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want it to say %q", text, err, want)
		}
	}
}

// FuzzParsePath: a path that is taken is one that Path makes.
func FuzzParsePath(f *testing.F) {
	f.Add("records/2026/01/02/00000420/0000042017-decision-0123456789ab-0123456789abcdef0123.json")
	f.Add("records/2026/13/02/00000420/0000042017-decision-0123456789ab-0123456789abcdef0123.json")
	f.Fuzz(func(t *testing.T, path string) {
		if n, day, ok := ledger.ParsePath(path); ok && n.Path(day) != path {
			t.Errorf("%q reads as %+v", path, n)
		}
	})
}

// base64Of is for putting an envelope together by hand.
func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
