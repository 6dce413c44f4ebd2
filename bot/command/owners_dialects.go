package command

import (
	"regexp"
	"strings"
)

// githubLine reads a pattern and its owners; without owners nobody owns what matches. Lines with what GitHub does not
// support are left out, as GitHub does.
func (o *Owners) githubLine(number int, line string) {
	words := fields(line)
	for i, word := range words {
		if strings.HasPrefix(word, "#") {
			words = words[:i]
			break
		}
	}
	pattern := words[0]
	if strings.HasPrefix(pattern, "!") || strings.ContainsAny(pattern, "[]") {
		o.Ignored = append(o.Ignored, number)
		return
	}
	// A slash at the beginning or in the middle ties the pattern to the root. What names a folder covers all below it;
	// "folder/*" covers what lies directly in it.
	anchored := strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	body := strings.TrimPrefix(pattern, "/")
	suffix := "(?:/.*)?"
	switch {
	case strings.HasSuffix(body, "/"):
		body, suffix = strings.TrimSuffix(body, "/"), "/.*"
	case strings.HasSuffix(pattern, "/*"):
		suffix = ""
	}
	o.add(rule{line: number, match: compile(glob(body, "")+suffix, anchored), owners: ownersOf(words[1:])})
}

// gitlabLine reads a heading or an entry. An entry without owners has those of its section. A pattern is tied to the
// root by a slash at its beginning alone, and names a folder by one at its end.
func (o *Owners) gitlabLine(number int, line string) {
	heading := regexp.MustCompile(`^(\^)?\[([^\[\]]+)\](?:\[\d+\])?(?:\s+(.*))?$`).FindStringSubmatch(line)
	if heading != nil {
		o.sections = append(o.sections, section{name: strings.ToLower(strings.TrimSpace(heading[2])), optional: heading[1] != "", defaults: ownersOf(fields(heading[3]))})
		return
	}
	words := fields(line)
	pattern, exclude := strings.CutPrefix(words[0], "!")
	pattern = strings.TrimPrefix(pattern, `\`) // before a # at the beginning
	anchored := strings.HasPrefix(pattern, "/")
	body, suffix := strings.TrimPrefix(pattern, "/"), ""
	if folder, ok := strings.CutSuffix(body, "/"); ok {
		body, suffix = folder, "/.*"
	}
	if pattern == "*" || pattern == "/" {
		body, suffix = "", ".*"
	}
	match := compile(glob(body, "[")+suffix, anchored)
	if match == nil {
		o.Ignored = append(o.Ignored, number)
		return
	}
	r := rule{line: number, match: match, owners: ownersOf(words[1:]), exclude: exclude}
	// Sections of one name are one, and what is written last in it decides.
	last := o.sections[len(o.sections)-1]
	for i := range o.sections {
		if o.sections[i].name == last.name {
			if len(r.owners) == 0 {
				r.owners = last.defaults
			}
			o.sections[i].optional = o.sections[i].optional && last.optional
			o.sections[i].rules = append(o.sections[i].rules, r)
			return
		}
	}
}

// giteaLine reads an expression and its owners, with or without @. ! before it means all paths that do not match. A
// backslash protects the next character from being read as the end of a word or a comment, and is taken away; Gitea
// also knows expressions that look ahead, which cannot be read here.
func (o *Owners) giteaLine(number int, line string) {
	words := giteaWords(line)
	if len(words) == 0 {
		return
	}
	if len(words) < 2 {
		o.Ignored = append(o.Ignored, number)
		return
	}
	expression, negative := strings.CutPrefix(words[0], "!")
	compiled, err := regexp.Compile("^" + strings.TrimPrefix(expression, "/") + "$")
	if err != nil {
		o.Unreadable = append(o.Unreadable, number)
		return
	}
	r := rule{line: number, match: func(path string) bool { return compiled.MatchString(path) != negative }}
	for _, word := range words[1:] {
		r.owners = append(r.owners, strings.TrimPrefix(word, "@"))
	}
	o.add(r)
}

func giteaWords(line string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == '#':
			end()
			return words
		case r == ' ' || r == '\t':
			end()
		default:
			word.WriteRune(r)
		}
	}
	end()
	return words
}

// fields splits a line at white space that no backslash protects.
func fields(line string) []string {
	var out []string
	var word strings.Builder
	escaped := false
	for _, r := range line + " " {
		switch {
		case escaped && r != ' ' && r != '\t':
			word.WriteRune('\\')
			word.WriteRune(r)
			escaped = false
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == ' ' || r == '\t':
			if word.Len() > 0 {
				out = append(out, word.String())
				word.Reset()
			}
		default:
			word.WriteRune(r)
		}
	}
	return out
}

// glob makes an expression of a pattern: * and ? stay within a folder, ** as a folder is any number of them, and at the
// end all below. also names further characters with a meaning: [ begins a class.
func glob(pattern, also string) string {
	var out strings.Builder
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			out.WriteString("(?:.*/)?")
			i += 3
		case rest == "**":
			out.WriteString(".*")
			i += 2
		case rest[0] == '*':
			out.WriteString("[^/]*")
			i++
		case rest[0] == '?':
			out.WriteString("[^/]")
			i++
		case rest[0] == '\\' && len(rest) > 1:
			out.WriteString(regexp.QuoteMeta(rest[1:2]))
			i += 2
		case rest[0] == '[' && also == "[" && strings.Contains(rest[1:], "]"):
			end := strings.Index(rest[1:], "]") + 2
			out.WriteString(strings.Replace(rest[:end], "[!", "[^", 1))
			i += end
		default:
			out.WriteString(regexp.QuoteMeta(rest[:1]))
			i++
		}
	}
	return out.String()
}

// compile gives the matcher of a whole path, or of what stands below any folder; nil for what is no expression.
func compile(expression string, anchored bool) func(string) bool {
	prefix := "^(?:.*/)?"
	if anchored {
		prefix = "^"
	}
	compiled, err := regexp.Compile("(?s)" + prefix + expression + "$")
	if err != nil {
		return nil
	}
	return compiled.MatchString
}
