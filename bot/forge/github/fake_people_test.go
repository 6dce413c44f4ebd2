package github_test

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/bot"
)

type remark struct {
	id                             int64
	number                         int
	author, body, created, updated string
}

type reaction struct {
	comment        int64
	login, content string
}

type review struct {
	id                           int64
	login, state, commit, moment string
}

// members are the logins by their role; each role's name at GitHub is the login.
var members = map[bot.Role]string{
	bot.NoRole: "stranger", bot.Reader: "read", bot.Triager: "triage", bot.Writer: "write", bot.Keeper: "maintain", bot.Administrator: "admin",
}

func (f *fake) commentRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET " + repo + "/issues/{number}/comments":        f.one(bot.AsIssue, f.listComments),
		"POST " + repo + "/issues/{number}/comments":       f.write(f.one(bot.AsIssue, f.comment)),
		"PATCH " + repo + "/issues/comments/{id}":          f.write(f.editComment),
		"POST " + repo + "/issues/comments/{id}/reactions": f.write(f.react),
	}
}

func (f *fake) listComments(w http.ResponseWriter, r *http.Request, t *thread) {
	since := time.Time{}
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			refuse(w, 422, "since is no time")
			return
		}
	}
	all := []any{}
	for _, c := range f.comments {
		// Whether a comment of that very second belongs to the list is not documented: it does not.
		if updated, _ := time.Parse(time.RFC3339, c.updated); c.number == t.number && updated.After(since) {
			all = append(all, c.view())
		}
	}
	page(w, r, all)
}

func (c *remark) view() map[string]any {
	return map[string]any{
		"id": c.id, "body": c.body, "user": person(c.author), "created_at": c.created, "updated_at": c.updated,
		"html_url": "https://github.com/alice/shop/issues/" + strconv.Itoa(c.number) + "#issuecomment-" + strconv.FormatInt(c.id, 10),
	}
}

func (f *fake) say(number int, login, body string) *remark {
	now := f.now()
	c := &remark{f.id(), number, login, body, now, now}
	f.comments = append(f.comments, c)
	return c
}

func (f *fake) comment(w http.ResponseWriter, r *http.Request, t *thread) {
	var in struct{ Body string }
	decode(r, &in)
	if tooLong(w, in.Body) {
		return
	}
	answer(w, 201, f.say(t.number, account(r.Header.Get("Authorization")), in.Body).view())
}

func (f *fake) remark(id string) *remark {
	i := slices.IndexFunc(f.comments, func(c *remark) bool { return strconv.FormatInt(c.id, 10) == id })
	if i < 0 {
		return nil
	}
	return f.comments[i]
}

func (f *fake) editComment(w http.ResponseWriter, r *http.Request) {
	var in struct{ Body string }
	decode(r, &in)
	c := f.remark(r.PathValue("id"))
	switch {
	case c == nil:
		refuse(w, 404, "Not Found")
	case tooLong(w, in.Body):
	default:
		if c.body != in.Body {
			c.body, c.updated = in.Body, f.now()
		}
		answer(w, 200, c.view())
	}
}

func (f *fake) react(w http.ResponseWriter, r *http.Request) {
	var in struct{ Content string }
	decode(r, &in)
	c := f.remark(r.PathValue("id"))
	if c == nil {
		refuse(w, 404, "Not Found")
		return
	}
	added := reaction{c.id, account(r.Header.Get("Authorization")), in.Content}
	if slices.Contains(f.reactions, added) {
		answer(w, 200, map[string]any{"id": 1, "content": in.Content})
		return
	}
	f.reactions = append(f.reactions, added)
	answer(w, 201, map[string]any{"id": 1, "content": in.Content})
}

func (f *fake) reviewRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET " + repo + "/pulls/{number}/reviews":           f.one(bot.AsPullRequest, f.listReviews),
		"GET " + repo + "/collaborators/{login}/permission": f.permission,
	}
}

// permission knows the roles, one that the organization made, and nobody else.
func (f *fake) permission(w http.ResponseWriter, r *http.Request) {
	login := r.PathValue("login")
	switch known := slices.Contains(slices.Collect(maps.Values(members)), login); {
	case login == "stranger":
		answer(w, 200, map[string]any{"permission": "none", "role_name": "none"})
	case login == "security-lead":
		answer(w, 200, map[string]any{"permission": "write", "role_name": "security lead"})
	case login == "maintain":
		answer(w, 200, map[string]any{"permission": "write", "role_name": login})
	case login == "triage":
		answer(w, 200, map[string]any{"permission": "read", "role_name": login})
	case known:
		answer(w, 200, map[string]any{"permission": login, "role_name": login})
	default:
		refuse(w, 404, login+" is not a user")
	}
}

func (f *fake) listReviews(w http.ResponseWriter, r *http.Request, t *thread) {
	all := []any{}
	for _, v := range f.reviews[t.number] {
		all = append(all, map[string]any{
			"id": v.id, "user": person(v.login), "state": v.state, "commit_id": v.commit, "submitted_at": v.moment,
			"html_url": "https://github.com/alice/shop/pull/" + strconv.Itoa(t.number) + "#pullrequestreview-" + strconv.FormatInt(v.id, 10),
		})
	}
	page(w, r, all)
}

// review reviews the head of a pull request, or dismisses what the reviewer said.
func (f *fake) review(number int, login, state string) {
	if state == "DISMISSED" {
		for _, v := range slices.Backward(f.reviews[number]) {
			if v.login == login && v.state != "COMMENTED" {
				v.state = state
				return
			}
		}
	}
	f.reviews[number] = append(f.reviews[number], &review{f.id(), login, state, f.threads[number-1].head, f.now()})
}

func sorted(files map[string]file) []string { return slices.Sorted(maps.Keys(files)) }

// reactionsOf lists what an account gave a comment.
func (f *fake) reactionsOf(comment int64, login string) []bot.Reaction {
	var out []bot.Reaction
	for _, r := range f.reactions {
		if r.comment == comment && strings.EqualFold(r.login, login) {
			out = append(out, bot.Reaction(r.content))
		}
	}
	return out
}
