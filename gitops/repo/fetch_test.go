package repo

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/storage/memory"
)

// FuzzCheckSize feeds packs as a hostile server could send: the check must end, and must refuse what holds more than
// the limit.
func FuzzCheckSize(f *testing.F) {
	for _, contents := range [][]string{{}, {"small"}, {"a\nb\nc\nd\n", "a\nb\nc\ne\n"}, {string(make([]byte, 1<<16))}} {
		f.Add(packOf(f, contents...))
	}
	const limit = 1 << 12
	f.Fuzz(func(t *testing.T, pack []byte) {
		if checkSize(pack, limit) != nil {
			return
		}
		store := memory.NewStorage()
		if packfile.UpdateObjectStorage(store, bytes.NewReader(pack)) != nil {
			return
		}
		var total int64
		for _, o := range store.Objects {
			total += o.Size()
		}
		if total > limit {
			t.Errorf("a pack of %d bytes was let through, the limit is %d", total, limit)
		}
	})
}

func TestAPackThatUnpacksToTooMuchIsRefused(t *testing.T) {
	big := packOf(t, string(make([]byte, 1<<20)))
	if len(big) > 1<<12 {
		t.Fatalf("the pack itself has %d bytes", len(big))
	}
	if err := checkSize(big, 1<<20-1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error is %v, want ErrTooLarge", err)
	}
	if err := checkSize(big, 1<<20); err != nil {
		t.Errorf("a pack at the limit: %v", err)
	}
}

func packOf(t testing.TB, contents ...string) []byte {
	t.Helper()
	store := memory.NewStorage()
	var hashes []plumbing.Hash
	for _, content := range contents {
		var o plumbing.MemoryObject
		o.SetType(plumbing.BlobObject)
		if _, err := o.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		h, err := store.SetEncodedObject(&o)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, h)
	}
	var out bytes.Buffer
	if _, err := packfile.NewEncoder(&out, store, false).Encode(hashes, 10); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
