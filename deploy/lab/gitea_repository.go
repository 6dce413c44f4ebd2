package lab

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// GiteaRepository is one repository on a Gitea, and what its people do there.
type GiteaRepository struct {
	Owner, Name string
	gitea       *Gitea
}

// Organization makes an organization, which the administrator owns.
func (g *Gitea) Organization(t testing.TB, name string) {
	t.Helper()
	g.Call(t, Admin, http.MethodPost, "/orgs", map[string]any{"username": name}, nil)
}

// Create makes a private repository of an organization, whose branch main holds the files (path to content) in one
// commit. Only Admin sees it until others are allowed to.
func (g *Gitea) Create(t testing.TB, organization, name string, files map[string]string) *GiteaRepository {
	t.Helper()
	g.Call(t, Admin, http.MethodPost, "/orgs/"+organization+"/repos", map[string]any{"name": name, "default_branch": "main", "private": true}, nil)
	r := &GiteaRepository{Owner: organization, Name: name, gitea: g}
	r.Commit(t, Admin, "main", "Start", files)
	return r
}

// URL is the repository's address for Git over HTTP. A token as password signs in, with any user name.
func (r *GiteaRepository) URL() string { return r.gitea.url + "/" + r.Owner + "/" + r.Name + ".git" }

// Path is the repository's place below /api/v1, for [Gitea.Call].
func (r *GiteaRepository) Path() string { return "/repos/" + r.Owner + "/" + r.Name }

func (r *GiteaRepository) call(t testing.TB, user User, method, path string, body, result any) {
	t.Helper()
	r.gitea.Call(t, user, method, r.Path()+path, body, result)
}

// Allow gives a user read, write or admin.
func (r *GiteaRepository) Allow(t testing.TB, user User, permission string) {
	t.Helper()
	r.call(t, Admin, http.MethodPut, "/collaborators/"+r.gitea.Login(user), map[string]any{"permission": permission}, nil)
}

// Commit adds one commit of a user's to a branch, which starts at the default one when it does not exist, and returns its hash.
// Files that are not named stay; remove takes files away.
func (r *GiteaRepository) Commit(t testing.TB, user User, branch, message string, files map[string]string, remove ...string) string {
	t.Helper()
	var changes []map[string]any
	for _, path := range slices.Sorted(maps.Keys(files)) {
		changes = append(changes, map[string]any{
			"operation": "upload", "path": path, "content": base64.StdEncoding.EncodeToString([]byte(files[path])),
		})
	}
	body, ref := map[string]any{"message": message, "branch": branch}, "?ref="+branch
	if branch != "main" && r.Head(t, branch) == "" {
		body, ref = map[string]any{"message": message, "new_branch": branch}, ""
	}
	for _, path := range remove {
		var file struct{ SHA string }
		r.call(t, user, http.MethodGet, "/contents/"+path+ref, nil, &file)
		changes = append(changes, map[string]any{"operation": "delete", "path": path, "sha": file.SHA})
	}
	body["files"] = changes
	var answer struct{ Commit struct{ SHA string } }
	r.call(t, user, http.MethodPost, "/contents", body, &answer)
	return answer.Commit.SHA
}

// Read gives a file's content on a branch.
func (r *GiteaRepository) Read(t testing.TB, branch, path string) string {
	t.Helper()
	var file struct{ Content []byte } // in base64
	r.call(t, Admin, http.MethodGet, "/contents/"+path+"?ref="+branch, nil, &file)
	return string(file.Content)
}

// Head is the commit of a branch; empty when there is none.
func (r *GiteaRepository) Head(t testing.TB, branch string) string {
	t.Helper()
	var found struct{ Commit struct{ ID string } }
	if err := call(t.Context(), r.gitea.people[Admin].client, http.MethodGet, r.gitea.url+"/api/v1"+r.Path()+"/branches/"+branch,
		nil, &found, http.StatusOK, http.StatusNotFound); err != nil {
		t.Fatal(err)
	}
	return found.Commit.ID
}

// GiteaProtection is what guards a branch.
type GiteaProtection struct {
	Approvals int      // that a merge needs
	Checks    []string // status checks that a merge needs
}

// Protect guards a branch: nobody pushes to it, and a merge needs what p says.
func (r *GiteaRepository) Protect(t testing.TB, branch string, p GiteaProtection) {
	t.Helper()
	r.call(t, Admin, http.MethodPost, "/branch_protections", map[string]any{
		"rule_name": branch, "required_approvals": p.Approvals, "block_on_rejected_reviews": true,
		"enable_status_check": len(p.Checks) > 0, "status_check_contexts": p.Checks,
	}, nil)
}

// Hook has Gitea send every event of the repository to a URL on loopback, signed with the secret.
func (r *GiteaRepository) Hook(t testing.TB, url, secret string) {
	t.Helper()
	r.call(t, Admin, http.MethodPost, "/hooks", map[string]any{
		"type": "gitea", "active": true,
		"config": map[string]string{"url": url, "content_type": "json", "secret": secret},
		"events": []string{"push", "issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_sync",
			"pull_request_comment", "pull_request_review_approved", "pull_request_review_rejected", "pull_request_review_comment"},
	}, nil)
}

// Archive makes the repository one that takes no writes.
func (r *GiteaRepository) Archive(t testing.TB) {
	t.Helper()
	r.call(t, Admin, http.MethodPatch, "", map[string]any{"archived": true}, nil)
}

// Comment writes on an issue or pull request and returns the comment's id.
func (r *GiteaRepository) Comment(t testing.TB, user User, number int, body string) int64 {
	t.Helper()
	var comment struct{ ID int64 }
	r.call(t, user, http.MethodPost, fmt.Sprintf("/issues/%d/comments", number), map[string]any{"body": body}, &comment)
	return comment.ID
}

// EditComment changes what a comment says.
func (r *GiteaRepository) EditComment(t testing.TB, user User, comment int64, body string) {
	t.Helper()
	r.call(t, user, http.MethodPatch, fmt.Sprintf("/issues/comments/%d", comment), map[string]any{"body": body}, nil)
}

// Approve approves a pull request's head and returns the review's id.
func (r *GiteaRepository) Approve(t testing.TB, user User, number int) int64 {
	t.Helper()
	return r.review(t, user, number, "APPROVED")
}

// Reject asks for changes and returns the review's id.
func (r *GiteaRepository) Reject(t testing.TB, user User, number int) int64 {
	t.Helper()
	return r.review(t, user, number, "REQUEST_CHANGES")
}

func (r *GiteaRepository) review(t testing.TB, user User, number int, event string) int64 {
	t.Helper()
	var review struct{ ID int64 }
	r.call(t, user, http.MethodPost, fmt.Sprintf("/pulls/%d/reviews", number),
		map[string]any{"event": event, "body": strings.ToLower(event)}, &review)
	return review.ID
}

// Dismiss takes a review back, as the administrator.
func (r *GiteaRepository) Dismiss(t testing.TB, number int, review int64) {
	t.Helper()
	r.call(t, Admin, http.MethodPost, fmt.Sprintf("/pulls/%d/reviews/%d/dismissals", number, review),
		map[string]any{"message": "taken back"}, nil)
}

// Merge merges a pull request with a merge commit. The error is Gitea's refusal: a review or a status check is missing,
// there is a conflict, or the user may not.
func (r *GiteaRepository) Merge(t testing.TB, user User, number int) error {
	t.Helper()
	path := fmt.Sprintf("%s/pulls/%d", r.Path(), number)
	// Right after a push Gitea still looks for conflicts, and refuses every merge.
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := r.merge(t.Context(), user, path)
		if err == nil || !strings.Contains(err.Error(), "try again later") || time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (r *GiteaRepository) merge(ctx context.Context, user User, path string) error {
	return r.gitea.call(ctx, user, http.MethodPost, path+"/merge", map[string]any{"Do": "merge"}, nil)
}
