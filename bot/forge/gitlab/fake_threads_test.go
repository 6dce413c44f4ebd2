package gitlab_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/bot"
)

type thread struct {
	iid                        int
	title, body, state, author string
	labels                     []string
	source, target, sha        string
	fork                       bool
	mergeCommit                string
	mergedAt                   *time.Time
	approvedBy                 []string
	reviewers                  map[string]string // to state
}

type label struct {
	color string
	byUse bool // GitLab made it, because somebody used it
}

var threadParameters = []string{"title", "description", "labels", "state_event"}

func (f *fake) threadRoutes() map[string]route {
	list := append([]string{"author_username", "scope", "state", "order_by", "sort"}, paging...)
	return map[string]route{
		"GET :project/issues":         {query: list, handle: func(c call) { c.listThreads(bot.AsIssue) }},
		"POST :project/issues":        {body: threadParameters[:3], required: []string{"title"}, level: 10, handle: call.openIssue},
		"GET :project/issues/{iid}":   {handle: func(c call) { c.read(bot.AsIssue) }},
		"PUT :project/issues/{iid}":   {body: threadParameters, level: 15, handle: func(c call) { c.update(bot.AsIssue) }},
		"GET :project/merge_requests": {query: list, handle: func(c call) { c.listThreads(bot.AsPullRequest) }},
		"POST :project/merge_requests": {
			body: append([]string{"source_branch", "target_branch"}, threadParameters[:3]...), required: []string{"title", "source_branch", "target_branch"},
			level: 30, handle: call.openMerge,
		},
		"GET :project/merge_requests/{iid}":       {handle: func(c call) { c.read(bot.AsPullRequest) }},
		"PUT :project/merge_requests/{iid}":       {body: threadParameters, level: 30, handle: func(c call) { c.update(bot.AsPullRequest) }},
		"GET :project/merge_requests/{iid}/diffs": {query: paging, handle: call.listDiffs},
		"GET :project/labels":                     {query: paging, handle: call.listLabels},
		"POST :project/labels":                    {body: []string{"name", "color"}, required: []string{"name", "color"}, level: 15, handle: call.makeLabel},
	}
}

func (f *fake) add(kind bot.Kind, t thread) *thread {
	t.iid, t.state, t.reviewers = len(f.threads[kind])+1, "opened", map[string]string{}
	f.threads[kind] = append(f.threads[kind], &t)
	return &t
}

// find gives the thread of the path, and answers 404 where there is none.
func (c call) find(kind bot.Kind) *thread {
	iid, err := strconv.Atoi(c.r.PathValue("iid"))
	if err != nil || iid < 1 || iid > len(c.threads[kind]) {
		c.refuse(404, "404 Not found")
		return nil
	}
	return c.threads[kind][iid-1]
}

func (c call) listThreads(kind bot.Kind) {
	state := c.oneOf("state", "all", "opened", "closed", "locked", "merged")
	author := c.r.URL.Query().Get("author_username")
	c.oneOf("scope", "all", "created_by_me", "assigned_to_me")
	c.oneOf("order_by", "created_at", "updated_at")
	all := []any{}
	for _, t := range c.threads[kind] {
		if (state == "all" || state == t.state) && (author == "" || strings.EqualFold(author, t.author)) {
			all = append(all, c.view(kind, t))
		}
	}
	if c.oneOf("sort", "desc", "asc") == "desc" {
		slices.Reverse(all)
	}
	c.page(all)
}

func (c call) view(kind bot.Kind, t *thread) map[string]any {
	labels := append([]string{}, t.labels...)
	out := map[string]any{
		"id": 1000 + t.iid, "iid": t.iid, "title": t.title, "description": t.body, "state": t.state, "labels": labels, "author": user(t.author),
		"web_url": fmt.Sprintf("https://gitlab.example.com/gitlab/%s/-/%s/%d", project, map[bot.Kind]string{bot.AsIssue: "issues", bot.AsPullRequest: "merge_requests"}[kind], t.iid),
	}
	if kind == bot.AsIssue {
		return out
	}
	maps.Copy(out, map[string]any{
		"source_branch": t.source, "target_branch": t.target, "sha": t.sha, "source_project_id": 1, "target_project_id": 1,
		"merge_commit_sha": nil, "squash_commit_sha": nil, "merged_at": t.mergedAt, "merged_by": nil,
	})
	if t.fork {
		out["source_project_id"] = 2
	}
	if t.state == "merged" {
		out["merge_commit_sha"], out["merged_by"] = t.mergeCommit, user("alice")
	}
	return out
}

func (c call) read(kind bot.Kind) {
	if t := c.find(kind); t != nil {
		out := c.view(kind, t)
		if kind == bot.AsPullRequest { // a list has none
			n := len(c.diffs(t))
			if out["changes_count"] = strconv.Itoa(n); n > 1000 {
				out["changes_count"] = "1000+"
			}
		}
		c.answer(200, out)
	}
}

// accept checks the texts of a thread, carries quick actions out, and makes labels that are used and unknown.
func (c call) accept(t *thread) bool {
	if title, ok := c.text("title"); ok {
		if t.title = title; utf8.RuneCountInString(title) > 255 {
			c.refuse(400, map[string]any{"title": []string{"is too long (maximum is 255 characters)"}})
			return false
		}
	}
	if body, ok := c.text("description"); ok {
		if utf8.RuneCountInString(body) > 1_048_576 {
			c.refuse(400, map[string]any{"description": []string{"is too long (maximum is 1048576 characters)"}})
			return false
		}
		t.body = c.quickActions(body)
	}
	if names, ok := c.text("labels"); ok {
		t.labels = nil
		for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
			if _, known := c.labels[name]; !known {
				c.labels[name] = label{"#6699cc", true}
			}
			t.labels = append(t.labels, name)
		}
		slices.Sort(t.labels)
	}
	return true
}

// quickActions takes lines that begin with a slash for commands, and drops carriage returns first, as GitLab does.
func (f *fake) quickActions(text string) string {
	if !regexp.MustCompile(`(?m)^/`).MatchString(strings.ReplaceAll(text, "\r", "")) {
		return text
	}
	f.actions = append(f.actions, regexp.MustCompile(`(?m)^/.*`).FindAllString(strings.ReplaceAll(text, "\r", ""), -1)...)
	return regexp.MustCompile(`(?m)^/.*\n?`).ReplaceAllString(strings.ReplaceAll(text, "\r", ""), "")
}

func (c call) openIssue() {
	t := thread{author: c.login}
	if c.accept(&t) {
		c.answer(201, c.view(bot.AsIssue, c.add(bot.AsIssue, t)))
	}
}

func (c call) openMerge() {
	t := thread{author: c.login}
	t.source, _ = c.text("source_branch")
	t.target, _ = c.text("target_branch")
	if c.branches[t.source] == nil || c.branches[t.target] == nil || t.source == t.target {
		c.refuse(400, map[string]any{"validate_branches": []string{"source or target branch does not exist, or they are the same"}})
		return
	}
	for _, other := range c.threads[bot.AsPullRequest] {
		if other.source == t.source && other.target == t.target && other.state == "opened" && !other.fork {
			c.refuse(409, []string{fmt.Sprintf("Another open merge request already exists for this source branch: !%d", other.iid)})
			return
		}
	}
	if t.sha = c.branches[t.source].head; c.accept(&t) {
		c.answer(201, c.view(bot.AsPullRequest, c.add(bot.AsPullRequest, t)))
	}
}

func (c call) update(kind bot.Kind) {
	t := c.find(kind)
	if t == nil {
		return
	}
	before := t.body
	if !c.accept(t) {
		return
	}
	if t.body != before {
		c.say(kind, t.iid, c.login, "changed the description").system = true
	}
	switch event, _ := c.text("state_event"); {
	case event == "close" && t.state == "opened":
		t.state = "closed"
	case event == "reopen" && t.state == "closed":
		t.state = "opened"
	case event != "":
		c.refuse(422, "state_event "+event+" does not fit the state "+t.state)
		return
	}
	c.answer(200, c.view(kind, t))
}

// merge merges, as alice.
func (f *fake) merge(t *thread) {
	now := f.now()
	t.state, t.mergedAt, t.mergeCommit = "merged", &now, hashOf("merge of "+t.sha)
	f.branches[t.target].head = t.mergeCommit
	f.branches[t.target].files = f.branches[t.source].files
}

// diffs are the files that a merge request changes. A file that went and came with the same content was renamed.
func (f *fake) diffs(t *thread) []any {
	before, after := f.branches[t.target].files, map[string]string{}
	if b := f.branches[t.source]; b != nil && !t.fork {
		after = b.files
	}
	out, old := []any{}, map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[path]; !there {
			old[before[path]] = path
		}
	}
	add := func(from, to string, created, renamed, deleted bool) {
		out = append(out, map[string]any{"old_path": from, "new_path": to, "new_file": created, "renamed_file": renamed, "deleted_file": deleted, "diff": ""})
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		previous, there := before[path]
		from, renamed := old[after[path]]
		switch {
		case there && previous == after[path]:
		case there:
			add(path, path, false, false, false)
		case renamed:
			delete(old, after[path])
			add(from, path, false, true, false)
		default:
			add(path, path, true, false, false)
		}
	}
	for _, path := range slices.Sorted(maps.Values(old)) {
		add(path, path, false, false, true)
	}
	return out
}

func (c call) listDiffs() {
	if t := c.find(bot.AsPullRequest); t != nil {
		c.page(c.diffs(t))
	}
}

func (c call) listLabels() {
	all := []any{}
	for _, name := range slices.Sorted(maps.Keys(c.labels)) {
		all = append(all, map[string]any{"id": 1, "name": name, "color": c.labels[name].color})
	}
	c.page(all)
}

func (c call) makeLabel() {
	name, _ := c.text("name")
	color, _ := c.text("color")
	switch _, there := c.labels[name]; {
	case there:
		c.refuse(http.StatusConflict, "Label already exists")
	case !regexp.MustCompile(`^#[0-9a-f]{6}$`).MatchString(color):
		c.refuse(400, map[string]any{"color": []string{"must be a valid color code"}})
	default:
		c.labels[name] = label{color: color}
		c.answer(201, map[string]any{"id": 1, "name": name, "color": color})
	}
}
