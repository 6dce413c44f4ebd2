package flux

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"

	"holdfast/gitops"
	"holdfast/gitops/release"
)

// HelmManager is the field manager of helm-controller. Whoever runs Helm by hand writes under another name.
const HelmManager = "helm-controller"

// Ownership labels that helm-controller puts on every object of a release.
const (
	HelmNameLabel      = HelmGroup + "/name"
	HelmNamespaceLabel = HelmGroup + "/namespace"
)

func isHelmRelease(id gitops.ObjectID) bool { return id.Group == HelmGroup && id.Kind == "HelmRelease" }

// release decodes a HelmRelease
// (https://fluxcd.io/flux/components/helm/helmreleases/, api/v2/helmrelease_types.go).
func (d *decoder) release(o gitops.Object) {
	var r helmv2.HelmRelease
	if err := into(o, &r); err != nil {
		d.problem(o.ID, gitops.Undecodable, true, "%s: %v", o.APIVersion, err)
		return
	}
	r.Name, r.Namespace = o.ID.Name, o.ID.Namespace
	app := gitops.Application{
		Cluster: d.cluster, Namespace: o.ID.Namespace, Name: o.ID.Name, Engine: gitops.Flux, Kind: "HelmRelease",
		Managers:  []gitops.Manager{{Name: HelmManager}},
		Interval:  r.Spec.Interval.Duration,
		Suspended: r.Spec.Suspend, Correction: gitops.ByHand, Prune: true,
		Tracking: gitops.Tracking{
			Labels:   map[string]string{HelmNameLabel: o.ID.Name, HelmNamespaceLabel: o.ID.Namespace},
			Selector: HelmNameLabel,
		},
		Render: gitops.Render{Namespace: r.GetReleaseNamespace()},
	}
	values, err := d.values(o.ID, r)
	if err != nil {
		d.problem(o.ID, gitops.Undecodable, true, "%s: %v", o.APIVersion, err)
		return
	}
	app.Render.Helm = helm(r, values)
	ready(&app, r.Status.Conditions)
	d.chart(&app, o.ID, r)
	if app.Suspended {
		app.Switches = append(app.Switches, "spec.suspend")
	}
	if drift := r.Spec.DriftDetection; drift != nil {
		if drift.Mode == helmv2.DriftDetectionEnabled {
			app.Correction = gitops.Heals
		}
		for i, rule := range drift.Ignore {
			app.Ignore = append(app.Ignore, gitops.IgnoreRule{
				Name: fmt.Sprintf("spec.driftDetection.ignore[%d]", i), Paths: rule.Paths, Target: target(rule.Target),
			})
		}
	}
	if r.Status.Inventory != nil {
		app.Inventory = []gitops.ObjectID{}
		for _, entry := range r.Status.Inventory.Entries {
			d.inventoried(&app, o.ID, entry.ID)
		}
	}
	if r.Spec.KubeConfig != nil {
		d.problem(o.ID, gitops.OtherCluster, true, "spec.kubeConfig applies it to another cluster, which is not this one")
	}
	d.applications = append(d.applications, app)
}

// helm gives what the release says about its render.
func helm(r helmv2.HelmRelease, values []gitops.Values) *gitops.Helm {
	out := &gitops.Helm{
		ReleaseName: shortened(r.GetReleaseName()), Namespace: r.GetReleaseNamespace(), Values: values,
		StorageNamespace: cmp.Or(r.Status.StorageNamespace, r.GetStorageNamespace()),
	}
	if h := r.Status.History; len(h) > 0 && h[0] != nil && h[0].Status == release.Deployed && h[0].Name == out.ReleaseName && h[0].Namespace == out.Namespace {
		out.Revision = h[0].Version // what came after it, and failed, may have changed the objects
	}
	last := deployed(r)
	if install := r.Spec.Install; install != nil {
		out.SkipCRDs = install.SkipCRDs || install.CRDs == helmv2.Skip // the first is deprecated, and still obeyed
		out.SkipSchema = install.DisableSchemaValidation
	}
	// CRDs are installed once. An upgrade leaves them as they are unless it is told otherwise, so those of a newer
	// chart are not what was applied.
	if last != nil && last.Version > 1 && (r.Spec.Upgrade == nil || r.Spec.Upgrade.CRDs == "" || r.Spec.Upgrade.CRDs == helmv2.Skip) {
		out.SkipCRDs = true
	}
	for _, p := range r.Spec.PostRenderers {
		if p.Kustomize != nil {
			out.PostRenderers = append(out.PostRenderers, postRenderer(*p.Kustomize))
		}
	}
	if m := r.Spec.CommonMetadata; m != nil {
		out.CommonLabels, out.CommonAnnotations = m.Labels, m.Annotations
	}
	if last != nil && strings.Contains(last.ChartVersion, "+") {
		out.ChartVersion = last.ChartVersion
	}
	return out
}

func postRenderer(k helmv2.Kustomize) gitops.Kustomize {
	var out gitops.Kustomize
	for _, p := range k.Patches {
		out.Patches = append(out.Patches, gitops.Patch{Patch: p.Patch, Target: target(p.Target)})
	}
	out.Images = images(k.Images)
	return out
}

func images(list []kustomize.Image) []gitops.Image {
	var out []gitops.Image
	for _, i := range list {
		out = append(out, gitops.Image{Name: i.Name, NewName: i.NewName, NewTag: i.NewTag, Digest: i.Digest})
	}
	return out
}

// deployed is the newest release that was deployed, else the newest; nil without any.
func deployed(r helmv2.HelmRelease) *helmv2.Snapshot {
	history := r.Status.History
	if len(history) == 0 {
		return nil
	}
	if i := slices.IndexFunc(history, func(s *helmv2.Snapshot) bool { return s != nil && s.Status == "deployed" }); i >= 0 {
		return history[i]
	}
	return history[0]
}

// values gives the sources of values: valuesFrom in order, then spec.values.
func (d *decoder) values(id gitops.ObjectID, r helmv2.HelmRelease) ([]gitops.Values, error) {
	var out []gitops.Values
	for i, from := range r.Spec.ValuesFrom {
		v := gitops.ValuesFrom{Kind: from.Kind, Name: from.Name, Key: from.GetValuesKey(), TargetPath: from.TargetPath, Literal: from.Literal}
		if data, known := d.data(gitops.ObjectID{Kind: from.Kind, Namespace: id.Namespace, Name: from.Name}); known {
			text, there := data[v.Key]
			if !there && from.Optional {
				continue
			}
			v.Text, v.Known = text, there
			if !there {
				d.problem(id, gitops.NoSource, true, "spec.valuesFrom[%d]: %s %s has no key %s", i, from.Kind, from.Name, v.Key)
			}
		}
		out = append(out, gitops.Values{From: &v, Optional: from.Optional})
	}
	if r.Spec.Values == nil {
		return out, nil
	}
	var inline map[string]any
	if err := json.Unmarshal(r.Spec.Values.Raw, &inline); err != nil {
		return nil, fmt.Errorf("spec.values is no mapping")
	}
	if inline != nil {
		out = append(out, gitops.Values{Inline: inline, At: gitops.Path{gitops.Field("spec"), gitops.Field("values")}})
	}
	return out, nil
}

// chart places the chart: in the Git source that it comes from, else in a mount.
func (d *decoder) chart(app *gitops.Application, id gitops.ObjectID, r helmv2.HelmRelease) {
	switch ref := r.Spec.ChartRef; {
	case ref != nil:
		d.chartRef(app, id, r, *ref)
	case r.Spec.Chart != nil && r.Spec.Chart.Spec.SourceRef.Name != "":
		spec := r.Spec.Chart.Spec
		d.template(app, id, r, template{
			Chart: spec.Chart, Version: spec.Version, ValuesFiles: spec.ValuesFiles, Optional: spec.IgnoreMissingValuesFiles,
			Ref: gitops.ObjectID{
				Group: SourceGroup, Kind: spec.SourceRef.Kind, Name: spec.SourceRef.Name,
				Namespace: cmp.Or(spec.SourceRef.Namespace, id.Namespace),
			},
		})
	default:
		d.problem(id, gitops.Undecodable, true, "it has neither a spec.chart with a source nor spec.chartRef")
	}
}

func (d *decoder) chartRef(app *gitops.Application, id gitops.ObjectID, r helmv2.HelmRelease, ref helmv2.CrossNamespaceSourceReference) {
	named := gitops.ObjectID{Group: SourceGroup, Kind: ref.Kind, Name: ref.Name, Namespace: cmp.Or(ref.Namespace, id.Namespace)}
	switch ref.Kind {
	case "HelmChart":
		o, ok := d.find(named)
		if !ok {
			d.problem(id, gitops.NoSource, true, "its HelmChart %s/%s is not among the objects read; where the chart comes from is not known", named.Namespace, named.Name)
			return
		}
		var c struct {
			Spec helmChart `json:"spec"`
		}
		if err := into(o, &c); err != nil {
			d.problem(id, gitops.Undecodable, true, "its HelmChart %s/%s: %v", named.Namespace, named.Name, err)
			return
		}
		d.template(app, id, r, template{
			Chart: c.Spec.Chart, Version: c.Spec.Version, ValuesFiles: c.Spec.ValuesFiles, Optional: c.Spec.IgnoreMissingValuesFiles,
			Ref: gitops.ObjectID{Group: SourceGroup, Kind: c.Spec.SourceRef.Kind, Name: c.Spec.SourceRef.Name, Namespace: named.Namespace},
		})
	case "OCIRepository":
		chart := &gitops.Chart{}
		if s, ok := d.sourceObject(id, named); ok {
			chart.Repo = gitops.WithoutCredentials(strings.TrimSuffix(s.Spec.URL, "/"))
			chart.Name = path.Base(chart.Repo)
			chart.Version = cmp.Or(s.Spec.Ref.SemVer, s.Spec.Ref.Tag)
			chart.Digest = s.Spec.Ref.Digest
			// A tag need not be the chart's version. A range picks among tags that are.
			chart.Applied = s.Spec.Ref.Tag
			if last := deployed(r); last != nil {
				chart.Digest = cmp.Or(last.OCIDigest, chart.Digest)
				if s.Spec.Ref.SemVer != "" || chart.Applied == "" {
					chart.Applied, _, _ = strings.Cut(last.ChartVersion, "+")
				}
			}
		}
		d.mounted(app, chart, nil, false)
	default:
		d.problem(id, gitops.OutsideRepository, true, "its chart is the %s %s, whose files are not read", ref.Kind, ref.Name)
	}
}

// helmChart has the fields of a HelmChart's spec.
type helmChart struct {
	Chart     string `json:"chart"`
	Version   string `json:"version"`
	SourceRef struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"sourceRef"`
	ValuesFiles              []string `json:"valuesFiles"`
	IgnoreMissingValuesFiles bool     `json:"ignoreMissingValuesFiles"`
}

// template is a chart of a source, as spec.chart and a HelmChart have it.
type template struct {
	Chart, Version string
	ValuesFiles    []string
	Optional       bool
	Ref            gitops.ObjectID
}

func (d *decoder) template(app *gitops.Application, id gitops.ObjectID, r helmv2.HelmRelease, t template) {
	if t.Ref.Kind != "HelmRepository" {
		var revision string
		app.Source, revision = d.source(id, t.Ref)
		app.Source.Path = folder(t.Chart)
		app.Render.Helm.ValuesFiles = valuesFiles("", t.ValuesFiles, t.Optional)
		if app.Source.Kind == "GitRepository" {
			app.Source.Applied = d.appliedCommit(id, r, *app, revision)
		}
		return
	}
	chart := &gitops.Chart{Name: t.Chart, Version: t.Version}
	if s, ok := d.sourceObject(id, t.Ref); ok {
		chart.Repo = gitops.WithoutCredentials(s.Spec.URL)
	}
	if last := deployed(r); last != nil {
		chart.Applied = last.ChartVersion
	}
	d.mounted(app, chart, t.ValuesFiles, t.Optional)
}

// chartMount is where the chart of a repository lies in the Application's tree.
const chartMount = "$chart"

func (d *decoder) mounted(app *gitops.Application, chart *gitops.Chart, files []string, optional bool) {
	app.Source.Path = chartMount
	app.Mounts = []gitops.Mount{{At: chartMount, Chart: chart}}
	app.Render.Helm.ValuesFiles = valuesFiles(chartMount, files, optional)
}

// valuesFiles are relative to the source's root: the repository's, or the chart's.
func valuesFiles(root string, files []string, optional bool) []gitops.Values {
	var out []gitops.Values
	for _, file := range files {
		out = append(out, gitops.Values{File: path.Join(root, folder(file)), Optional: optional})
	}
	return out
}

var revisionMetadata = regexp.MustCompile(`\+([0-9a-f]{7,40})$`)

// appliedCommit is the commit that a chart in Git was released from. The release's version tells it only with
// reconcileStrategy Revision; else it is taken to be the one that the source has now, as long as the release is
// Ready.
func (d *decoder) appliedCommit(id gitops.ObjectID, r helmv2.HelmRelease, app gitops.Application, revision string) string {
	last := deployed(r)
	if last == nil {
		return ""
	}
	now := Commit(revision)
	if m := revisionMetadata.FindStringSubmatch(last.ChartVersion); m != nil {
		if strings.HasPrefix(now, m[1]) {
			return now
		}
		return m[1]
	}
	if !app.Ready || now == "" {
		return ""
	}
	d.problem(id, gitops.Inferred, false, "which commit its chart was released from is not told; it is taken to be %.12s, which its GitRepository has now", now)
	return now
}

// shortened gives the name that Helm gets: over 53 characters, 40 of them and 12 of a hash
// (fluxcd/helm-controller internal/release/name.go).
func shortened(name string) string {
	const most, kept, hash = 53, 40, 12
	if len(name) <= most {
		return name
	}
	return name[:kept] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:hash]
}
