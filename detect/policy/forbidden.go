package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
)

// forbiddenKind is a kind that codify does not write, or some of its fields.
type forbiddenKind struct {
	kind string
	// paths are the fields; none is the whole kind. Adding and removing the object counts as both.
	paths []string
	why   string
}

// forbiddenKinds are what decides who may do what, and where declared state comes from: a live change of
// these that became declared would widen itself. Design, section 5.
func forbiddenKinds() []forbiddenKind {
	source := []string{
		"spec.source.repoURL", "spec.source.targetRevision", "spec.source.path", "spec.source.chart",
		"spec.sources[*].repoURL", "spec.sources[*].targetRevision", "spec.sources[*].path", "spec.sources[*].chart",
	}
	var template []string
	for _, p := range source {
		template = append(template, "spec.template."+p)
	}
	return []forbiddenKind{
		{kind: "*.rbac.authorization.k8s.io", why: "RBAC decides who may do what"},
		{kind: "*WebhookConfiguration.admissionregistration.k8s.io", why: "webhooks see and change every object"},
		{kind: "*AdmissionPolic*.admissionregistration.k8s.io", why: "admission policies decide what may be written"},
		{kind: "GitRepository.source.toolkit.fluxcd.io", why: "it says where declared state comes from"},
		{kind: "OCIRepository.source.toolkit.fluxcd.io", why: "it says where declared state comes from"},
		{kind: "HelmRepository.source.toolkit.fluxcd.io", why: "it says where declared state comes from"},
		{kind: "Bucket.source.toolkit.fluxcd.io", why: "it says where declared state comes from"},
		{kind: "AppProject.argoproj.io", why: "it says where declared state may come from"},
		{kind: "Kustomization.kustomize.toolkit.fluxcd.io", paths: []string{"spec.sourceRef", "spec.path"}, why: "it says where declared state comes from"},
		{kind: "HelmRelease.helm.toolkit.fluxcd.io", paths: []string{"spec.chart.spec.sourceRef", "spec.chart.spec.chart", "spec.chart.spec.version", "spec.chartRef"}, why: "it says where declared state comes from"},
		{kind: "Application.argoproj.io", paths: source, why: "it says where declared state comes from"},
		{kind: "ApplicationSet.argoproj.io", paths: template, why: "it says where declared state comes from"},
		{kind: "Secret.core", paths: []string{"data", "stringData"}, why: "credentials do not belong in Git"},
	}
}

// withoutForbiddenCodify turns codify of what codify must not write into an issue.
func (p *Policy) withoutForbiddenCodify(s subject, d *detect.Decision) {
	if d.Disposition != detect.Codify && d.Offer != detect.Codify {
		return
	}
	gk := s.in.Finding.Object.ID().GroupKind()
	i := slices.IndexFunc(forbiddenKinds(), func(f forbiddenKind) bool {
		return anyKind([]string{f.kind}, gk) && f.concerns(s)
	})
	if i < 0 || p.AllowsKind(gk) {
		return
	}
	note := fmt.Sprintf("codify of %s is not allowed: %s; the server's floor may allow it by name (floor.codify.kinds)",
		kindName(gk), forbiddenKinds()[i].why)
	*d = detect.Decision{Disposition: detect.AsIssue, Rule: d.Rule, Trace: append(slices.Clip(d.Trace), note)}
}

func (f forbiddenKind) concerns(s subject) bool {
	if len(f.paths) == 0 || len(s.field.Path) == 0 {
		return true
	}
	return slices.ContainsFunc(f.paths, func(text string) bool {
		g, err := parsePathGlob(text)
		return err != nil || g.overlaps(s.field.Path)
	})
}

// allowed says whether there is a floor, and every floor allows.
func (p *Policy) allowed(by func(CodifyFloor) bool) bool {
	return len(p.floors) > 0 && !slices.ContainsFunc(p.floors, func(f Floor) bool { return !by(f.Codify) })
}

// ForbidsFile says whether codify must leave a file of the repository alone, and why: Holdfast's own
// files, this policy, code owners, CI, and what changes how the repository itself is read.
func (p *Policy) ForbidsFile(name string) (reason string, forbidden bool) {
	name = path.Clean(name)
	why := forbiddenFile(strings.ToLower(name))
	if name == path.Clean(p.Name) {
		why = "it is the policy itself"
	}
	if why == "" || p.allowed(func(c CodifyFloor) bool { return anyGlob(c.Files, name) }) {
		return "", false
	}
	return fmt.Sprintf("%s: codify never writes it: %s", name, why), true
}

func forbiddenFile(name string) string {
	parts := strings.Split(name, "/")
	base := parts[len(parts)-1]
	switch {
	case slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, ".holdfast") }):
		return "it belongs to Holdfast"
	case base == "codeowners" || base == "owners" || base == "owners_aliases":
		return "it says who must approve"
	case slices.Contains(ciFiles(), base) || slices.Contains(ciFolders(), parts[0]) && len(parts) > 1:
		return "it belongs to the forge or to CI"
	case base == ".gitmodules" || base == ".gitattributes" || base == ".sops.yaml" || parts[0] == ".git":
		return "it says how the repository is read"
	}
	return ""
}

func ciFolders() []string {
	return []string{".github", ".gitlab", ".gitea", ".forgejo", ".ci", ".circleci", ".buildkite", ".tekton", ".woodpecker", ".azure-pipelines"}
}

func ciFiles() []string {
	return []string{
		".gitlab-ci.yml", ".gitlab-ci.yaml", "jenkinsfile", "azure-pipelines.yml", "azure-pipelines.yaml", ".travis.yml",
		".drone.yml", ".drone.yaml", ".woodpecker.yml", ".woodpecker.yaml", "bitbucket-pipelines.yml", "cloudbuild.yaml",
		"buildspec.yml", ".pre-commit-config.yaml", "atlantis.yaml", "renovate.json", ".renovaterc",
	}
}

// AllowsKind says whether every floor allows codify to write a kind that it otherwise must not.
func (p *Policy) AllowsKind(kind gitops.GroupKind) bool {
	return p.allowed(func(c CodifyFloor) bool { return anyKind(c.Kinds, kind) })
}
