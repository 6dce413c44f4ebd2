package repo_test

import (
	"context"
	"fmt"
	"testing"

	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/repotest"
)

// A repository of 5,000 files of 1 kB, as the remote of a large fleet.
func BenchmarkFiveThousandFiles(b *testing.B) {
	files := map[string]string{}
	for i := range 5000 {
		files[fmt.Sprintf("apps/team-%d/app-%d/deployment.yaml", i%50, i)] = fmt.Sprintf("replicas: %d\n%01000d\n", i, i)
	}
	bare := repotest.Bare(b, files)
	repotest.Git(b, bare, "gc", "-q") // as a server keeps it; loose objects would measure the remote's packing
	r, err := repo.Open(context.Background(), repo.Options{URL: bare})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := repo.Open(context.Background(), repo.Options{URL: bare}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("git clone", func(b *testing.B) {
		for b.Loop() {
			repotest.Git(b, b.TempDir(), "clone", "-q", "--bare", "--depth", "1", "file://"+bare, ".")
		}
	})
	b.Run("tree", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Tree("main"); err != nil {
				b.Fatal(err)
			}
		}
	})
	signer := anySigner(b)
	b.Run("commit", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_, err := r.Commit(repo.Commit{
				Parent: "main", Message: "change", Author: repo.Person{Name: "bot", Email: "bot@example.com"}, When: when, Signer: signer,
				Edits: []gitops.Edit{{Path: "apps/team-1/app-1/new.yaml", After: fmt.Append(nil, i)}},
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
