package compare

import (
	"strings"

	"holdfast/gitops/typed"
)

// keyed compares lists whose entries are known by keys. Entries whose keys repeat are compared by position.
func (w *walker) keyed(t *typed.Type, keys []string, elem *typed.Type, git, live []any) {
	n := 0
	for n < len(git) && n < len(live) && entriesMatch(t, keys, git[n], live[n]) {
		w.pair(t, keys, elem, git, live, n, n)
		if w.done() {
			return
		}
		n++
	}
	if n == len(git) && n == len(live) {
		return
	}
	w.keyedRest(t, keys, elem, git, live, n)
}

func entriesMatch(t *typed.Type, keys []string, a, b any) bool {
	x, okX := a.(map[string]any)
	y, okY := b.(map[string]any)
	return okX && okY && sameKeys(t, keys, x, y)
}

// keyedRest pairs the entries from start on, whose order differs.
func (w *walker) keyedRest(t *typed.Type, keys []string, elem *typed.Type, git, live []any, start int) {
	taken := make([]bool, len(live))
	partners := make([]int, len(git))
	moved, last := false, -1
	for i := range git {
		partners[i] = -1
		if i < start {
			partners[i], taken[i], last = i, true, i
			continue
		}
		// The first free entry with these keys: by position where they repeat.
		for j := start; j < len(live); j++ {
			if !taken[j] && entriesMatch(t, keys, git[i], live[j]) {
				partners[i], taken[j] = j, true
				moved = moved || j < last
				last = max(last, j)
				break
			}
		}
	}
	for i := start; i < len(git); i++ {
		if partners[i] >= 0 {
			w.pair(t, keys, elem, git, live, i, partners[i])
		} else {
			w.one(t, keys, git, live, i, -1)
		}
		if w.done() {
			return
		}
	}
	for j := start; j < len(live); j++ {
		if !taken[j] {
			w.one(t, keys, git, live, -1, j)
		}
	}
	if moved {
		meaning := t.Ordered || !t.Unordered || elem.Name == "core/v1.EnvVar" && orderOfEnvMatters(git, live)
		w.reordered(meaning, git, live)
	}
}

// orderOfEnvMatters says whether a variable that uses another by $(NAME) stands on another side of it now:
// Kubernetes expands only what stands before.
func orderOfEnvMatters(git, live []any) bool {
	at := func(list []any) map[string]int {
		out := make(map[string]int, len(list))
		for i, entry := range list {
			m, _ := entry.(map[string]any)
			name, _ := m["name"].(string)
			out[name] = i
		}
		return out
	}
	inGit, inLive := at(git), at(live)
	for _, entry := range git {
		m, _ := entry.(map[string]any)
		user, _ := m["name"].(string)
		value, _ := m["value"].(string)
		for _, part := range strings.Split(value, "$(")[1:] {
			used, _, ok := strings.Cut(part, ")")
			gitUsed, there := inGit[used]
			liveUsed, still := inLive[used]
			liveUser, stillUser := inLive[user]
			if ok && there && still && stillUser && (gitUsed < inGit[user]) != (liveUsed < liveUser) {
				return true
			}
		}
	}
	return false
}
