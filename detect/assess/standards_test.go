package assess

import (
	"embed"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/standards/*.tsv
var standardFiles embed.FS

// publishedRows reads one of the standards' own catalogues of identifiers. Each file names its source.
func publishedRows(t *testing.T, name string) [][]string {
	t.Helper()
	data, err := standardFiles.ReadFile("testdata/standards/" + name + ".tsv")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), "# ") || !strings.Contains(string(data), "https://") {
		t.Fatalf("%s: the file names no source", name)
	}
	var out [][]string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, strings.Split(line, "\t"))
		}
	}
	return out
}

// published gives the identifiers of a standard with their titles, where the file has titles; CIS flavours with their version are
// standards of their own, and FedRAMP's are the controls of its baseline.
func published(t *testing.T, standard string) map[string]string {
	t.Helper()
	out := map[string]string{}
	switch {
	case strings.HasPrefix(standard, "cis-"):
		for _, r := range publishedRows(t, "cis-kubernetes") {
			if r[0] == standard {
				out[r[1]] = ""
			}
		}
	case strings.HasPrefix(standard, "fedramp-"):
		for _, r := range publishedRows(t, "nist-800-53r5") {
			if slices.Contains(r[2:], strings.TrimPrefix(standard, "fedramp-")) {
				out[r[0]] = r[1]
			}
		}
	default:
		for _, r := range publishedRows(t, standard) {
			out[r[0]] = ""
			if len(r) > 1 {
				out[r[0]] = r[1]
			}
		}
	}
	return out
}

// Identifiers that are referred to are held against what the standards' publishers list, whatever the project's own
// catalogue says.
func TestEveryIdentifierIsOneOfItsStandard(t *testing.T) {
	a := newAssessor(t)
	ownTitles := []string{"pci-dss-4.0.1", "soc2-tsc2017", "nist-csf-2.0"} // theirs are not ours to print, or are sentences
	for _, standard := range a.Standards() {
		known := published(t, standard)
		if len(known) < 20 {
			t.Errorf("%s: only %d identifiers in testdata", standard, len(known))
		}
		for id, title := range a.catalog[standard].titles {
			want, ok := known[id]
			if !ok {
				t.Errorf("%s %s: the standard has no such identifier", standard, id)
			}
			if !slices.Contains(ownTitles, standard) && want != "" && want != title {
				t.Errorf("%s %s is called %q, the standard calls it %q", standard, id, title, want)
			}
		}
	}
}

func TestFedRAMPHoldsWhatItsBaselineHolds(t *testing.T) {
	a := newAssessor(t)
	for _, standard := range []string{"fedramp-moderate", "fedramp-high"} {
		baseline := published(t, standard)
		for id := range a.catalog["nist-800-53r5"].titles {
			_, inBaseline := baseline[id]
			_, mapped := a.catalog[standard].titles[id]
			if inBaseline != mapped {
				t.Errorf("%s %s: in the baseline %t, in the catalogue %t", standard, id, inBaseline, mapped)
			}
		}
	}
	if _, ok := published(t, "fedramp-moderate")["CM-6(2)"]; ok {
		t.Error("CM-6(2) is in the moderate baseline: the test's own data are wrong")
	}
}

func TestACISNumberComesWithFlavourAndVersion(t *testing.T) {
	a := newAssessor(t)
	for _, id := range a.Standards() {
		if info, _ := a.Standard(id); strings.HasPrefix(id, "cis-") && !strings.HasSuffix(id, "-"+info.Version) {
			t.Errorf("%s: its name does not end with its version %s", id, info.Version)
		}
	}
	for _, c := range []struct{ flavour, number string }{
		{"cis-k8s-2.0.1", "5.1.3"}, {"cis-eks-1.8.0", "4.1.3"}, {"cis-gke-1.9.0", "4.1.3"}, {"cis-aks-1.8", "4.1.3"}, {"cis-ocp-1.8", "5.1.3"},
	} {
		if got := a.topics["rbac_wildcards"].IDs[c.flavour]; got != c.number {
			t.Errorf("wildcards in %s: %q, want %s", c.flavour, got, c.number)
		}
	}
}

func TestExpectations(t *testing.T) {
	a := newAssessor(t)
	within := func(standard, control string) time.Duration {
		e, _ := a.Expectation(standard)
		for _, d := range e.Detection {
			for _, c := range d.Controls {
				if c.ID == control {
					return d.Within
				}
			}
		}
		t.Errorf("%s expects nothing by %s", standard, control)
		return 0
	}
	for _, c := range []struct {
		name      string
		got, want time.Duration
	}{
		{"FedRAMP gives unapproved components five minutes", within("fedramp-high", "CM-8(3)"), 5 * time.Minute},
		{"NIST leaves the same to the organisation", within("nist-800-53r5", "CM-8(3)"), 0},
		{"PCI DSS compares critical files weekly", within("pci-dss-4.0.1", "11.5.2"), 7 * 24 * time.Hour},
		{"SOC 2 has no figure", within("soc2-tsc2017", "CC7.1"), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
	days := map[string]int{"pci-dss-4.0.1": 365, "hipaa-security-rule": 2192, "nist-800-53r5": 0, "iso27001-2022": 0, "cis-k8s-2.0.1": 30}
	for standard, want := range days {
		if e, _ := a.Expectation(standard); e.Retention.Days != want {
			t.Errorf("%s keeps records %d days, want %d", standard, e.Retention.Days, want)
		}
	}
}

func TestMappingNamesWhatRefersToAControl(t *testing.T) {
	a := newAssessor(t)
	for _, m := range a.Mapping("pci-dss-4.0.1") {
		if m.ID == "10.5.1" && !slices.Equal(m.Expects, []string{"retention of records"}) {
			t.Errorf("10.5.1 stands for %v", m.Expects)
		}
		if m.ID == "7.2.1" && !slices.Contains(m.Classes, "rbac") {
			t.Errorf("7.2.1 bears on %v, want rbac among them", m.Classes)
		}
		if len(m.Classes)+len(m.Categories)+len(m.Expects) == 0 {
			t.Errorf("%s is listed, and nothing refers to it", m.ID)
		}
	}
	if a.Mapping("iso-9001") != nil {
		t.Error("a standard that nobody knows has a mapping")
	}
}
