package gitops

import (
	"fmt"
	"strings"
)

// Pattern selects paths. It is written as a Path is, with three additions: * stands for any run of
// characters in a field name or in the value of a list key, [*] for any list entry, and [=v] for the entry
// v of a list of scalars. A pattern covers the path that it names and everything below.
type Pattern struct {
	text  string
	steps []Step
}

const (
	anyEntry = "*" // the key name that stands for [*]
	scalar   = "@" // the key name that stands for [=v] while parsing
)

// ParsePattern reads a pattern. Errors are those of ParsePath.
func ParsePattern(text string) (Pattern, error) {
	spelled := strings.ReplaceAll(text, "[*]", "["+anyEntry+"=*]")
	spelled = strings.ReplaceAll(spelled, "[=", "["+scalar+"=")
	path, err := ParsePath(spelled)
	if err != nil {
		return Pattern{}, fmt.Errorf("pattern %q: %w", text, err)
	}
	if len(path) == 0 {
		return Pattern{}, fmt.Errorf("pattern %q: it is empty", text)
	}
	for _, step := range path {
		for i, key := range step.Keys {
			if key.Name == scalar {
				step.Keys[i].Name = ""
			}
		}
	}
	return Pattern{text: text, steps: path}, nil
}

// String gives the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Covers says whether path is what the pattern names, or lies below it. Root is the object that path leads
// through; it tells what stands at an index, and may be nil.
func (p Pattern) Covers(path Path, root any) bool {
	return len(path) >= len(p.steps) && p.agrees(path[:len(p.steps)], root)
}

// Reaches says whether what the pattern names can lie below path.
func (p Pattern) Reaches(path Path, root any) bool {
	return len(path) < len(p.steps) && p.agrees(path, root)
}

// agrees compares the steps that both have.
func (p Pattern) agrees(path Path, root any) bool {
	for i, step := range path {
		if !stepAgrees(p.steps[i], step, path[:i], root) {
			return false
		}
	}
	return true
}

func stepAgrees(want, got Step, above Path, root any) bool {
	switch {
	case want.IsField() || got.IsField():
		return want.IsField() && got.IsField() && Glob(want.Field, got.Field)
	case want.IsIndex():
		return got.IsIndex() && want.Index == got.Index
	case want.Keys[0].Name == anyEntry:
		return true
	case got.IsEntry():
		return entryAgrees(want.Keys, func(name string) (string, bool) {
			for _, key := range got.Keys {
				if key.Name == name {
					return key.Value, true
				}
			}
			return "", false
		})
	}
	return entryAgrees(want.Keys, func(name string) (string, bool) {
		entry := Lookup(root, above.Child(got)).V
		fields, isMap := entry.(map[string]any)
		if name == "" {
			return fmt.Sprint(entry), !isMap && entry != nil
		}
		value, ok := fields[name]
		return fmt.Sprint(value), ok
	})
}

func entryAgrees(want []Key, value func(name string) (string, bool)) bool {
	for _, key := range want {
		if got, ok := value(key.Name); !ok || !Glob(key.Value, got) {
			return false
		}
	}
	return true
}

// Glob matches text against a pattern in which * stands for any run of characters, also an empty one.
func Glob(pattern, text string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	for {
		middle, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, rest)
		}
		at := strings.Index(text, middle)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(middle):], after
	}
}
