package classify

import (
	"embed"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/gitops"
)

//go:embed rules/*.yaml
var ruleFiles embed.FS

// Rules is what is known of writers: the mutators that change objects by design, the field managers by the
// kind of actor behind them, and the fields that an API server refuses to change.
type Rules struct {
	mutators  []*Mutator
	byKind    map[string][]*Mutator // by kind; "" holds those for any kind
	named     map[string]actor      // managers by their exact name
	managers  []manager             // those with a wildcard
	immutable []immutable
	growing   []immutable       // quantities that only grow
	switches  map[string]Switch // by key
	children  []child
	installed []installation
}

// Mutator is one known legitimate writer: what it writes, how its entry in managedFields looks, and the
// shape and precondition without which the name alone proves nothing.
type Mutator struct {
	ID        string       `json:"id"`
	Component string       `json:"component"`
	Cause     detect.Cause `json:"cause"`
	// Drift marks what is named but not excused: a person's action through a tool.
	Drift bool `json:"drift,omitempty"`
	// Objects are the kinds that it writes; none means any.
	Objects []kinds  `json:"objects,omitempty"`
	Fields  []string `json:"fields"`
	// Writers are field managers (* is a wildcard), or one of the words engine (a manager of this
	// Application), nobody (the field has no owner), tool (a person, a pipeline or a name that nobody
	// knows), stranger (a name that nobody knows), controller (a manager that is known as a controller's) and anyone.
	Writers []string `json:"writers"`
	// Sensitive lets the rule excuse sensitive fields: its shape and precondition are strict enough.
	Sensitive bool       `json:"sensitive,omitempty"`
	When      conditions `json:"when,omitempty"`
	Shape     shape      `json:"shape,omitempty"`
	// Reason is the sentence that a reader of the finding gets.
	Reason string   `json:"reason"`
	Source []string `json:"source"`

	patterns []gitops.Pattern
}

// kinds names kinds of one API group. An empty kind list means all kinds of the group.
type kinds struct {
	Group string   `json:"group"`
	Kinds []string `json:"kinds,omitempty"`
	// Names limits to objects with one of these names (* is a wildcard).
	Names []string `json:"names,omitempty"`
}

func (k kinds) match(id gitops.ObjectID) bool {
	return gitops.Glob(k.Group, id.Group) && anyGlob(k.Kinds, id.Kind) && anyGlob(k.Names, id.Name)
}

// conditions must all hold. Marks are labels or annotations: key, or key=value, with * as a wildcard.
type conditions struct {
	// GitMark: the declared object carries one of these marks. LiveMark: the live one does.
	GitMark  []string `json:"gitMark,omitempty"`
	LiveMark []string `json:"liveMark,omitempty"`
	// NotInGit: Git does not declare the field. InGit: Git declares one of these fields.
	NotInGit bool     `json:"notInGit,omitempty"`
	InGit    []string `json:"inGit,omitempty"`
	// Live: the live object has one of these fields.
	Live []string `json:"live,omitempty"`
	// Owner: an owner reference of the live object has one of these kinds.
	Owner []kinds `json:"owner,omitempty"`
	// Check names a condition that only code can test; see checks.go.
	Check string `json:"check,omitempty"`

	inGit, live []gitops.Path
}

// shape is what the values must look like. Empty parts do not matter.
type shape struct {
	// Git and Live list the allowed values.
	Git  []any `json:"git,omitempty"`
	Live []any `json:"live,omitempty"`
	// Text is a regular expression that the whole live text must match.
	Text string `json:"text,omitempty"`
	// Adds: the value is a list that only gained entries, all of them from these.
	Adds []any `json:"adds,omitempty"`
	// Certificates: the live text is base64 of PEM certificates and nothing else.
	Certificates bool `json:"certificates,omitempty"`
	// JSON: the live text is a JSON object with these keys.
	JSON []string `json:"json,omitempty"`

	text *regexp.Regexp
}

// manager says who stands behind a field manager's name. A name is a hint: the client chooses it.
type manager struct {
	Name   string   `json:"name"`
	Actor  actor    `json:"actor"`
	What   string   `json:"what"`
	Source []string `json:"source,omitempty"`
}

// actor is the kind of actor behind a name.
type actor string

const (
	actorTool        actor = "tool"        // a person, or a pipeline in a person's place
	actorEngine      actor = "engine"      // a GitOps engine
	actorController  actor = "controller"  // a controller of the cluster or an operator
	actorBookkeeping actor = "bookkeeping" // the API server's own entries: folded or converted ownership
	actorUnknown     actor = ""            // no entry: treated as a tool where a field is declared
)

// immutable lists fields that the API server refuses to change once they are set.
type immutable struct {
	Objects []kinds  `json:"objects"`
	Fields  []string `json:"fields"`
	// Except are fields below them that can be changed.
	Except []string `json:"except,omitempty"`
	Source []string `json:"source"`

	fields, except []gitops.Pattern
}

func (i *immutable) compile() (err error) {
	if i.fields, err = parsePatterns(i.Fields); err != nil {
		return err
	}
	i.except, err = parsePatterns(i.Except)
	return err
}

// Switch is a mark on a live object that turns off its correction by an engine.
type Switch struct {
	Key string `json:"key"`
	// Engine is the engine that honours it; to any other it is a mark like others.
	Engine gitops.Engine `json:"engine"`
	// Stops: the engine corrects nothing of the object. Else the mark takes something less away.
	Stops bool `json:"stops,omitempty"`
	// Keeps: an object with the mark is no difference to the engine once Git does not declare it any more.
	Keeps bool `json:"keeps,omitempty"`
	// Values turn it on, but for those of Except; upper and lower case are the same. A * matches any value.
	Values []string `json:"values"`
	Except []string `json:"except,omitempty"`
	// Labels: the engine honours it as a label too.
	Labels bool     `json:"labels,omitempty"`
	What   string   `json:"what"`
	Source []string `json:"source"`
}

// child is a live-only object that a controller makes, told without an owner reference.
type child struct {
	Objects []kinds  `json:"objects"`
	Marks   []string `json:"marks,omitempty"`
	// What opens access is excused only where more confirms the rule. NamedBy is a label that names an object of one of
	// the kinds Of, which must be there. Writers are the field managers; Services and Namespaces are the Services that
	// webhooks ask, and where these usually stand.
	NamedBy    string   `json:"namedBy,omitempty"`
	Of         []kinds  `json:"of,omitempty"`
	Writers    []string `json:"writers,omitempty"`
	Services   []string `json:"services,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Reason     string   `json:"reason"`
	Source     []string `json:"source"`
}

// ruleFile is the form of the files in rules/; each file may hold any part.
type ruleFile struct {
	Mutators  []*Mutator     `json:"mutators,omitempty"`
	Managers  []manager      `json:"managers,omitempty"`
	Immutable []immutable    `json:"immutable,omitempty"`
	Growing   []immutable    `json:"growing,omitempty"`
	Switches  []Switch       `json:"switches,omitempty"`
	Children  []child        `json:"children,omitempty"`
	Installed []installation `json:"installed,omitempty"`
}

// LoadRules reads the embedded rules. It fails on an unknown key, a pattern that does not parse, a check
// that does not exist or an id used twice, naming file and rule.
func LoadRules() (*Rules, error) {
	rules := newRules()
	entries, err := ruleFiles.ReadDir("rules")
	if err != nil {
		return nil, fmt.Errorf("read the embedded rules: %w", err)
	}
	for _, entry := range entries {
		data, err := ruleFiles.ReadFile("rules/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the embedded rules: %w", err)
		}
		if err := rules.add(data); err != nil {
			return nil, fmt.Errorf("rules/%s: %w", entry.Name(), err)
		}
	}
	return rules, nil
}

func newRules() *Rules {
	return &Rules{byKind: map[string][]*Mutator{}, named: map[string]actor{}, switches: map[string]Switch{}}
}

func (r *Rules) add(data []byte) error {
	var file ruleFile
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return err
	}
	for _, m := range file.Mutators {
		if err := m.compile(); err != nil {
			return fmt.Errorf("mutator %s: %w", m.ID, err)
		}
		for _, other := range r.mutators {
			if other.ID == m.ID {
				return fmt.Errorf("mutator %s: the id is used twice", m.ID)
			}
		}
		r.mutators = append(r.mutators, m)
		r.index(m)
	}
	for _, list := range [][]immutable{file.Immutable, file.Growing} {
		for i := range list {
			if err := list[i].compile(); err != nil {
				return err
			}
		}
	}
	for _, m := range file.Managers {
		switch m.Actor {
		case actorTool, actorEngine, actorController, actorBookkeeping:
		default:
			return fmt.Errorf("manager %s: actor %q: want tool, engine, controller or bookkeeping", m.Name, m.Actor)
		}
		if strings.Contains(m.Name, "*") {
			r.managers = append(r.managers, m)
		} else {
			r.named[m.Name] = m.Actor
		}
	}
	for _, sw := range file.Switches {
		if sw.Engine != gitops.Flux && sw.Engine != gitops.ArgoCD {
			return fmt.Errorf("switch %s: engine %q: want flux or argocd", sw.Key, sw.Engine)
		}
		r.switches[sw.Key] = sw
	}
	r.immutable = append(r.immutable, file.Immutable...)
	r.growing = append(r.growing, file.Growing...)
	r.children = append(r.children, file.Children...)
	for _, row := range file.Installed {
		if err := row.check(); err != nil {
			return err
		}
	}
	r.installed = append(r.installed, file.Installed...)
	return nil
}

// index files the mutator under each kind that it names, so that one object is tested against few rules.
func (r *Rules) index(m *Mutator) {
	if len(m.Objects) == 0 {
		r.byKind[""] = append(r.byKind[""], m)
		return
	}
	filed := map[string]bool{}
	for _, k := range m.Objects {
		names := k.Kinds
		if len(names) == 0 {
			names = []string{""}
		}
		for _, name := range names {
			if !filed[name] {
				filed[name] = true
				r.byKind[name] = append(r.byKind[name], m)
			}
		}
	}
}

func (m *Mutator) compile() error {
	var err error
	if m.ID == "" || m.Reason == "" || len(m.Source) == 0 || len(m.Writers) == 0 || len(m.Fields) == 0 {
		return fmt.Errorf("id, reason, source, writers and fields are required")
	}
	switch m.Cause {
	case detect.CauseController, detect.CauseAdmission, detect.CauseAutoscaler, detect.CauseAPI, detect.CauseManual:
	default:
		return fmt.Errorf("cause %q: want controller, admission, autoscaler, api or manual", m.Cause)
	}
	if m.patterns, err = parsePatterns(m.Fields); err != nil {
		return err
	}
	if m.When.inGit, err = parsePaths(m.When.InGit); err != nil {
		return err
	}
	if m.When.live, err = parsePaths(m.When.Live); err != nil {
		return err
	}
	if m.When.Check != "" && checkNamed(m.When.Check) == nil {
		return fmt.Errorf("check %q does not exist", m.When.Check)
	}
	if m.Shape.Text != "" {
		if m.Shape.text, err = regexp.Compile("^(?:" + m.Shape.Text + ")$"); err != nil {
			return err
		}
	}
	return nil
}

func parsePatterns(texts []string) ([]gitops.Pattern, error) {
	var out []gitops.Pattern
	for _, text := range texts {
		p, err := gitops.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func parsePaths(texts []string) ([]gitops.Path, error) {
	var out []gitops.Path
	for _, text := range texts {
		p, err := gitops.ParsePath(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// who gives the actor behind a field manager's name. An exact name goes before a wildcard.
func (r *Rules) who(name string) actor {
	if a, ok := r.named[name]; ok {
		return a
	}
	for _, m := range r.managers {
		if gitops.Glob(m.Name, name) {
			return m.Actor
		}
	}
	return actorUnknown
}

// IsEngine says whether a field manager's name is that of a GitOps engine.
func (r *Rules) IsEngine(name string) bool { return r.who(name) == actorEngine }

// isImmutable says whether the API server refuses to change the field of an existing object.
func (r *Rules) isImmutable(live gitops.Object, path gitops.Path) bool {
	for _, entry := range r.immutable {
		if anyKind(entry.Objects, live.ID) && covered(entry.fields, path, live.Content) &&
			!covered(entry.except, path, live.Content) {
			return true
		}
	}
	return gitops.Lookup(live.Content, gitops.Path{gitops.Field("immutable")}).V == true &&
		len(path) > 0 && (path[0].Field == "data" || path[0].Field == "binaryData" || path[0].Field == "stringData")
}

func covered(patterns []gitops.Pattern, path gitops.Path, root any) bool {
	for _, p := range patterns {
		if p.Covers(path, root) {
			return true
		}
	}
	return false
}

func anyKind(list []kinds, id gitops.ObjectID) bool {
	for _, k := range list {
		if k.match(id) {
			return true
		}
	}
	return len(list) == 0
}

func anyGlob(patterns []string, text string) bool {
	for _, p := range patterns {
		if gitops.Glob(p, text) {
			return true
		}
	}
	return len(patterns) == 0
}

// marked says whether one of the marks (key or key=value) is among labels or annotations.
func marked(marks []string, object gitops.Object) bool {
	labels, annotations := object.Labels(), object.Annotations()
	for _, mark := range marks {
		key, want, hasValue := strings.Cut(mark, "=")
		for _, set := range []map[string]string{annotations, labels} {
			for k, v := range set {
				if gitops.Glob(key, k) && (!hasValue || gitops.Glob(want, v)) {
					return true
				}
			}
		}
	}
	return false
}
