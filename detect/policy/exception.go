package policy

import (
	"fmt"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops/glob"
	"holdfast/gitops/strictyaml"
)

// Exception ignores a drift for a time. It does nothing but ignore, and nothing once it has ended.
type Exception struct {
	// Object is Kind.group/namespace/name, or Kind.group/name of a cluster-scoped object; without a
	// group, any. * and ? stand for any characters and any one.
	Object string `json:"object"`
	// Cluster narrows the exception; default: every cluster.
	Cluster []string `json:"cluster,omitempty"`
	// Path is a pattern as in a rule; ** covers every field and the object as a whole.
	Path string `json:"path"`
	// Owner is who answers for the exception.
	Owner  string `json:"owner"`
	Reason string `json:"reason"`
	// Until is a date, the whole of which still counts (UTC), or a time, both as RFC 3339 writes them.
	Until string `json:"until"`

	line    int
	file    string
	index   int
	kind    string
	names   string // namespace/name, or name
	path    pathGlob
	expires time.Time
	// command is set for an exception that a command made, and label names it.
	command *Commanded
	label   string
}

// SetLine keeps where the exception stands.
func (e *Exception) SetLine(line int) { e.line = line }

// check parses what is written.
func (e *Exception) check(file string) (errs []error) {
	fail := func(format string, args ...any) {
		errs = append(errs, strictyaml.Errorf(file, e.line, "exception %d: "+format, append([]any{e.index}, args...)...))
	}
	var ok bool
	e.kind, e.names, ok = strings.Cut(e.Object, "/")
	if !ok || e.kind == "" || e.names == "" || strings.Count(e.names, "/") > 1 {
		fail("object: %q: want Kind.group/namespace/name, or Kind.group/name of a cluster-scoped object", e.Object)
	}
	var err error
	if e.path, err = parsePathGlob(e.Path); err != nil {
		fail("%v", err)
	}
	if strings.TrimSpace(e.Owner) == "" {
		fail("owner: is empty; name who answers for the exception")
	}
	if strings.TrimSpace(e.Reason) == "" {
		fail("reason: is empty; say why the drift may stay")
	}
	if e.expires, err = parseUntil(e.Until); err != nil {
		fail("until: %v", err)
	}
	return errs
}

// parseUntil gives the first moment at which an exception has ended.
func parseUntil(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q: want a date such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z", text)
	}
	return moment, nil
}

// String names the exception, its file and its place.
func (e *Exception) String() string {
	if e.command != nil {
		return e.label
	}
	return fmt.Sprintf("exception (%s, exception %d)", e.file, e.index)
}

// covers says whether the exception is about the subject at all.
func (e *Exception) covers(s subject) bool {
	if e.command != nil {
		return e.command.about(s)
	}
	id := s.in.Finding.Object.ID()
	name := id.Name
	if id.Namespace != "" {
		name = id.Namespace + "/" + id.Name
	}
	// The number of slashes tells namespaced from cluster-scoped: * must not cross them.
	return anyKind([]string{e.kind}, id.GroupKind()) &&
		strings.Count(e.names, "/") == strings.Count(name, "/") && globParts(e.names, name) &&
		(e.Cluster == nil || anyGlob(e.Cluster, s.in.Finding.Cluster)) &&
		e.path.matches(s.field.Path)
}

func globParts(pattern, name string) bool {
	p1, p2, _ := strings.Cut(pattern, "/")
	n1, n2, _ := strings.Cut(name, "/")
	return glob.Match(p1, n1) && glob.Match(p2, n2)
}

// refusal says why an exception that covers the subject does not hold, or "".
func (e *Exception) refusal(s subject, floors []Floor) string {
	if !s.in.Now.Before(e.expires) {
		return "has ended: until " + e.Until
	}
	for _, f := range floors {
		if why := f.refusesException(e, s); why != "" {
			return why
		}
	}
	return ""
}

// decision is what a holding exception gives.
func (e *Exception) decision(trace []string) detect.Decision {
	return detect.Decision{Disposition: detect.Ignore, Rule: e.String(), Trace: trace, Until: e.expires}
}
