package gitlab_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/bot"
	"holdfast/bot/forge/forgetest"
)

type branch struct {
	head  string
	files map[string]string
}

type status struct {
	id                              int
	commit, state, description, url string
}

func (f *fake) projectRoutes() map[string]route {
	return map[string]route{
		"GET /user":  {handle: func(c call) { c.answer(200, user(c.login)) }},
		"GET /users": {query: append([]string{"username"}, paging...), handle: call.findUser},
		"GET :project": {handle: func(c call) {
			c.answer(200, map[string]any{
				"id": 1, "default_branch": c.defaultBranch, "archived": c.archived, "only_allow_merge_if_pipeline_succeeds": c.pipelines,
				"web_url": "https://gitlab.example.com/gitlab/" + project, "http_url_to_repo": "https://gitlab.example.com/gitlab/" + project + ".git",
			})
		}},
		"GET :project/members/all/{id}":             {handle: call.readMember},
		"GET :project/repository/branches/{branch}": {handle: call.readBranch},
		"GET :project/protected_branches": {query: append([]string{"search"}, paging...), handle: func(c call) {
			if c.blind {
				c.refuse(403, "403 Forbidden")
				return
			}
			c.page(anys(c.protected))
		}},
		"GET :project/approval_rules":                 {query: paging, handle: call.listRules},
		"GET :project/merge_requests/{iid}/approvals": {handle: call.readApprovals},
		"GET :project/merge_requests/{iid}/reviewers": {handle: call.listReviewers},
		"GET :project/repository/commits/{sha}/statuses": {
			query: append([]string{"ref", "stage", "name", "pipeline_id", "order_by", "sort", "all"}, paging...), handle: call.listStatuses,
		},
		"POST :project/statuses/{sha}": {
			body: []string{"state", "ref", "name", "context", "target_url", "description", "coverage", "pipeline_id"}, required: []string{"state"}, level: 30, handle: call.setStatus,
		},
	}
}

func anys(list []map[string]any) []any {
	out := []any{}
	for _, one := range list {
		out = append(out, one)
	}
	return out
}

func (c call) findUser() {
	found := []any{}
	for id, name := range users {
		if id > 0 && strings.EqualFold(name, c.r.URL.Query().Get("username")) {
			found = append(found, user(name))
		}
	}
	c.page(found)
}

func (c call) readMember() {
	id, err := strconv.Atoi(c.r.PathValue("id"))
	if err != nil || id < 1 || id >= len(users) || members[users[id]] == 0 {
		c.refuse(404, "404 Not found")
		return
	}
	out := user(users[id])
	out["access_level"] = members[users[id]]
	if users[id] == "blocked" {
		out["state"] = "blocked"
	}
	c.answer(200, out)
}

func (c call) readBranch() {
	name := c.r.PathValue("branch")
	b := c.branches[name]
	if b == nil {
		c.refuse(404, "404 Branch Not Found")
		return
	}
	protected := slices.ContainsFunc(c.protected, func(p map[string]any) bool {
		pattern := p["name"].(string)
		return pattern == name || strings.HasSuffix(pattern, "*") && strings.HasPrefix(name, strings.TrimSuffix(pattern, "*"))
	})
	c.answer(200, map[string]any{"name": name, "protected": protected, "commit": map[string]any{"id": b.head}})
}

// listRules has rules on paid tiers alone.
func (c call) listRules() {
	if c.rules == nil {
		c.refuse(404, "404 Not Found")
		return
	}
	c.page(anys(c.rules))
}

func (c call) readApprovals() {
	if t := c.find(bot.AsPullRequest); t != nil {
		by := []any{}
		for _, login := range t.approvedBy {
			by = append(by, map[string]any{"user": user(login)})
		}
		c.answer(200, map[string]any{"id": 1000 + t.iid, "iid": t.iid, "approved_by": by})
	}
}

func (c call) listReviewers() {
	if t := c.find(bot.AsPullRequest); t != nil {
		all := []any{}
		for _, login := range slices.Sorted(maps.Keys(t.reviewers)) {
			all = append(all, map[string]any{"user": user(login), "state": t.reviewers[login]})
		}
		c.answer(200, all)
	}
}

// review is what a reviewer does in the browser.
func (f *fake) review(t *thread, login string, review forgetest.Review) {
	without := slices.DeleteFunc(slices.Clone(t.approvedBy), func(other string) bool { return other == login })
	switch review {
	case forgetest.Approve:
		t.approvedBy, t.reviewers[login] = append(without, login), "approved"
	case forgetest.RequestChanges:
		t.reviewers[login] = "requested_changes" // the approval stays until GitLab's job has run
	case forgetest.Remark:
		f.say(bot.AsPullRequest, t.iid, login, "a remark")
	case forgetest.Dismiss:
		t.approvedBy, t.reviewers[login] = without, "unapproved"
	}
}

// change commits to a branch and gives the commit.
func (f *fake) change(name string, c forgetest.Change) string {
	from := f.branches[name]
	if from == nil {
		from = f.branches[f.defaultBranch]
	}
	files := maps.Clone(from.files)
	for _, path := range c.Remove {
		delete(files, path)
	}
	for old, path := range c.Rename {
		files[path] = files[old]
		delete(files, old)
	}
	maps.Copy(files, c.Write)
	head := hashOf(name + from.head + strconv.Itoa(f.id()))
	f.branches[name] = &branch{head, files}
	for _, t := range f.threads[bot.AsPullRequest] {
		if t.source == name && t.state == "opened" && !t.fork {
			t.sha = head
		}
	}
	return head
}

func (f *fake) branch(name string) {
	f.change(name, forgetest.Change{Write: map[string]string{"of/" + name: "x\n"}})
}

func (c call) knows(commit string) bool {
	for _, b := range c.branches {
		if b.head == commit {
			return true
		}
	}
	c.refuse(404, "404 Commit Not Found")
	return false
}

func (c call) listStatuses() {
	if sha := c.r.PathValue("sha"); c.knows(sha) {
		all := []any{}
		for _, s := range c.statuses {
			if s.commit == sha && c.r.URL.Query().Get("name") == "holdfast" {
				all = append(all, map[string]any{"id": s.id, "sha": sha, "status": s.state, "name": "holdfast", "description": s.description, "target_url": s.url})
			}
		}
		c.page(all)
	}
}

// setStatus goes on with a status that is pending or running, else begins a new one. A state does not follow itself.
func (c call) setStatus() {
	sha := c.r.PathValue("sha")
	if !c.knows(sha) {
		return
	}
	state, _ := c.text("state")
	description, _ := c.text("description")
	url, _ := c.text("target_url")
	if name, _ := c.text("name"); name != "holdfast" || utf8.RuneCountInString(description) > 255 || !slices.Contains([]string{"pending", "running", "success", "failed", "canceled"}, state) {
		c.refuse(400, map[string]any{"state": []string{"does not have a valid value"}})
		return
	}
	i := slices.IndexFunc(c.statuses, func(s *status) bool { return s.commit == sha && (s.state == "pending" || s.state == "running") })
	if i < 0 {
		c.statuses = append(c.statuses, &status{id: c.id(), commit: sha})
		i = len(c.statuses) - 1
	} else if c.statuses[i].state == state || state == "pending" {
		c.refuse(400, "Cannot transition status via :enqueue from :"+c.statuses[i].state)
		return
	}
	s := c.statuses[i]
	s.state, s.description, s.url = state, description, url
	c.answer(201, map[string]any{"id": s.id, "sha": sha, "status": state, "name": "holdfast"})
}

// checks lists what people see, newest first.
func (f *fake) checks(commit string) []bot.Check {
	var out []bot.Check
	for _, s := range slices.Backward(f.statuses) {
		if s.commit == commit {
			verdict := map[string]bot.Verdict{"pending": bot.Pending, "success": bot.Success, "failed": bot.Failure}[s.state]
			out = append(out, bot.Check{Commit: commit, Verdict: verdict, Title: s.description, URL: s.url})
		}
	}
	return out
}
