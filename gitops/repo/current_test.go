package repo_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/repotest"
)

func TestCurrentSeesWhatOthersMovedAndNotWhatWePushed(t *testing.T) {
	bare := repotest.Bare(t, map[string]string{"a": "1"})
	base := repotest.Serve(t, filepath.Dir(bare), "token")
	for name, where := range map[string]repo.Options{"file": {URL: bare}, "http": {URL: base + "/repo.git", Auth: repo.Auth{Password: "token"}, Depth: 1}} {
		t.Run(name, func(t *testing.T) {
			r := open(t, where)
			want := func(want bool, after string) {
				t.Helper()
				if got, err := r.Current(context.Background()); got != want || err != nil {
					t.Errorf("after %s: current is %v, %v; want %v", after, got, err, want)
				}
			}
			want(true, "nothing")
			branch := "holdfast/" + name
			push(t, r, branch, commit(t, r, repo.Commit{Edits: []gitops.Edit{{Path: "b" + name, After: []byte("1")}}}), "")
			want(true, "a push of our own")
			repotest.Git(t, bare, "branch", "somebody-"+name, "main")
			want(false, "a branch of somebody else")
			r = open(t, where)
			repotest.Git(t, bare, "tag", "v-"+name, "main")
			want(false, "a tag")
			r = open(t, where)
			repotest.Git(t, bare, "branch", "-D", "somebody-"+name)
			want(false, "a deleted branch")
		})
	}
	r := open(t, repo.Options{URL: bare})
	if err := os.RemoveAll(bare); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Current(context.Background()); err == nil {
		t.Error("a repository that is gone is current")
	}
}
