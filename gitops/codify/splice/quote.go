package splice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quotes is a way to write a string.
type quotes int

const (
	plain quotes = iota
	single
	double
)

// Patterns of plain text that YAML 1.1 or 1.2, in one implementation or another, takes for something else
// than a string (https://yaml.org/type/, https://yaml.org/spec/1.2.2/#103-core-schema). They err towards
// quoting.
var (
	likeInt   = regexp.MustCompile(`^[-+]?(0[bB][01_]+|0[oO][0-7_]+|0[xX][0-9a-fA-F_]+|[0-9][0-9_,]*)$`)
	likeFloat = regexp.MustCompile(`^[-+]?([0-9][0-9_]*)?\.?[0-9_]*([eE][-+]?[0-9_]+)?$`)
	likeHex   = regexp.MustCompile(`^[-+]?0[xX][0-9a-fA-F_]*\.?[0-9a-fA-F_]*[pP][-+]?[0-9]+$`)
	likeTime  = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?$`)
	likeSixty = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
	likeWord  = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|~|=|<<|[-+]?\.inf|\.nan)$`)
)

// otherType says whether plain text s would be read as no string.
func otherType(s string) bool {
	if s == "" || likeWord.MatchString(s) {
		return true
	}
	if !strings.ContainsAny(s[:1], "0123456789+-.") || !strings.ContainsAny(s, "0123456789") {
		return false
	}
	return likeInt.MatchString(s) || likeFloat.MatchString(s) || likeHex.MatchString(s) ||
		likeTime.MatchString(s) || likeSixty.MatchString(s)
}

// needsQuotes says whether string s cannot stand plain on one line, in block or flow context.
func needsQuotes(s string, flow bool) bool {
	if otherType(s) || s[0] == ' ' || s[len(s)-1] == ' ' || strings.HasSuffix(s, ":") ||
		strings.Contains(s, ": ") || strings.Contains(s, " #") ||
		strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") {
		return true
	}
	switch s[0] {
	case ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return true
	case '-', '?', ':':
		if len(s) == 1 || s[1] == ' ' || flow {
			return true
		}
	}
	if flow && strings.ContainsAny(s, ",[]{}?") {
		return true
	}
	for _, r := range s {
		if !printable(r) {
			return true
		}
	}
	return false
}

// writeString gives s on one line, plain where wish and content allow it.
func writeString(s string, wish quotes, flow bool) string {
	if wish == plain && needsQuotes(s, flow) {
		wish = double
	}
	if wish == single && strings.ContainsFunc(s, func(r rune) bool { return !printable(r) }) {
		wish = double
	}
	switch wish {
	case plain:
		return s
	case single:
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	default:
		return doubleQuoted(s)
	}
}

func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case printable(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// inASCII gives a text in double quotes with escapes in place of all that is not ASCII. Of JSON, characters that take
// two escapes stay, since YAML does not read those.
func inASCII(quoted string, json bool) string {
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case r < utf8.RuneSelf || json && r > 0xffff:
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// writeNumber gives a number as JSON would, and in the octal notation of old where old is one.
func writeNumber(v any, old string) string {
	switch v := v.(type) {
	case int64:
		if v >= 0 && octal(old) != "" {
			return octal(old) + strconv.FormatInt(v, 8)
		}
		return strconv.FormatInt(v, 10)
	case float64:
		if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
			s := strconv.FormatFloat(v, 'e', -1, 64)
			if !strings.Contains(s, ".") { // YAML 1.1 wants a point in a float
				s = strings.Replace(s, "e", ".0e", 1)
			}
			return s
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// octal gives the prefix of an octal number, or "".
func octal(s string) string {
	switch {
	case strings.HasPrefix(s, "0o") && len(s) > 2:
		return "0o"
	case len(s) > 1 && s[0] == '0' && strings.Trim(s, "01234567") == "":
		return "0"
	}
	return ""
}

// jsonText gives v as JSON without the escapes that only HTML needs.
func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
