package classify

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
)

// mutatorOf finds the first known mutator whose field, writer, shape and precondition all match. Three of
// the four are no match.
func (f *Facts) mutatorOf(s *situation) (*Mutator, detect.Writer) {
	id := s.about.Live.ID
	for _, list := range [...][]*Mutator{f.Rules.byKind[id.Kind], f.Rules.byKind[""]} {
		for _, m := range list {
			if !m.covers(s) || !anyKind(m.Objects, id) || s.sensitive && !m.Sensitive {
				continue
			}
			writer, ok := m.writer(s)
			if ok && m.Shape.holds(s) && m.When.hold(s) {
				return m, writer
			}
		}
	}
	return nil, detect.Writer{}
}

// covers says whether every leaf that differs is one of the rule's fields.
func (m *Mutator) covers(s *situation) bool {
	if covered(m.patterns, s.Path, s.liveContent()) {
		return true
	}
	reach := slices.ContainsFunc(m.patterns, func(p gitops.Pattern) bool { return p.Reaches(s.Path, s.liveContent()) })
	return reach && m.coversBelow(s.Path, s.Git, s.Live, s.liveContent())
}

// coversBelow descends into a value that holds more than one field: all that differs must be covered.
func (m *Mutator) coversBelow(path gitops.Path, git, live gitops.Value, root any) bool {
	if covered(m.patterns, path, root) || git.Set && live.Set && sameValue(git.V, live.V) {
		return true
	}
	switch now := live.V.(type) {
	case map[string]any:
		was, _ := git.V.(map[string]any)
		for key, value := range was {
			if _, still := now[key]; !still && !m.coversBelow(path.Child(gitops.Field(key)), gitops.Present(value), gitops.Value{}, root) {
				return false
			}
		}
		for key, value := range now {
			before, there := was[key]
			if !m.coversBelow(path.Child(gitops.Field(key)), gitops.Value{Set: there, V: before}, gitops.Present(value), root) {
				return false
			}
		}
		return len(now)+len(was) > 0
	case []any:
		was, _ := git.V.([]any)
		for _, value := range was {
			if !contains(now, value) {
				return false
			}
		}
		for i, value := range now {
			step := gitops.Index(i)
			if _, isMap := value.(map[string]any); !isMap {
				step = gitops.Entry(gitops.Key{Value: fmt.Sprint(value)})
			}
			if !contains(was, value) && !covered(m.patterns, path.Child(step), root) {
				return false
			}
		}
		return len(now) > 0
	}
	return false
}

// writer finds the owner that the rule names. Where a person owns part of a value with several fields, no
// rule holds for the whole.
func (m *Mutator) writer(s *situation) (detect.Writer, bool) {
	if len(s.tools) > 0 && composite(s.Live.V) && !slices.Contains(m.Writers, "anyone") {
		for _, w := range s.tools {
			if s.facts.Rules.who(w.Manager) == actorTool {
				return detect.Writer{}, false
			}
		}
	}
	for _, want := range m.Writers {
		switch want {
		case "nobody":
			if s.unowned() {
				return detect.Writer{Confidence: detect.Inferred}, true
			}
		case "engine":
			if len(s.engine) > 0 && len(s.tools) == 0 {
				return s.engine[0], true
			}
		case "tool":
			if len(s.tools) > 0 {
				return s.tools[0], true
			}
		case "controller":
			for _, w := range slices.Concat(s.controllers, s.tools) {
				if s.facts.Rules.who(w.Manager) == actorController && !s.borrowsName(w) {
					return w, true
				}
			}
		case "stranger":
			for _, w := range s.tools {
				if s.facts.Rules.who(w.Manager) == actorUnknown && !s.borrowsName(w) {
					return w, true
				}
			}
		case "anyone":
			if all := slices.Concat(s.controllers, s.tools, s.engine, s.bookkeeping); len(all) > 0 {
				return all[0], true
			}
			return detect.Writer{Confidence: detect.Inferred}, true
		default:
			for _, w := range slices.Concat(s.controllers, s.tools, s.engine) {
				if isManager(want, w.Manager) && !s.borrowsName(w) {
					return w, true
				}
			}
		}
	}
	return detect.Writer{}, false
}

// isManager says whether a manager has the name. Some distributions run the built-in controllers inside one program.
func isManager(want, name string) bool {
	return gitops.Glob(want, name) || want == "kube-controller-manager" && (name == "k3s" || name == "kubelite")
}

func composite(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 1
	case []any:
		return len(v) > 1
	}
	return false
}

func (sh shape) holds(s *situation) bool {
	git, live := s.raw()
	if len(sh.Git) > 0 && !contains(sh.Git, git.V) || len(sh.Live) > 0 && !contains(sh.Live, live.V) {
		return false
	}
	text, isText := live.V.(string)
	if sh.text != nil && !(isText && sh.text.MatchString(text)) {
		return false
	}
	if sh.Certificates && !(isText && isCertificates(text)) {
		return false
	}
	if len(sh.JSON) > 0 && !(isText && hasJSONKeys(text, sh.JSON)) {
		return false
	}
	if len(sh.Adds) > 0 && !onlyAdds(git.V, live.V, sh.Adds) {
		return false
	}
	return true
}

// onlyAdds says whether live is git and some of the allowed entries, in any order.
func onlyAdds(git, live any, allowed []any) bool {
	was, _ := git.([]any)
	now, ok := live.([]any)
	if !ok {
		return contains(allowed, live) && git == nil // one entry of a keyed list
	}
	for _, entry := range was {
		if !contains(now, entry) {
			return false
		}
	}
	for _, entry := range now {
		if !contains(was, entry) && !contains(allowed, entry) {
			return false
		}
	}
	return true
}

func isCertificates(text string) bool {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return false
	}
	rest := strings.TrimSpace(string(data))
	const begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
	if rest == "" {
		return false
	}
	for rest != "" {
		_, after, ok := strings.Cut(rest, end)
		if !strings.HasPrefix(rest, begin) || !ok {
			return false
		}
		rest = strings.TrimSpace(after)
	}
	return true
}

func hasJSONKeys(text string, keys []string) bool {
	var m map[string]any
	if json.Unmarshal([]byte(text), &m) != nil {
		return false
	}
	for _, key := range keys {
		if _, ok := m[key]; !ok {
			return false
		}
	}
	return true
}

func (c conditions) hold(s *situation) bool {
	live := *s.about.Live
	if c.NotInGit && s.Git.Set {
		return false
	}
	if len(c.GitMark) > 0 && !marked(c.GitMark, s.Declared.Object) || len(c.LiveMark) > 0 && !marked(c.LiveMark, live) {
		return false
	}
	if len(c.inGit) > 0 && !anyPath(c.inGit, s.Declared.Content) || len(c.live) > 0 && !anyPath(c.live, live.Content) {
		return false
	}
	if len(c.Owner) > 0 && !ownedBy(live, c.Owner) {
		return false
	}
	return c.Check == "" || checkNamed(c.Check)(s)
}

func anyPath(paths []gitops.Path, content any) bool {
	return slices.ContainsFunc(paths, func(p gitops.Path) bool { return gitops.Lookup(content, p).Set })
}

// ownedBy says whether one of the owner references has one of the kinds.
func ownedBy(live gitops.Object, list []kinds) bool {
	for _, ref := range ownerReferences(live) {
		if anyKind(list, ref) {
			return true
		}
	}
	return false
}

func ownerReferences(live gitops.Object) []gitops.ObjectID {
	metadata, _ := live.Content["metadata"].(map[string]any)
	list, _ := metadata["ownerReferences"].([]any)
	var out []gitops.ObjectID
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, gitops.NewObject(map[string]any{
				"apiVersion": m["apiVersion"], "kind": m["kind"], "metadata": map[string]any{"name": m["name"]},
			}).ID)
		}
	}
	return out
}

func contains(list []any, want any) bool {
	return slices.ContainsFunc(list, func(v any) bool { return sameValue(v, want) })
}

// sameValue compares JSON values; numbers are equal by value, whatever their Go type.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, v := range x {
			w, there := y[key]
			if !there || !sameValue(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameValue)
	}
	if x, ok := gitops.Number(a); ok {
		y, also := gitops.Number(b)
		return also && x == y
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
