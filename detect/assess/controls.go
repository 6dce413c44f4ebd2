package assess

import (
	"fmt"
	"slices"

	"holdfast/detect"
)

// primary is the most controls that a finding shows.
const primary = 5

// defaultStandards are used when none is chosen.
func defaultStandards() []string {
	return []string{"nist-800-53r5", "soc2-tsc2017", "pci-dss-4.0.1", "iso27001-2022"}
}

// Standards lists the standards that can be chosen, sorted.
func (a *Assessor) Standards() []string {
	var out []string
	for id := range a.catalog {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// Controls gives the primary controls that a drift of this class and category bears on, at most five: the
// class's own first, each standard in turn, then those of the category. Standards are ids of the
// catalogue; nil means NIST SP 800-53, SOC 2, PCI DSS and ISO 27001. A standard that the catalogue does
// not know gives none.
func (a *Assessor) Controls(class string, category Category, standards []string) []detect.Control {
	if len(standards) == 0 {
		standards = defaultStandards()
	}
	all := a.AllControls(class, category, standards)
	return all[:min(primary, len(all))]
}

// AllControls is Controls without the limit, for the machine-readable record.
func (a *Assessor) AllControls(class string, category Category, standards []string) []detect.Control {
	if class == switchClass {
		category = Suspended
	}
	var lists []map[string][]string
	if c := a.classes[class]; c != nil {
		lists = append(lists, c.withTopics(a))
	}
	if c := a.categories[category]; c != nil {
		lists = append(lists, c.Controls)
	}
	var out []detect.Control
	for _, list := range lists {
		out = a.inTurn(out, list, standards)
	}
	return out
}

// inTurn appends the first control of each standard, then the second of each, and so on.
func (a *Assessor) inTurn(out []detect.Control, list map[string][]string, standards []string) []detect.Control {
	for i, more := 0, true; more; i++ {
		more = false
		for _, id := range standards {
			s := a.catalog[id]
			if s == nil {
				continue
			}
			ids := s.of(list)
			if i >= len(ids) {
				continue
			}
			more = true
			c := detect.Control{Standard: id, ID: ids[i], Title: s.titles[ids[i]]}
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// of gives the controls of a list that belong to the standard. One that shares another's identifiers keeps
// those that are in its own subset.
func (s *standard) of(list map[string][]string) []string {
	if s.Of == "" {
		return list[s.ID]
	}
	var out []string
	for _, id := range list[s.Of] {
		if _, ok := s.titles[id]; ok {
			out = append(out, id)
		}
	}
	return out
}

// withTopics adds the numbers that each flavour of the CIS benchmarks gives the class's topics.
func (c *class) withTopics(a *Assessor) map[string][]string {
	out := map[string][]string{}
	for standard, ids := range c.Controls {
		out[standard] = ids
	}
	for _, name := range c.Topics {
		for flavour, id := range a.topics[name].IDs {
			out[flavour] = append(slices.Clip(out[flavour]), id)
		}
	}
	return out
}

// addStandards builds the catalogue and checks that every control referred to is in it.
func (a *Assessor) addStandards(list []*standard, topics []topic) error {
	for _, s := range list {
		s.titles = map[string]string{}
		for _, c := range s.Controls {
			s.titles[c.ID] = c.Title
		}
		a.catalog[s.ID] = s
	}
	for _, s := range list {
		for id, title := range s.titles {
			if parent := a.catalog[s.Of]; title == "" && parent != nil {
				s.titles[id] = parent.titles[id]
			}
			if s.titles[id] == "" {
				return fmt.Errorf("standard %s: control %s has no title", s.ID, id)
			}
		}
	}
	for _, t := range topics {
		a.topics[t.Topic] = t
		for flavour, id := range t.IDs {
			if err := a.known("topic "+t.Topic, map[string][]string{flavour: {id}}); err != nil {
				return err
			}
		}
	}
	for id, c := range a.classes {
		if err := a.known("class "+id, c.Controls); err != nil {
			return err
		}
		for _, name := range c.Topics {
			if _, ok := a.topics[name]; !ok {
				return fmt.Errorf("class %s: CIS topic %s is not in the catalogue", id, name)
			}
		}
	}
	for id, c := range a.categories {
		if err := a.known("category "+string(id), c.Controls); err != nil {
			return err
		}
	}
	return nil
}

func (a *Assessor) known(whose string, list map[string][]string) error {
	for standard, ids := range list {
		s := a.catalog[standard]
		if s == nil {
			return fmt.Errorf("%s: standard %q is not in the catalogue", whose, standard)
		}
		for _, id := range ids {
			if s.titles[id] == "" {
				return fmt.Errorf("%s: %s %s is not in the catalogue", whose, standard, id)
			}
		}
	}
	return nil
}
