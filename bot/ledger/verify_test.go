package ledger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/bot/ledger"
	"holdfast/gitops"
	"holdfast/gitops/repo/repotest"
)

func TestARecordPutTogetherByHandIsGood(t *testing.T) {
	w := newWorld(t)
	w.trail(t)
	r := w.next(t)
	w.forge(t, w.key.signer, r.at, r.edit(t))
	if report := w.verify(t); report.Verdict != ledger.Unanchored || report.Records != 12 || report.Kinds[ledger.Commanded] != 1 {
		t.Errorf("%s, %d records: %+v", report.Verdict, report.Records, report.Problems)
	}
}

// TestEveryMutationIsNamed changes a whole ledger in one way after the other.
func TestEveryMutationIsNamed(t *testing.T) {
	whole := newWorld(t)
	whole.trail(t)
	other := newKey(t)
	edit := func(w *world, t *testing.T, path string, after []byte) gitops.Edit {
		return gitops.Edit{Path: path, Before: w.file(t, path), After: after}
	}
	for _, c := range []struct {
		name   string
		mutate func(t *testing.T, w *world)
		want   []ledger.Fault
	}{
		{"a record is changed", func(t *testing.T, w *world) {
			first, last := w.files(t)[0], w.files(t)[10]
			w.forge(t, w.key.signer, w.now, edit(w, t, first, w.file(t, last)))
		}, []ledger.Fault{ledger.ChangedFile}},
		{"a record is removed", func(t *testing.T, w *world) {
			path := w.files(t)[3]
			w.forge(t, w.key.signer, w.now, gitops.Edit{Path: path, Remove: true})
		}, []ledger.Fault{ledger.RemovedFile}},
		{"a record gets another number", func(t *testing.T, w *world) {
			path := w.files(t)[3]
			moved := strings.Replace(path, "0000000004", "0000000012", 1)
			w.forge(t, w.key.signer, w.now, gitops.Edit{Path: path, Remove: true}, gitops.Edit{Path: moved, After: w.file(t, path)})
		}, []ledger.Fault{ledger.RemovedFile, ledger.Misplaced}},
		{"a record is copied to the end", func(t *testing.T, w *world) {
			path := w.files(t)[10]
			w.forge(t, w.key.signer, w.now, gitops.Edit{Path: strings.Replace(path, "0000000011", "0000000012", 1), After: w.file(t, path)})
		}, []ledger.Fault{ledger.Misplaced, ledger.Duplicated}},
		{"a file that is no record", func(t *testing.T, w *world) {
			w.forge(t, w.key.signer, w.now, gitops.Edit{Path: "README.md", After: []byte("x")})
		}, []ledger.Fault{ledger.ForeignFile}},
		{"a batch without a record", func(t *testing.T, w *world) {
			head := w.batches(t)[5]
			tree := repotest.Git(t, w.dir, "rev-parse", head+"^{tree}")
			w.raw(t, repotest.Git(t, w.dir, "commit-tree", tree, "-p", head, "-m", "nothing"))
		}, []ledger.Fault{ledger.EmptyBatch, ledger.Unsigned}},
		{"a batch that nobody signed", func(t *testing.T, w *world) {
			r := w.next(t)
			good := w.forge(t, w.key.signer, r.at, r.edit(t))
			tree := repotest.Git(t, w.dir, "rev-parse", good+"^{tree}")
			w.raw(t, repotest.Git(t, w.dir, "commit-tree", tree, "-p", good+"^", "-m", "unsigned"))
		}, []ledger.Fault{ledger.Unsigned}},
		{"a batch and its records by a key that is not allowed", func(t *testing.T, w *world) {
			r := w.next(t)
			r.signer = other.signer
			w.forge(t, other.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.ForeignKey}},
		{"a record by a key that is not allowed, in a good batch", func(t *testing.T, w *world) {
			r := w.next(t)
			r.signer = other.signer
			w.forge(t, w.key.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.ForeignKey}},
		{"a good record, in a batch by a key that is not allowed", func(t *testing.T, w *world) {
			r := w.next(t)
			w.forge(t, other.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.ForeignKey}},
		{"a commit's signature on a record", func(t *testing.T, w *world) {
			r := w.next(t)
			r.signer = confused{w.key.signer}
			w.forge(t, w.key.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.ForeignKey}},
		{"a commit with a record's signature", func(t *testing.T, w *world) {
			r := w.next(t)
			w.forge(t, confused{w.key.signer}, r.at, r.edit(t))
		}, []ledger.Fault{ledger.ForeignKey}},
		{"a signature of another record", func(t *testing.T, w *world) {
			r := w.next(t)
			e := r.edit(t)
			mine, theirs := read(t, e.After), read(t, w.file(t, w.files(t)[0]))
			e.After = []byte(strings.Replace(string(e.After), base64Of(mine.Signatures[0].Sig), base64Of(theirs.Signatures[0].Sig), 1))
			w.forge(t, w.key.signer, r.at, e)
		}, []ledger.Fault{ledger.BadSignature}},
		{"a payload that was changed after it was signed", func(t *testing.T, w *world) {
			r := w.next(t)
			e := r.edit(t)
			payload := read(t, e.After).Payload
			forged := strings.Replace(string(payload), "refused", "accepted", 1)
			e.After = []byte(strings.Replace(string(e.After), base64Of(payload), base64Of([]byte(forged)), 1))
			w.forge(t, w.key.signer, r.at, e)
		}, []ledger.Fault{ledger.BadSignature, ledger.WrongDigest}},
		{"an envelope that names another key", func(t *testing.T, w *world) {
			r := w.next(t)
			e := r.edit(t)
			e.After = []byte(strings.Replace(string(e.After), w.key.signer.KeyID(), other.signer.KeyID(), 1))
			w.forge(t, w.key.signer, r.at, e)
		}, []ledger.Fault{ledger.BadSignature}},
		{"a digest that is not the content's", func(t *testing.T, w *world) {
			r := w.next(t)
			r.digest = strings.Repeat("0", 64)
			w.forge(t, w.key.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.WrongDigest}},
		{"a name that is not the content's", func(t *testing.T, w *world) {
			r := w.next(t)
			e := r.edit(t)
			r.content = strings.Replace(r.content, "refused", "accepted", 1)
			e.Path = r.path()
			w.forge(t, w.key.signer, r.at, e)
		}, []ledger.Fault{ledger.WrongDigest}},
		{"a name of another kind", func(t *testing.T, w *world) {
			r := w.next(t)
			e := r.edit(t)
			e.Path = strings.Replace(e.Path, "-command-", "-approval-", 1)
			w.forge(t, w.key.signer, r.at, e)
		}, []ledger.Fault{ledger.Misplaced}},
		{"content that is not of its kind", func(t *testing.T, w *world) {
			r := w.next(t)
			r.content = `["alice"]`
			w.forge(t, w.key.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.Malformed}},
		{"a record of another ledger of the same key", func(t *testing.T, w *world) {
			r := w.next(t)
			r.previous = strings.Repeat("ab", 20)
			w.forge(t, w.key.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.Misplaced}},
		{"a record that lies on another day", func(t *testing.T, w *world) {
			r := w.next(t)
			e := r.edit(t)
			r.at = r.at.AddDate(0, 0, 1)
			e.Path = r.path()
			w.forge(t, w.key.signer, w.now, e)
		}, []ledger.Fault{ledger.Misplaced}},
		{"a record that says it was made at another time than its batch", func(t *testing.T, w *world) {
			r := w.next(t)
			w.forge(t, w.key.signer, r.at.Add(time.Minute), r.edit(t))
		}, []ledger.Fault{ledger.WrongTime}},
		{"a record is left out", func(t *testing.T, w *world) {
			r := w.next(t)
			r.sequence++
			w.forge(t, w.key.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.Missing}},
		{"a number is given twice", func(t *testing.T, w *world) {
			r := w.next(t)
			r.sequence--
			w.forge(t, w.key.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.Duplicated}},
		{"a record that says what is said already", func(t *testing.T, w *world) {
			r := w.next(t)
			w.forge(t, w.key.signer, r.at, r.edit(t))
			r.sequence, r.previous, r.at = r.sequence+1, w.batches(t)[6], r.at.Add(time.Minute)
			w.now = r.at
			w.forge(t, w.key.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.Duplicated}},
		{"the first batches are cut off", func(t *testing.T, w *world) {
			all := w.batches(t)
			files := filesOf(t, w, all[3:]...)
			w.rewrite(t, files)
		}, []ledger.Fault{ledger.Missing, ledger.Misplaced}},
		{"a batch in the middle is left out", func(t *testing.T, w *world) {
			all := w.batches(t)
			w.rewrite(t, filesOf(t, w, append(slices.Clone(all[:2]), all[3:]...)...))
		}, []ledger.Fault{ledger.Missing, ledger.Misplaced}},
		{"two batches change places", func(t *testing.T, w *world) {
			all := w.batches(t)
			w.rewrite(t, filesOf(t, w, all[0], all[2], all[1], all[3], all[4], all[5]))
		}, []ledger.Fault{ledger.Missing, ledger.Reordered, ledger.Misplaced, ledger.WrongTime}},
		{"two batches are made one", func(t *testing.T, w *world) {
			all := w.batches(t)
			files := filesOf(t, w, all...)
			files[1] = append(files[1], files[2]...)
			w.rewrite(t, slices.Delete(files, 2, 3))
		}, []ledger.Fault{ledger.Misplaced, ledger.WrongTime}},
		{"a batch goes back in time", func(t *testing.T, w *world) {
			r := w.next(t)
			r.at = start
			w.forge(t, w.key.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.WrongTime}},
		{"a batch lies in the future", func(t *testing.T, w *world) {
			r := w.next(t)
			r.at = r.at.Add(time.Hour)
			w.forge(t, w.key.signer, r.at, r.edit(t))
		}, []ledger.Fault{ledger.WrongTime}},
		{"two lines are merged", func(t *testing.T, w *world) {
			r := w.next(t)
			good := w.forge(t, w.key.signer, r.at, r.edit(t))
			tree := repotest.Git(t, w.dir, "rev-parse", good+"^{tree}")
			side := w.batches(t)[2]
			w.raw(t, repotest.Git(t, w.dir, "commit-tree", tree, "-p", good+"^", "-p", side, "-m", "merge"))
		}, []ledger.Fault{ledger.MergeCommit, ledger.Unsigned}},
		{"a record is a symbolic link", func(t *testing.T, w *world) {
			w.plumb(t, "120000", "/etc/passwd")
		}, []ledger.Fault{ledger.ForeignFile}},
		{"a record may be executed", func(t *testing.T, w *world) {
			w.plumb(t, "100755", "{}")
		}, []ledger.Fault{ledger.ForeignFile}},
		{"a record is no JSON", func(t *testing.T, w *world) {
			r := w.next(t)
			w.forge(t, w.key.signer, r.at, gitops.Edit{Path: r.path(), After: []byte("{\"payload\"")})
		}, []ledger.Fault{ledger.Malformed}},
		{"a record is empty", func(t *testing.T, w *world) {
			r := w.next(t)
			w.forge(t, w.key.signer, r.at, gitops.Edit{Path: r.path(), After: []byte{}})
		}, []ledger.Fault{ledger.Malformed}},
		{"something follows a record", func(t *testing.T, w *world) {
			r := w.next(t)
			e := r.edit(t)
			e.After = append(e.After, "{}\n"...)
			w.forge(t, w.key.signer, r.at, e)
		}, []ledger.Fault{ledger.Malformed}},
		{"blanks in an envelope", func(t *testing.T, w *world) {
			r := w.next(t)
			e := r.edit(t)
			e.After = []byte(strings.Replace(string(e.After), `,"payload"`, `, "payload"`, 1))
			w.forge(t, w.key.signer, r.at, e)
		}, []ledger.Fault{ledger.Malformed}},
		{"a payload that is not UTF-8", func(t *testing.T, w *world) {
			r := w.next(t)
			payload := read(t, r.edit(t).After).Payload
			payload = []byte(strings.Replace(string(payload), "alice", "al\xffce", 1))
			w.forge(t, w.key.signer, r.at, gitops.Edit{Path: r.path(), After: sealed(t, w.key.signer, payload)})
		}, []ledger.Fault{ledger.Malformed}},
		{"a payload that is no statement", func(t *testing.T, w *world) {
			r := w.next(t)
			w.forge(t, w.key.signer, r.at, gitops.Edit{Path: r.path(), After: sealed(t, w.key.signer, []byte(`{"_type":"x"}`))})
		}, []ledger.Fault{ledger.Malformed}},
		{"a record that is too large", func(t *testing.T, w *world) {
			r := w.next(t)
			w.forge(t, w.key.signer, r.at, gitops.Edit{Path: r.path(), After: []byte(strings.Repeat(" ", ledger.MaxRecord+1))})
		}, []ledger.Fault{ledger.Unreadable}},
		{"a folder that leads out of the repository", func(t *testing.T, w *world) {
			blob := w.object(t, "blob", []byte("x"))
			inner := w.object(t, "tree", treeOf("100644", "passwd", blob))
			outer := w.object(t, "tree", treeOf("40000", "..", inner))
			w.raw(t, repotest.Git(t, w.dir, "commit-tree", outer, "-p", w.batches(t)[5], "-m", "out"))
		}, []ledger.Fault{ledger.Unreadable, ledger.Unsigned}},
		{"a tree with a name twice", func(t *testing.T, w *world) {
			blob := w.object(t, "blob", []byte("x"))
			tree := w.object(t, "tree", append(treeOf("100644", "a", blob), treeOf("100644", "a", blob)...))
			w.raw(t, repotest.Git(t, w.dir, "commit-tree", tree, "-p", w.batches(t)[5], "-m", "twice"))
		}, []ledger.Fault{ledger.Unreadable, ledger.Unsigned}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := whole.copied(t)
			c.mutate(t, w)
			report := w.verify(t)
			if report.Verdict != ledger.Broken {
				t.Fatalf("the verdict is %s", report.Verdict)
			}
			for _, f := range c.want {
				if !has(report, f) {
					t.Errorf("nothing is said of %s: %q", f, faults(report))
				}
			}
			for _, p := range report.Problems {
				if p.Commit == "" || p.Message == "" {
					t.Errorf("a problem without a place: %+v", p)
				}
			}
		})
	}
}

func TestKeysCountWithinTheirDates(t *testing.T) {
	w := newWorld(t)
	w.trail(t)
	at := start.Add(3*time.Minute + 30*time.Second).Format("20060102150405Z")
	public := w.key.public
	for _, c := range []struct {
		name    string
		lines   []string
		want    ledger.Fault
		batches int // that are at fault
	}{
		{"valid until after the third batch", []string{`bot valid-before="` + at + `" ` + public}, ledger.ExpiredKey, 3},
		{"valid from after the third batch on", []string{`bot valid-after="` + at + `" ` + public}, ledger.ExpiredKey, 3},
		{"for commits alone", []string{`bot namespaces="git" ` + public}, ledger.ForeignKey, 0},
		{"for records alone", []string{`bot namespaces="holdfast-ledger" ` + public}, ledger.ForeignKey, 6},
		{"another one", []string{"bot " + newKey(t).public}, ledger.ForeignKey, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := w.verify(t, func(in *ledger.Input) { in.Keys = w.keys(t, c.lines...) })
			batches := 0
			for _, p := range report.Problems {
				if p.Fault != c.want {
					t.Errorf("%+v, want %s", p, c.want)
				}
				if p.Path == "" {
					batches++
				}
			}
			if report.Verdict != ledger.Broken || batches != c.batches {
				t.Errorf("%s, %d batches at fault, want %d: %q", report.Verdict, batches, c.batches, faults(report))
			}
		})
	}
	keys := w.keys(t, "bot "+public)
	if err := keys.Revoke("revoked", []byte(public)); err != nil {
		t.Fatal(err)
	}
	if report := w.verify(t, func(in *ledger.Input) { in.Keys = keys }); !has(report, ledger.RevokedKey) {
		t.Errorf("after the revocation: %q", faults(report))
	}
}

func TestAKeyIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.append(t, seen("web", "1"))
	before := w.key
	w.key = newKey(t)
	w.append(t, seen("web", "2"))
	day := func(at time.Time) string { return at.Format("20060102150405Z") }
	keys := w.keys(t, `bot valid-before="`+day(start.Add(90*time.Second))+`" `+before.public, `bot valid-after="`+day(start.Add(90*time.Second))+`" `+w.key.public)
	report := w.verify(t, func(in *ledger.Input) { in.Keys = keys })
	if report.Verdict != ledger.Unanchored || len(report.Signatures) != 2 {
		t.Errorf("%s, signed by %+v: %+v", report.Verdict, report.Signatures, report.Problems)
	}
	// Who still has the old key, and dates a batch back, is found by the time.
	r := w.next(t)
	r.at, r.signer = start.Add(80*time.Second), before.signer
	w.forge(t, before.signer, r.at, r.edit(t))
	if report := w.verify(t, func(in *ledger.Input) { in.Keys = keys }); !has(report, ledger.WrongTime) || has(report, ledger.ExpiredKey) {
		t.Errorf("dated back: %q", faults(report))
	}
}

func TestARecordOfAnUnknownTypeIsListed(t *testing.T) {
	w := newWorld(t)
	w.trail(t)
	r := w.next(t)
	r.kind, r.predicateType, r.content = "forecast", "urn:holdfast:ledger:forecast:v1", `{"rain":true}`
	w.forge(t, w.key.signer, r.at, r.edit(t))
	r.sequence, r.previous, r.at = r.sequence+1, w.batches(t)[6], r.at.Add(time.Minute)
	r.kind, r.predicateType, r.content, w.now = ledger.Commanded, "urn:holdfast:ledger:command:v2", `{"by":["alice","bob"]}`, r.at
	w.forge(t, w.key.signer, r.at, r.edit(t))
	report := w.verify(t)
	if report.Verdict != ledger.Unanchored || len(report.Unknown) != 2 || report.Unknown[1].PredicateType != "urn:holdfast:ledger:forecast:v1" {
		t.Errorf("%s, unknown %+v: %+v", report.Verdict, report.Unknown, report.Problems)
	}
}

func TestAnchors(t *testing.T) {
	anchor := func(commit string) ledger.Anchor {
		return ledger.Anchor{Commit: commit, Time: start.Add(time.Hour), Where: "issue 7"}
	}
	with := func(all ...ledger.Anchor) func(*ledger.Input) {
		return func(in *ledger.Input) { in.Anchors = all }
	}
	t.Run("all are found", func(t *testing.T) {
		w := newWorld(t)
		w.trail(t)
		all := w.batches(t)
		report := w.verify(t, with(anchor(all[3]), anchor(all[1])))
		if report.Verdict != ledger.Whole || report.Anchors.Found != 2 || report.Anchors.Newest != all[3] || report.Anchors.After != 2 {
			t.Errorf("%s, %+v: %+v", report.Verdict, report.Anchors, report.Problems)
		}
	})
	t.Run("the end was cut off", func(t *testing.T) {
		w := newWorld(t)
		w.trail(t)
		all := w.batches(t)
		w.raw(t, all[3])
		if report := w.verify(t); report.Verdict != ledger.Unanchored {
			t.Errorf("without anchors: %s", report.Verdict)
		}
		report := w.verify(t, with(anchor(all[1]), anchor(all[5])))
		if len(report.Problems) != 1 || report.Problems[0].Fault != ledger.Truncated || report.Problems[0].Commit != all[5] {
			t.Errorf("%+v", report.Problems)
		}
		repotest.Git(t, w.dir, "reflog", "expire", "--expire=now", "--all")
		repotest.Git(t, w.dir, "gc", "-q", "--prune=now")
		report = w.verify(t, with(anchor(all[5])))
		if len(report.Problems) != 1 || report.Problems[0].Fault != ledger.Rewritten || !strings.Contains(report.Problems[0].Message, "issue 7") {
			t.Errorf("after git gc: %+v", report.Problems)
		}
	})
	t.Run("it was written anew with the same key", func(t *testing.T) {
		w := newWorld(t)
		w.trail(t)
		all := w.batches(t)
		w.raw(t, all[0])
		w.now = start.Add(2 * time.Minute)
		for _, name := range []string{"a", "b", "c"} {
			w.append(t, seen(name, "1"))
		}
		if report := w.verify(t); report.Verdict != ledger.Unanchored {
			t.Errorf("without anchors: %s, %+v", report.Verdict, report.Problems)
		}
		report := w.verify(t, with(anchor(all[0]), anchor(all[4])))
		if report.Verdict != ledger.Broken || len(report.Problems) != 1 || report.Problems[0].Fault != ledger.Rewritten {
			t.Errorf("%s: %+v", report.Verdict, report.Problems)
		}
	})
	t.Run("a batch is dated later than it was seen", func(t *testing.T) {
		w := newWorld(t)
		w.trail(t)
		report := w.verify(t, with(ledger.Anchor{Commit: w.batches(t)[5], Time: start.Add(-time.Hour)}))
		if len(report.Problems) != 1 || report.Problems[0].Fault != ledger.AnchoredLater {
			t.Errorf("%+v", report.Problems)
		}
	})
}

func TestOwnCommitsElsewhereAreJudged(t *testing.T) {
	w := newWorld(t)
	w.trail(t)
	work := repotest.Init(t)
	repotest.Commit(t, work, "by a person", map[string]string{"a": "1"})
	repotest.Commit(t, work, "forged\n\nHoldfast-Key: 0123456789abcdef0123\n", map[string]string{"a": "2"})
	report := judgeRange(t, work, "main", w.keys(t, "bot "+w.key.public))
	if report.Verdict != ledger.Broken || report.Commits != 2 || report.Own != 1 || report.Problems[0].Fault != ledger.Unsigned {
		t.Errorf("%+v", report)
	}
	repotest.Git(t, work, "-c", "user.name=bob", "-c", "user.email=bob@example.com", "commit", "-q", "--amend", "--no-edit", "--author=Holdfast <holdfast@example.com>")
	report = judgeRange(t, work, "main", w.keys(t, "bot "+w.key.public))
	if report.Verdict != ledger.Whole || report.Own != 0 || len(report.Remade) != 1 {
		t.Errorf("after a squash: %+v", report)
	}
}
