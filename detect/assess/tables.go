package assess

import (
	"embed"
	"fmt"

	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/gitops"
)

//go:embed tables/*.yaml
var tableFiles embed.FS

// class is a class of resources and fields that weigh alike.
type class struct {
	ID string `json:"id"`
	// Why says in one sentence why it matters.
	Why  string                 `json:"why"`
	Risk map[Category]levelName `json:"risk"`
	// Controls by standard, primary first.
	Controls map[string][]string `json:"controls,omitempty"`
	// Topics are subjects of the CIS benchmarks, which number them differently in each flavour.
	Topics []string `json:"topics,omitempty"`

	risk map[Category]detect.Risk
}

type levelName string

// match is one row that puts a field, or without fields a whole object, into a class. Rows are tried in
// order. In the table of sensitive fields the class is empty.
type match struct {
	Class   string  `json:"class,omitempty"`
	Objects []kinds `json:"objects,omitempty"`
	// Fields are patterns from the object's root; Pod are patterns from the pod spec of any workload.
	Fields []string `json:"fields,omitempty"`
	Pod    []string `json:"pod,omitempty"`
	// Holds limits the row to values that are mappings with this key.
	Holds string `json:"holds,omitempty"`

	fields, pod []gitops.Pattern
}

// kinds names kinds of one API group; * is a wildcard in group and names.
type kinds struct {
	Group      string   `json:"group"`
	Kinds      []string `json:"kinds,omitempty"`
	Names      []string `json:"names,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
}

// standard is a catalogue of controls: the identifiers that this project refers to, with a short title.
type standard struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Licence string `json:"licence"`
	Source  string `json:"source"`
	// Of names the standard whose titles this one shares; Controls then only lists the subset.
	Of       string    `json:"of,omitempty"`
	Controls []control `json:"controls"`

	titles map[string]string
}

type control struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
}

// topic is one subject of the CIS benchmarks and its number in each flavour and version.
type topic struct {
	Topic string            `json:"topic"`
	IDs   map[string]string `json:"ids"`
}

type tables struct {
	Classes    []*class               `json:"classes,omitempty"`
	Matches    []match                `json:"matches,omitempty"`
	Sensitive  []match                `json:"sensitive,omitempty"`
	Weighty    []match                `json:"weighty,omitempty"`
	Standards  []*standard            `json:"standards,omitempty"`
	Topics     []topic                `json:"topics,omitempty"`
	Categories map[Category]*controls `json:"categories,omitempty"`

	Expectations []expectation `json:"expectations,omitempty"`
}

type controls struct {
	Controls map[string][]string `json:"controls"`
}

func (a *Assessor) load() error {
	var all tables
	entries, err := tableFiles.ReadDir("tables")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		data, err := tableFiles.ReadFile("tables/" + entry.Name())
		if err != nil {
			return err
		}
		var t tables
		if err := yaml.UnmarshalStrict(data, &t); err != nil {
			return fmt.Errorf("tables/%s: %w", entry.Name(), err)
		}
		all.Classes = append(all.Classes, t.Classes...)
		all.Matches = append(all.Matches, t.Matches...)
		all.Sensitive = append(all.Sensitive, t.Sensitive...)
		all.Weighty = append(all.Weighty, t.Weighty...)
		all.Standards = append(all.Standards, t.Standards...)
		all.Topics = append(all.Topics, t.Topics...)
		all.Expectations = append(all.Expectations, t.Expectations...)
		if t.Categories != nil {
			all.Categories = t.Categories
		}
	}
	a.categories = all.Categories
	if err := a.addClasses(all.Classes); err != nil {
		return err
	}
	if a.matches, err = a.addMatches(all.Matches, true); err != nil {
		return err
	}
	if a.weighty, err = a.addMatches(all.Weighty, false); err != nil {
		return err
	}
	if a.sensitive, err = a.addMatches(all.Sensitive, false); err != nil {
		return err
	}
	if err := a.addStandards(all.Standards, all.Topics); err != nil {
		return err
	}
	return a.addExpectations(all.Expectations)
}

func (a *Assessor) addClasses(list []*class) error {
	for _, c := range list {
		if a.classes[c.ID] != nil {
			return fmt.Errorf("class %s is there twice", c.ID)
		}
		c.risk = map[Category]detect.Risk{}
		for _, category := range []Category{ValueChanged, FieldAdded, FieldRemoved, Missing, Unmanaged, Orphaned} {
			var level detect.Risk
			if err := level.UnmarshalText([]byte(c.Risk[category])); err != nil {
				return fmt.Errorf("class %s, %s: %w", c.ID, category, err)
			}
			c.risk[category] = level
		}
		a.classes[c.ID] = c
	}
	return nil
}

func (a *Assessor) addMatches(list []match, needClass bool) ([]match, error) {
	var err error
	for i := range list {
		m := &list[i]
		if needClass && a.classes[m.Class] == nil {
			return nil, fmt.Errorf("a match names the class %q, which does not exist", m.Class)
		}
		if m.fields, err = patterns(m.Fields); err != nil {
			return nil, err
		}
		if m.pod, err = patterns(m.Pod); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func patterns(texts []string) ([]gitops.Pattern, error) {
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
