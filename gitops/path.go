package gitops

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Step is one step of a Path: into a mapping by Field, into a list by Index, or to the entry of a keyed
// list whose Keys have these values. Exactly one of Field, Keys and an Index (with neither) applies.
type Step struct {
	Field string
	Keys  []Key
	Index int
}

// Key is a merge key of a list entry and its value, in the spelling that JSON would print without quotes.
type Key struct {
	Name, Value string
}

// Path leads from the root of an object to a value.
type Path []Step

// Field gives a step into a mapping.
func Field(name string) Step { return Step{Field: name} }

// Index gives a step into a list by position.
func Index(i int) Step { return Step{Index: i} }

// Entry gives a step to the list entry with these keys.
func Entry(keys ...Key) Step { return Step{Keys: keys} }

// IsField, IsEntry and IsIndex tell the three kinds of step apart.
func (s Step) IsField() bool { return s.Field != "" }

// IsEntry says whether the step picks an entry of a keyed list.
func (s Step) IsEntry() bool { return s.Field == "" && len(s.Keys) > 0 }

// IsIndex says whether the step picks a list entry by position.
func (s Step) IsIndex() bool { return s.Field == "" && len(s.Keys) == 0 }

// Equal compares steps by value.
func (s Step) Equal(o Step) bool {
	return s.Field == o.Field && s.Index == o.Index && slices.Equal(s.Keys, o.Keys)
}

// Child gives a new path that is p and one more step; p is not changed.
func (p Path) Child(s Step) Path { return append(slices.Clip(p), s) }

// Equal compares paths step by step.
func (p Path) Equal(o Path) bool { return slices.EqualFunc(p, o, Step.Equal) }

// HasPrefix says whether p is prefix or lies below it.
func (p Path) HasPrefix(prefix Path) bool {
	return len(p) >= len(prefix) && p[:len(prefix)].Equal(prefix)
}

// String gives the path as every output prints it: dotted fields, [n] for an index, [name=web] for an
// entry, ["a.b/c"] for a field with other characters than letters, digits, - and _.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.IsField() && plain(s.Field):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Field)
		case s.IsField():
			b.WriteString("[" + strconv.Quote(s.Field) + "]")
		case s.IsEntry():
			b.WriteByte('[')
			for i, k := range s.Keys {
				if i > 0 {
					b.WriteByte(',')
				}
				b.WriteString(k.Name + "=" + quoteKey(k.Value))
			}
			b.WriteByte(']')
		default:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		}
	}
	return b.String()
}

// MarshalText prints the path as String does.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what String prints.
func (p *Path) UnmarshalText(text []byte) error {
	parsed, err := ParsePath(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

func plain(field string) bool {
	for _, r := range field {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return field != ""
}

func quoteKey(value string) string {
	if strings.ContainsAny(value, `,]"=`) {
		return strconv.Quote(value)
	}
	return value
}

// ParsePath reads the form that String prints. It refuses empty steps and unclosed brackets, naming the
// offset in bytes.
func ParsePath(text string) (Path, error) {
	var path Path
	for i := 0; i < len(text); {
		switch {
		case text[i] == '[':
			step, rest, err := parseBracket(text[i+1:])
			if err != nil {
				return nil, fmt.Errorf("path %q: at byte %d: %w", text, i, err)
			}
			path = append(path, step)
			i = len(text) - len(rest)
		default:
			if text[i] == '.' {
				if i == 0 {
					return nil, fmt.Errorf("path %q: starts with a dot", text)
				}
				i++
			} else if i > 0 {
				return nil, fmt.Errorf("path %q: at byte %d: want a dot or a bracket", text, i)
			}
			end := i
			for end < len(text) && text[end] != '.' && text[end] != '[' {
				end++
			}
			if end == i {
				return nil, fmt.Errorf("path %q: at byte %d: empty field name", text, i)
			}
			path = append(path, Field(text[i:end]))
			i = end
		}
	}
	return path, nil
}

func parseBracket(text string) (Step, string, error) {
	if strings.HasPrefix(text, `"`) {
		name, rest, err := parseQuoted(text)
		if err != nil {
			return Step{}, "", err
		}
		if !strings.HasPrefix(rest, "]") || name == "" {
			return Step{}, "", fmt.Errorf("want one quoted field name and a closing bracket")
		}
		return Field(name), rest[1:], nil
	}
	var keys []Key
	for {
		end := strings.IndexAny(text, "=]")
		if end < 0 {
			return Step{}, "", fmt.Errorf("no closing bracket")
		}
		if text[end] == ']' {
			index, err := strconv.Atoi(text[:end])
			if err != nil || index < 0 || len(keys) > 0 {
				return Step{}, "", fmt.Errorf("want an index or key=value, got %q", text[:end])
			}
			return Index(index), text[end+1:], nil
		}
		key := Key{Name: text[:end]}
		text = text[end+1:]
		if strings.HasPrefix(text, `"`) {
			value, rest, err := parseQuoted(text)
			if err != nil {
				return Step{}, "", err
			}
			key.Value, text = value, rest
		} else {
			stop := strings.IndexAny(text, ",]")
			if stop < 0 {
				return Step{}, "", fmt.Errorf("no closing bracket")
			}
			key.Value, text = text[:stop], text[stop:]
		}
		if key.Name == "" || text == "" {
			return Step{}, "", fmt.Errorf("want key=value")
		}
		keys = append(keys, key)
		if text[0] == ']' {
			return Entry(keys...), text[1:], nil
		}
		text = text[1:]
	}
}

func parseQuoted(text string) (value, rest string, err error) {
	prefix, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", fmt.Errorf("unfinished quoted name")
	}
	value, err = strconv.Unquote(prefix)
	return value, text[len(prefix):], err
}
