package policy

import (
	"testing"

	"holdfast/detect"
	"holdfast/gitops"
)

func TestHowFarACodifyReaches(t *testing.T) {
	for name, c := range map[string]struct {
		rule  string
		floor Floor
		want  detect.Grant
	}{
		"a rule that says nothing":                       {"disposition: codify", Floor{}, detect.Grant{}},
		"a rule that keeps it in the overlay":            {"disposition: codify, scope: overlay", Floor{}, detect.Grant{Scope: gitops.ScopeOverlay}},
		"a rule that goes to the base":                   {"disposition: codify, scope: base", Floor{}, detect.Grant{Scope: gitops.ScopeBase}},
		"a floor of overlay holds a rule that says base": {"disposition: codify, scope: base", Floor{Codify: CodifyFloor{Scope: gitops.ScopeOverlay}}, detect.Grant{Scope: gitops.ScopeOverlay}},
		"a floor of overlay holds one that says nothing": {"disposition: codify", Floor{Codify: CodifyFloor{Scope: gitops.ScopeOverlay}}, detect.Grant{Scope: gitops.ScopeOverlay}},
		"a floor of auto takes base and wide away":       {"disposition: codify, scope: base, wide: true", Floor{Codify: CodifyFloor{Scope: gitops.ScopeAuto}}, detect.Grant{Scope: gitops.ScopeAuto}},
		"a floor of base leaves wide":                    {"disposition: codify, wide: true", Floor{Codify: CodifyFloor{Scope: gitops.ScopeBase}}, detect.Grant{AllowWide: true}},
		"a floor binds what is answered otherwise, too":  {"disposition: issue", Floor{Codify: CodifyFloor{Scope: gitops.ScopeOverlay}}, detect.Grant{Scope: gitops.ScopeOverlay}},
	} {
		t.Run(name, func(t *testing.T) {
			got := decode(t, "rules: [{name: rest, "+c.rule+"}]").Under(c.floor).Decide(Input{Finding: deployment(), Field: field(t, "spec.replicas"), Now: now})
			if got.Grant != c.want {
				t.Errorf("got %+v, want %+v", got.Grant, c.want)
			}
		})
	}
}
