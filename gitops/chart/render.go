package chart

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	v2util "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"holdfast/gitops"
)

// Release is what a chart sees of the release and of the cluster.
type Release struct {
	Name, Namespace string
	// ChartVersion takes the place of the version in Chart.yaml, when the engine changes it.
	ChartVersion string
	// KubeVersion (v1.31.2) is empty when nobody knows it: then a recent version stands in, and what the chart
	// demands of it is not checked.
	KubeVersion string
	// APIVersions are "apps/v1" or "apps/v1/Deployment". With Exact they are all that there are; else they are
	// added to those that Helm knows, as `helm template --api-versions` does.
	APIVersions []string
	Exact       bool
	// Upgrades says that the release is installed once and then upgraded, by an engine that uses Helm itself: the
	// second pass is an upgrade. `helm template` always installs.
	Upgrades bool
	// PatchUnsure says that the engine may leave the patch number out of KubeVersion: the first pass has 0 there, the
	// second pass has it whole.
	PatchUnsure bool
	// Lookup says that the engine lets templates look into the cluster, which this render does not; see Pass.
	Lookup bool
	// SkipCRDs leaves out the folder crds, SkipSchema does not check values.
	SkipCRDs, SkipSchema bool
}

// standInVersion is the Kubernetes version of a chart's render when nobody says one.
const standInVersion = "v1.36.0"

// Output is what the templates make.
type Output struct {
	// Documents are those of the CRD files, then those of the templates in the order of their names. Notes and
	// empty documents are left out.
	Documents []Document
	// Varies says that a template asked for chance, for the time, or for what else another pass answers otherwise.
	// Without it the second pass gives the same.
	Varies bool
}

// Document is one YAML document.
type Document struct {
	// Template is the template's name as Helm has it: chart/templates/file.yaml.
	Template string
	// File is the file in the tree: the template, or the archive that it is in.
	File string
	// Index counts the documents of one template that are not empty.
	Index int
	Text  string
}

// ChartFile gives the Chart.yaml of the root chart.
func (c *Chart) ChartFile() string { return c.root.place(chartFile) }

// Render runs the templates. values are those of the Application alone (Values.Merged), and are not changed. An
// error has the chart's own words where a template refuses to go on, and repeats no text of secrets.
//
// ctx ends the render; a loop inside the engine notices at its next turn.
func (c *Chart) Render(ctx context.Context, values map[string]any, r Release, pass Pass, secrets []string) (*Output, error) {
	m, err := c.make(r.SkipSchema)
	if err != nil {
		return nil, err
	}
	m.Metadata.Version = cmp.Or(r.ChartVersion, m.Metadata.Version)
	values, _ = gitops.Clone(values).(map[string]any)
	s := &session{ctx: ctx, pass: pass, release: r, left: maxOutput}
	s.varies = r.Upgrades && c.names("Revision", "IsUpgrade", "IsInstall") || r.PatchUnsure && c.names("KubeVersion")
	type outcome struct {
		files map[string]string
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		files, err := m.run(s, values)
		done <- outcome{files, err}
	}()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: the chart's templates: %w", ErrLimit, ctx.Err())
	case o := <-done:
		switch {
		case s.stopped != nil:
			return nil, s.stopped
		case o.err != nil:
			return nil, m.explained(o.err, hidden(secrets, values, c.defaults()))
		}
		out := m.documents(o.files, r.SkipCRDs)
		out.Varies = s.varies
		return out, nil
	}
}

// run does what Helm does for a release, up to its manifests. Invalid charts and values can make Helm panic.
func (m made) run(s *session, values map[string]any) (files map[string]string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the chart made Helm give up in an unforeseen way (%T); look for malformed values", r)
		}
	}()
	if strings.EqualFold(m.Metadata.Type, "library") {
		return nil, fmt.Errorf("%s is a library chart, which is not installed by itself", m.Name())
	}
	if err := v2util.ProcessDependencies(m.Chart, values); err != nil {
		return nil, err
	}
	if err := present(m.Chart); err != nil {
		return nil, err
	}
	capabilities, err := s.release.capabilities(s.pass)
	if err != nil {
		return nil, err
	}
	if want := m.Metadata.KubeVersion; want != "" && s.release.KubeVersion != "" &&
		!v2util.IsCompatibleRange(want, capabilities.KubeVersion.String()) {
		return nil, fmt.Errorf("the chart wants Kubernetes %s, and the cluster has %s", want, capabilities.KubeVersion.Version)
	}
	options := common.ReleaseOptions{Name: s.release.Name, Namespace: s.release.Namespace, Revision: 1, IsInstall: true}
	if s.release.Upgrades && s.pass == Second {
		options.Revision, options.IsInstall, options.IsUpgrade = 2, false, true
	}
	all, err := commonutil.ToRenderValuesWithSchemaValidation(m.Chart, values, options, capabilities, s.release.SkipSchema)
	if err != nil {
		return nil, err
	}
	guard(m.Chart)
	return engine.Engine{CustomTemplateFuncs: s.functions()}.RenderWithContext(s.ctx, m.Chart, all)
}

// guard puts the calls that can stop a template into all of them.
func guard(c *v2.Chart) {
	for _, t := range c.Templates {
		t.Data = []byte(guarded(string(t.Data)))
	}
	for _, d := range c.Dependencies() {
		guard(d)
	}
}

// present says which dependency is enabled and not there.
func present(c *v2.Chart) error {
	for _, want := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(d *v2.Chart) bool { return d.Name() == want.Name }) {
			return fmt.Errorf("%w: %s depends on the chart %s %s of %s, which is not in its folder charts: put it there by `helm dependency update`, or disable it",
				ErrRemote, c.Name(), want.Name, want.Version, want.Repository)
		}
	}
	for _, d := range c.Dependencies() {
		if err := present(d); err != nil {
			return err
		}
	}
	return nil
}

func (r Release) capabilities(pass Pass) (*common.Capabilities, error) {
	out := common.DefaultCapabilities.Copy()
	version := r.KubeVersion
	if version == "" {
		version = standInVersion
	}
	kube, err := common.ParseKubeVersion(version)
	if err != nil {
		return nil, fmt.Errorf("the Kubernetes version %q: want one like v1.31.2", version)
	}
	if r.PatchUnsure && pass == First {
		if kube, err = common.ParseKubeVersion(fmt.Sprintf("v%s.%s.0", kube.Major, kube.Minor)); err != nil {
			return nil, err
		}
	}
	out.KubeVersion = *kube
	if r.Exact {
		out.APIVersions = nil
	}
	out.APIVersions = slices.Concat(out.APIVersions, r.APIVersions)
	return out, nil
}

// names says whether any template has one of the words.
func (c *Chart) names(words ...string) bool { return c.root.names(words) }

func (p *part) names(words []string) bool {
	for _, f := range p.files {
		if slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(f.Data, []byte(word)) }) {
			return true
		}
	}
	return slices.ContainsFunc(p.subs, func(sub *part) bool { return sub.names(words) })
}

// templates gives the file in the tree of each template, by Helm's name of it.
func (m made) templates() map[string]string {
	out := map[string]string{}
	var add func(c *v2.Chart)
	add = func(c *v2.Chart) {
		for _, t := range c.Templates {
			out[path.Join(c.ChartFullPath(), t.Name)] = m.places[t]
		}
		for _, d := range c.Dependencies() {
			add(d)
		}
	}
	add(m.Chart)
	return out
}

func (m made) documents(files map[string]string, skipCRDs bool) *Output {
	out := &Output{}
	if !skipCRDs {
		for _, crd := range m.CRDObjects() {
			out.split(crd.Filename, m.places[crd.File], string(crd.File.Data))
		}
	}
	places := m.templates()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, "NOTES.txt") {
			out.split(name, places[name], files[name])
		}
	}
	return out
}

func (o *Output) split(template, file, text string) {
	parts := releaseutil.SplitManifests(text)
	names := slices.Collect(maps.Keys(parts))
	slices.SortFunc(names, func(a, b string) int {
		if releaseutil.BySplitManifestsOrder([]string{a, b}).Less(0, 1) {
			return -1
		}
		return 1
	})
	for i, name := range names {
		o.Documents = append(o.Documents, Document{Template: template, File: file, Index: i, Text: parts[name]})
	}
}

// explained makes an error of Helm readable: on one line, with the file in the repository, without secrets.
func (m made) explained(err error, secrets []string) error {
	if errors.Is(err, ErrRemote) {
		return err // of this package, without values
	}
	text := oneLine(ownCalls.ReplaceAllString(err.Error(), ""))
	for _, name := range longestFirst(slices.Collect(maps.Keys(m.templates()))) {
		text = strings.ReplaceAll(text, name, m.templates()[name])
	}
	const most = 600
	for _, value := range secrets {
		text = strings.ReplaceAll(text, value, "<secret>")
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + " ..."
	}
	return errors.New("Helm: " + text)
}
