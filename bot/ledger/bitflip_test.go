package ledger_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/bot/ledger"
	"holdfast/gitops/repo/repotest"
)

// loose lists the object files of a repository that has no pack.
func loose(t *testing.T, dir string) (out []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "objects", "??", "*"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%d objects, %v", len(all), err)
	}
	slices.Sort(all)
	return all
}

// TestEveryFlippedBitIsFound flips one bit after the other in the objects of a ledger: in what they hold, as if
// somebody had rewritten an object under its old name, and in the bytes on the disk.
func TestEveryFlippedBitIsFound(t *testing.T) {
	w := newWorld(t)
	w.trail(t)
	random := rand.New(rand.NewPCG(5, 9)) // seeded: a failure can be repeated
	for _, file := range loose(t, w.dir) {
		name := filepath.Base(filepath.Dir(file)) + filepath.Base(file)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content := inflate(t, whole)
		for n := range 6 {
			start := bytes.IndexByte(content, 0) + 1 // behind the object's kind and size, which are no content
			bit := (start + random.IntN(len(content)-start)) * 8
			bit += random.IntN(8)
			flipped := bytes.Clone(content)
			flipped[bit/8] ^= 1 << (bit % 8)
			damaged := deflate(t, flipped)
			if n >= 4 { // on the disk
				bit = random.IntN(len(whole) * 8)
				damaged = bytes.Clone(whole)
				damaged[bit/8] ^= 1 << (bit % 8)
				if _, body, _ := bytes.Cut(tryInflate(damaged), []byte{0}); bytes.Equal(body, content[start:]) {
					continue // a bit that says nothing of the content
				}
			}
			overwrite(t, file, damaged)
			report, err := w.tryVerify(t)
			if err == nil && report.Verdict != ledger.Broken {
				t.Errorf("object %s, bit %d, try %d: the verdict is %s", name, bit, n, report.Verdict)
			}
			if err == nil && !namesPlace(report, name) {
				t.Errorf("object %s, bit %d: what is named is %+v", name, bit, report.Problems)
			}
		}
		overwrite(t, file, whole)
	}
	if report := w.verify(t); report.Verdict != ledger.Unanchored {
		t.Errorf("in the end: %s, %+v", report.Verdict, report.Problems)
	}
}

// namesPlace says whether a report names the object that is damaged.
func namesPlace(r ledger.Report, object string) bool {
	return slices.ContainsFunc(r.Problems, func(p ledger.Problem) bool {
		return strings.Contains(p.Message, object) || strings.Contains(p.Commit, object)
	})
}

// TestADamagedPackIsFound flips bits of a pack, and cuts it.
func TestADamagedPackIsFound(t *testing.T) {
	w := newWorld(t)
	w.trail(t)
	repotest.Git(t, w.dir, "repack", "-q", "-a", "-d")
	packs, err := filepath.Glob(filepath.Join(w.dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs %v, %v", packs, err)
	}
	whole, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	good := fmt.Sprintf("%+v", w.verify(t))
	random := rand.New(rand.NewPCG(5, 10))
	found := 0
	check := func(what string, damaged []byte) {
		t.Helper()
		overwrite(t, packs[0], damaged)
		report, err := w.tryVerify(t)
		switch {
		case err != nil, report.Verdict == ledger.Broken:
			found++
		case fmt.Sprintf("%+v", report) != good: // a bit that is no content, as of a checksum, changes nothing
			t.Errorf("%s: the verdict is %s, with another result", what, report.Verdict)
		}
	}
	const flips = 300
	for range flips {
		bit := random.IntN(len(whole) * 8)
		damaged := bytes.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		check(fmt.Sprint("bit ", bit), damaged)
	}
	if found < flips*9/10 {
		t.Errorf("only %d of %d flips are found", found, flips)
	}
	found = 0
	sizes := []int{0, 4, 11, 12, 13, len(whole) / 2, len(whole) - 400}
	for _, size := range sizes {
		check(fmt.Sprint("cut to ", size), whole[:size])
	}
	if found != len(sizes) {
		t.Errorf("only %d of %d cuts are found", found, len(sizes))
	}
}

func inflate(t *testing.T, data []byte) []byte {
	t.Helper()
	out := tryInflate(data)
	if out == nil {
		t.Fatal("no zlib stream")
	}
	return out
}

func tryInflate(data []byte) []byte {
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	out, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return out
}

func deflate(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func overwrite(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, file, data)
}
