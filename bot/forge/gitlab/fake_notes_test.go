package gitlab_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"holdfast/bot"
)

type note struct {
	id               int
	kind             bot.Kind
	iid              int
	author, body     string
	created, updated time.Time
	edited           *time.Time
	system           bool
	awards           []award
}

type award struct{ login, name string }

func (f *fake) noteRoutes(kind bot.Kind) map[string]route {
	path := ":project/issues/{iid}/notes"
	if kind == bot.AsPullRequest {
		path = ":project/merge_requests/{iid}/notes"
	}
	of := func(do func(call, *thread)) func(call) {
		return func(c call) {
			if t := c.find(kind); t != nil {
				do(c, t)
			}
		}
	}
	one := func(do func(call, *note)) func(call) {
		return of(func(c call, t *thread) {
			i := slices.IndexFunc(c.notes, func(n *note) bool {
				return n.kind == kind && n.iid == t.iid && strconv.Itoa(n.id) == c.r.PathValue("note")
			})
			if i < 0 {
				c.refuse(404, "404 Note Not Found")
				return
			}
			do(c, c.notes[i])
		})
	}
	return map[string]route{
		"GET " + path: {query: append([]string{"sort", "order_by"}, paging...), handle: of(func(c call, t *thread) { c.listNotes(kind, t) })},
		"POST " + path: {body: []string{"body"}, required: []string{"body"}, level: 10, handle: of(func(c call, t *thread) {
			if body, _ := c.text("body"); c.noteFits(body) {
				c.answer(201, c.say(kind, t.iid, c.login, c.quickActions(body)).view())
			}
		})},
		"PUT " + path + "/{note}": {body: []string{"body"}, required: []string{"body"}, level: 10, handle: one(call.editNote)},
		"GET " + path + "/{note}/award_emoji": {query: paging, handle: one(func(c call, n *note) {
			all := []any{}
			for _, a := range n.awards {
				all = append(all, map[string]any{"id": 1, "name": a.name, "user": user(a.login)})
			}
			c.page(all)
		})},
		"POST " + path + "/{note}/award_emoji": {body: []string{"name"}, required: []string{"name"}, level: 10, handle: one(call.award)},
	}
}

func (f *fake) say(kind bot.Kind, iid int, login, body string) *note {
	now := f.now()
	n := &note{id: f.id(), kind: kind, iid: iid, author: login, body: body, created: now, updated: now}
	f.notes = append(f.notes, n)
	return n
}

func (n *note) view() map[string]any {
	return map[string]any{
		"id": n.id, "type": nil, "body": n.body, "author": user(n.author), "created_at": n.created, "updated_at": n.updated,
		"system": n.system, "noteable_iid": n.iid,
	}
}

func (c call) listNotes(kind bot.Kind, t *thread) {
	var found []*note
	for _, n := range c.notes {
		if n.kind == kind && n.iid == t.iid {
			found = append(found, n)
		}
	}
	byUpdate := c.oneOf("order_by", "created_at", "updated_at") == "updated_at"
	slices.SortStableFunc(found, func(a, b *note) int {
		if byUpdate {
			return a.updated.Compare(b.updated)
		}
		return a.created.Compare(b.created)
	})
	if c.oneOf("sort", "desc", "asc") == "desc" {
		slices.Reverse(found)
	}
	all := []any{}
	for _, n := range found {
		all = append(all, n.view())
	}
	c.page(all)
}

func (c call) noteFits(body string) bool {
	if utf8.RuneCountInString(body) <= 1_000_000 {
		return true
	}
	c.refuse(400, map[string]any{"note": []string{"is too long (maximum is 1000000 characters)"}})
	return false
}

func (c call) editNote(n *note) {
	body, _ := c.text("body")
	if !c.noteFits(body) {
		return
	}
	c.edit(n, c.quickActions(body))
	c.answer(200, n.view())
}

func (f *fake) edit(n *note, body string) {
	if n.body != body {
		now := f.now()
		n.body, n.updated, n.edited = body, now, &now
	}
}

// award gives an emoji once. It moves the note's updated_at, as GitLab does.
func (c call) award(n *note) {
	name, _ := c.text("name")
	given := award{c.login, name}
	switch {
	case !slices.Contains([]string{"thumbsup", "thumbsdown", "eyes", "confused"}, name):
		c.refuse(400, map[string]any{"error": "name is no emoji"})
	case slices.Contains(n.awards, given):
		c.refuse(404, "404 Award Emoji Name has already been taken Not Found")
	default:
		n.awards = append(n.awards, given)
		n.updated = c.now()
		c.answer(201, map[string]any{"id": c.id(), "name": name, "user": user(c.login)})
	}
}

// graphql knows one question: when notes were edited.
func (c call) graphql() {
	query, _ := c.text("query")
	asked := regexp.MustCompile(`(n\d+): note\(id: "gid://gitlab/Note/(\d+)"\) \{ lastEditedAt \}`)
	data := map[string]any{}
	for _, m := range asked.FindAllStringSubmatch(query, -1) {
		data[m[1]] = nil
		for _, n := range c.notes {
			if strconv.Itoa(n.id) == m[2] {
				data[m[1]] = map[string]any{"lastEditedAt": n.edited}
			}
		}
	}
	if rest := asked.ReplaceAllString(query, ""); len(data) == 0 || !regexp.MustCompile(`^query \{\s*\}$`).MatchString(rest) {
		c.answer(200, map[string]any{"errors": []any{map[string]any{"message": fmt.Sprintf("cannot parse %q", cmp.Or(rest, query))}}})
		return
	}
	c.answer(200, map[string]any{"data": data})
}
