package policy

import (
	"strings"
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

const exceptionText = `
exceptions:
- {object: Deployment.apps/shop/web, path: spec.replicas, owner: alice, reason: load test, until: 2026-11-30}
rules: [{name: rest, disposition: codify}]`

func TestExceptions(t *testing.T) {
	days := func(n int) Duration { return Duration(time.Duration(n) * 24 * time.Hour) }
	for name, c := range map[string]struct {
		now   time.Time
		path  string
		risk  detect.Risk
		edit  func(*detect.Finding)
		floor Floor
		want  string
		trace string
	}{
		"one that holds ignores":            {path: "spec.replicas", want: "ignore exception"},
		"one that ended does nothing":       {now: now.AddDate(0, 1, 0), path: "spec.replicas", want: "codify rest", trace: "exception (policy.yaml, exception 1): has ended: until 2026-11-30"},
		"its last day counts":               {now: time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC), path: "spec.replicas", want: "ignore exception"},
		"another field is not covered":      {path: "spec.paused", want: "codify rest"},
		"another object is not covered":     {path: "spec.replicas", edit: func(f *detect.Finding) { f.Object.Name = "api" }, want: "codify rest"},
		"another group is not covered":      {path: "spec.replicas", edit: func(f *detect.Finding) { f.Object.APIVersion = "example.com/v1" }, want: "codify rest"},
		"the floor may limit who excepts":   {path: "spec.replicas", floor: Floor{Exceptions: ExceptionFloor{Owners: []string{"bob", "team-*"}}}, want: "codify rest", trace: "the server's floor does not let alice own exceptions"},
		"an owner that the floor lets":      {path: "spec.replicas", floor: Floor{Exceptions: ExceptionFloor{Owners: []string{"al*"}}}, want: "ignore exception"},
		"one that the floor finds too long": {path: "spec.replicas", floor: Floor{Exceptions: ExceptionFloor{Longest: days(7)}}, want: "codify rest", trace: "later than the 7d from now"},
		"one that is short enough":          {path: "spec.replicas", floor: Floor{Exceptions: ExceptionFloor{Longest: days(30)}}, want: "ignore exception"},
		"the floor's least binds it":        {path: "spec.replicas", floor: Floor{Least: Least{Medium: detect.Revert}}, want: "revert exception", trace: "medium risk is at least revert, so ignore of exception became revert"},
		"the floor may let it pass":         {path: "spec.replicas", floor: Floor{Least: Least{Medium: detect.Revert}, Exceptions: ExceptionFloor{UpTo: detect.Medium}}, want: "ignore exception"},
		"up to a risk, and not beyond":      {path: "spec.replicas", risk: detect.High, floor: Floor{Least: Least{High: detect.Revert}, Exceptions: ExceptionFloor{UpTo: detect.Medium}}, want: "revert exception"},
	} {
		t.Run(name, func(t *testing.T) {
			finding := deployment()
			if c.edit != nil {
				c.edit(&finding)
			}
			f := field(t, c.path)
			if c.risk != 0 {
				f.Risk = c.risk
			}
			at := c.now
			if at.IsZero() {
				at = now
			}
			got := decode(t, exceptionText).Under(c.floor).Decide(Input{Finding: finding, Field: f, Now: at})
			if is := string(got.Disposition) + " " + RuleName(got.Rule); is != c.want {
				t.Errorf("got %s, want %s\n%s", is, c.want, strings.Join(got.Trace, "\n"))
			}
			if trace := strings.Join(got.Trace, "\n"); !strings.Contains(trace, c.trace) {
				t.Errorf("the trace lacks %q:\n%s", c.trace, trace)
			}
			if ignored := got.Disposition == detect.Ignore; ignored == got.Until.IsZero() {
				t.Errorf("until is %s of a decision to %s", got.Until, got.Disposition)
			}
		})
	}
}

func TestExceptionOfAWholeObject(t *testing.T) {
	p := decode(t, `exceptions: [{object: ClusterRole/debug-*, path: "**", owner: alice, reason: r, until: 2026-12-01T00:00:00Z}]`)
	stray := deployment()
	stray.Presence = detect.LiveOnly
	stray.Object = detect.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "debug-alice"}
	if got := p.Decide(Input{Finding: stray, Now: now}); got.Disposition != detect.Ignore {
		t.Errorf("got %s by %s", got.Disposition, got.Rule)
	}
	stray.Object.Kind, stray.Object.Namespace = "ClusterRole", "x"
	if got := p.Decide(Input{Finding: stray, Now: now}); got.Disposition == detect.Ignore {
		t.Error("a pattern of a cluster-scoped object covers a namespaced one")
	}
}

func TestFloor(t *testing.T) {
	strict := Floor{Least: Least{Low: detect.Codify, Medium: detect.Revert, High: detect.Revert, Critical: detect.AsIssue}}
	with := func(r detect.Risk, edits ...func(*detect.Field)) *detect.Field {
		f := field(t, "spec.replicas", edits...)
		f.Risk = r
		return f
	}
	for name, c := range map[string]struct {
		disposition   string
		field         *detect.Field
		engineRemoves bool
		want          detect.Disposition
	}{
		"ignore is raised":                                  {"ignore", with(detect.Low), false, detect.Codify},
		"codify is raised":                                  {"codify", with(detect.Medium), false, detect.Revert},
		"a stricter rule stays":                             {"issue", with(detect.Low), false, detect.AsIssue},
		"the same stays":                                    {"revert", with(detect.High), false, detect.Revert},
		"critical becomes an issue":                         {"revert", with(detect.Critical), false, detect.AsIssue},
		"a risk that was not assessed is held to critical":  {"revert", with(0), false, detect.AsIssue},
		"an addition that stays cannot be raised to revert": {"ignore", with(detect.Medium, added), false, detect.AsIssue},
		"an addition that the engine removes can":           {"ignore", with(detect.Medium, added), true, detect.Revert},
		"what is no drift is not raised":                    {"ignore", with(detect.Critical, func(f *detect.Field) { f.Drift, f.Cause = false, detect.CauseAdmission }), false, detect.Ignore},
		"what cannot be known is raised, drift or not":      {"ignore", with(detect.Critical, func(f *detect.Field) { f.Drift, f.Cause = false, detect.CauseUnknown }), false, detect.AsIssue},
	} {
		t.Run(name, func(t *testing.T) {
			p := decode(t, "rules: [{name: one, disposition: "+c.disposition+"}]").Under(strict)
			got := p.Decide(Input{Finding: deployment(), Field: c.field, EngineRemoves: c.engineRemoves, Now: now})
			if got.Disposition != c.want {
				t.Errorf("got %s, want %s: %s", got.Disposition, c.want, got.Trace)
			}
			raised := strings.Contains(strings.Join(got.Trace, "\n"), "floor of the server")
			if raised != (string(c.want) != c.disposition) {
				t.Errorf("the trace says raised: %t: %s", raised, got.Trace)
			}
		})
	}
}

func TestFloorsAddUpAndLeaveTheOriginalAlone(t *testing.T) {
	loose := decode(t, "rules: [{name: one, disposition: ignore}]")
	in := Input{Finding: deployment(), Field: field(t, "spec.replicas"), Now: now}
	once := loose.Under(Floor{Least: Least{Medium: detect.Codify}})
	twice := once.Under(Floor{Least: Least{Medium: detect.AsIssue}})
	for want, p := range map[detect.Disposition]*Policy{detect.Ignore: loose, detect.Codify: once, detect.AsIssue: twice} {
		if got := p.Decide(in).Disposition; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCodifyAllowedByName(t *testing.T) {
	role := deployment()
	role.Object = detect.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role", Namespace: "shop", Name: "web"}
	in := Input{Finding: role, Field: field(t, "rules"), Now: now}
	p := decode(t, "rules: [{name: one, disposition: codify}]")
	allowed := p.Under(Floor{Codify: CodifyFloor{Kinds: []string{"Role.rbac.authorization.k8s.io"}, Files: []string{"ci/jenkinsfile"}}})
	if got := allowed.Decide(in).Disposition; got != detect.Codify {
		t.Errorf("allowed by name: got %s", got)
	}
	if got := allowed.Under(Floor{}).Decide(in).Disposition; got != detect.AsIssue {
		t.Errorf("a second floor does not allow it: got %s", got)
	}
	if _, no := allowed.ForbidsFile("ci/jenkinsfile"); no {
		t.Error("a file that the floor names is forbidden")
	}
}

func TestForbidsFile(t *testing.T) {
	p := decode(t, "")
	for name, want := range map[string]bool{
		"apps/web/deployment.yaml": false, "kustomization.yaml": false, "docs/holdfast.yaml": false, "github/x.yaml": false,
		".holdfast.yaml": true, ".holdfast/policy": true, "a/.holdfast/reverts/x.md": true, "./.holdfast.yaml": true,
		"CODEOWNERS": true, "docs/CODEOWNERS": true, ".github/workflows/ci.yaml": true, ".gitlab-ci.yml": true,
		"sub/Jenkinsfile": true, ".sops.yaml": true, ".gitattributes": true, "policy.yaml": true,
	} {
		reason, got := p.ForbidsFile(name)
		if got != want || got != (reason != "") {
			t.Errorf("%s: forbidden %t (%s), want %t", name, got, reason, want)
		}
	}
}

func TestBindings(t *testing.T) {
	b := Bindings{
		{URL: "https://git.example.test/team/shop.git", Clusters: []string{"north", "eu-*"}, Namespaces: []string{"flux-system"}},
		{URL: "https://git.example.test/team/shop", Clusters: []string{"lab"}, Namespaces: []string{"*"}},
		{URL: "https://git.example.test/team/none"},
	}
	for name, c := range map[string]struct{ url, cluster, namespace, reason string }{
		"bound":                          {"https://git.example.test/team/shop", "north", "flux-system", ""},
		"bound by a pattern":             {"https://git.example.test/team/shop", "eu-1", "flux-system", ""},
		"over ssh it is the same":        {"ssh://git@git.example.test/team/shop.git", "north", "flux-system", ""},
		"in the short form of ssh too":   {"git@git.example.test:team/shop.git", "north", "flux-system", ""},
		"a second entry adds":            {"https://GIT.example.test:443/team/shop/", "lab", "default", ""},
		"plain http is not https":        {"http://git.example.test/team/shop", "north", "flux-system", "not bound: no repositories entry"},
		"another port is another server": {"https://git.example.test:8443/team/shop", "north", "flux-system", "not bound: no repositories entry"},
		"another repository":             {"https://alice:s3cret@git.example.test/team/other", "north", "flux-system", "has the url https://git.example.test/team/other"},
		"a path with dots":               {"https://git.example.test/other/../team/none", "north", "x", "does not bind"},
		"another cluster":                {"https://git.example.test/team/shop", "south", "flux-system", "does not bind https://git.example.test/team/shop to cluster south"},
		"another namespace":              {"https://git.example.test/team/shop", "north", "default", "but not to namespace default"},
		"an empty list allows nothing":   {"https://git.example.test/team/none", "north", "x", "does not bind"},
		"no URL":                         {"", "north", "x", "not bound"},
	} {
		t.Run(name, func(t *testing.T) {
			ok, reason := b.Allows(c.url, c.cluster, c.namespace)
			if ok != (c.reason == "") || !strings.Contains(reason, c.reason) {
				t.Errorf("got %t, %q; want reason %q", ok, reason, c.reason)
			}
			if strings.Contains(reason, "s3cret") {
				t.Error("the reason holds a password")
			}
		})
	}
}

func TestEngineRemoves(t *testing.T) {
	flux := gitops.Application{Engine: gitops.Flux, Kind: "Kustomization"}
	by := func(manager, operation, subresource string) *detect.Field {
		return field(t, "metadata.labels.x", added, func(f *detect.Field) {
			f.Writer = &detect.Writer{Manager: manager, Operation: operation, Subresource: subresource}
		})
	}
	for name, c := range map[string]struct {
		app   gitops.Application
		field *detect.Field
		want  bool
	}{
		"kubectl's addition under Flux":      {flux, by("kubectl-label", "Update", ""), true},
		"kubectl's server-side apply":        {flux, by("kubectl", "Apply", ""), true},
		"another manager's":                  {flux, by("node-fetch", "Update", ""), false},
		"kubectl's through a subresource":    {flux, by("kubectl", "Update", "scale"), false},
		"nobody's":                           {flux, field(t, "spec.x", added, func(f *detect.Field) { f.Writer = nil }), false},
		"what Git declares":                  {flux, field(t, "spec.replicas"), false},
		"a whole object":                     {flux, nil, false},
		"under a HelmRelease":                {gitops.Application{Engine: gitops.Flux, Kind: "HelmRelease"}, by("kubectl", "Update", ""), false},
		"under Argo CD":                      {gitops.Application{Engine: gitops.ArgoCD, Correction: gitops.Heals}, by("kubectl", "Update", ""), false},
		"under Argo CD that replaces":        {gitops.Application{Engine: gitops.ArgoCD, Correction: gitops.OnCommit, Options: []string{"Replace=true"}}, by("node-fetch", "Update", ""), true},
		"under Argo CD that a person syncs":  {gitops.Application{Engine: gitops.ArgoCD, Correction: gitops.ByHand, Options: []string{"Replace=true"}}, by("kubectl", "Update", ""), false},
		"under a suspended Kustomization":    {gitops.Application{Engine: gitops.Flux, Kind: "Kustomization", Suspended: true}, by("kubectl", "Update", ""), false},
		"left by an apply without ownership": {flux, by("before-first-apply", "Update", ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := EngineRemoves(c.app, deployment(), c.field); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

func TestEngineUndoes(t *testing.T) {
	flux := gitops.Application{Engine: gitops.Flux, Kind: "Kustomization"}
	declared := func(path string, git any, manager string) *detect.Field {
		return field(t, path, func(f *detect.Field) {
			f.Git, f.Writer = gitops.Present(git), &detect.Writer{Manager: manager, Operation: "Update"}
		})
	}
	for name, c := range map[string]struct {
		app   gitops.Application
		field *detect.Field
		why   string
	}{
		"a declared value":                       {flux, declared("spec.replicas", int64(3), "k9s"), ""},
		"an empty list, by a stranger":           {flux, declared("spec.ingress", []any{}, "k9s"), "Flux drops empty values"},
		"an empty list, by kubectl":              {flux, declared("spec.ingress", []any{}, "kubectl-edit"), ""},
		"an empty text, by a stranger":           {flux, declared("spec.containers[name=web].env[name=A].value", "", "k9s"), "Flux drops empty values"},
		"an empty label, which is kept":          {flux, declared("metadata.labels.x", "", "k9s"), ""},
		"an empty list under Argo CD":            {gitops.Application{Engine: gitops.ArgoCD}, declared("spec.ingress", []any{}, "k9s"), ""},
		"a stranger's addition under Flux":       {flux, field(t, "spec.x", added, func(f *detect.Field) { f.Writer = &detect.Writer{Manager: "k9s"} }), "--override-manager"},
		"an addition under Argo CD":              {gitops.Application{Engine: gitops.ArgoCD}, field(t, "spec.x", added), "Replace=true"},
		"an addition under a HelmRelease":        {gitops.Application{Engine: gitops.Flux, Kind: "HelmRelease"}, field(t, "spec.x", added), "an upgrade puts back"},
		"an addition that no engine looks after": {gitops.Application{Engine: gitops.None}, field(t, "spec.x", added), "no engine removes it"},
	} {
		t.Run(name, func(t *testing.T) {
			ok, why := EngineUndoes(c.app, deployment(), c.field)
			if ok != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("got %t %q, want %q", ok, why, c.why)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s: got %s, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "0d", "-1d", "90", "d", "9999999999d", "soon"} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: no error, got %s", text, d)
		}
	}
}
