package render

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/chart"
	"holdfast/gitops/typed"
)

// hookAnnotation marks what Helm runs at an event of a release; such objects are no declared state
// (https://helm.sh/docs/topics/charts_hooks/). Tests are hooks too.
const hookAnnotation = "helm.sh/hook"

// helm renders a chart for one Application. The same chart is rendered again with other stand-ins where something
// is not known, and what moves then is what hangs on it.
type helm struct {
	src     *source
	chart   *chart.Chart
	how     gitops.Render
	release chart.Release
	secrets []string
}

// helmed renders the chart in a folder.
func helmed(src *source, root string, how gitops.Render, env Env, result *Result) error {
	dir, ok := src.resolve(root)
	if !ok {
		return fmt.Errorf("%w: %s is a symbolic link that leaves it", ErrNotFound, root)
	}
	files, options := repackage(chartFiles{src}, dir, *how.Helm)
	how.Helm = &options
	loaded, err := chart.Load(files, dir)
	if err != nil {
		return err
	}
	if err := loaded.ReplaceValues(chartFiles{src}, how.Helm.ValuesFiles); err != nil {
		return err
	}
	h := &helm{src: src, chart: loaded, how: how, release: env.release(*how.Helm), secrets: chart.Secrets(how.Helm.Values)}
	base, varies, err := h.pass(chart.StandIns{Unknown: standIns()[0]}, chart.First, nil)
	if err != nil {
		return err
	}
	if varies {
		if err := h.unstable(base); err != nil {
			return err
		}
	}
	if err := h.unknown(base); err != nil {
		return err
	}
	h.secret(base)
	result.Objects, result.Problems, result.Hooks = base.Objects, base.Problems, base.Hooks
	result.Unsure, result.Secret, result.Unstable = base.Unsure, base.Secret, base.Unstable
	return nil
}

// pass renders once. change, when set, is laid over all values that sources which nobody could read may set.
func (h *helm) pass(with chart.StandIns, pass chart.Pass, change func(any) any) (*Result, bool, error) {
	values, err := chart.Merge(chartFiles{h.src}, h.how.Helm.Values, with)
	if err != nil {
		return nil, false, err
	}
	merged := values.Merged
	if change != nil {
		if merged, err = values.Below(h.chart, change); err != nil {
			return nil, false, err
		}
	}
	out, err := h.chart.Render(h.src.ctx, merged, h.release, pass, h.secrets)
	if err != nil {
		return nil, false, err
	}
	result := &Result{}
	if err := h.objects(out, result); err != nil {
		return nil, false, err
	}
	for _, k := range h.how.Helm.PostRenderers {
		if err := h.postRender(k, result); err != nil {
			return nil, false, err
		}
	}
	for i := range result.Objects {
		annotate(&result.Objects[i], h.how.Helm.CommonLabels, h.how.Helm.CommonAnnotations, h.how.File)
	}
	return result, out.Varies, nil
}

// objects reads the documents that the templates made. Helm gives up on one that is no YAML, and so does this.
func (h *helm) objects(out *chart.Output, result *Result) error {
	by := []gitops.Transformer{{Kind: "HelmTemplate", File: h.chart.ChartFile()}}
	for _, d := range out.Documents {
		file := cmp.Or(d.File, d.Template)
		if err := harmless(file, []byte(d.Text)); err != nil {
			return err
		}
		objects, problems := File(file, []byte(d.Text))
		for _, p := range problems {
			if p.Kind == Syntax {
				return fmt.Errorf("%s: document %d of what the template makes, line %d: %s", file, d.Index, p.Line, p.Message)
			}
			p.Document, p.Line = d.Index, 0 // lines are those of the output
			result.Problems = append(result.Problems, p)
		}
		for _, o := range objects {
			o.Origin.Document, o.Origin.Transformers = d.Index, by
			if _, hook := o.Annotations()[hookAnnotation]; hook {
				result.Hooks = append(result.Hooks, o)
				continue
			}
			result.Objects = append(result.Objects, o)
		}
	}
	return nil
}

// postRender lets kustomize change the objects, as Flux does between Helm's templates and its apply.
func (h *helm) postRender(k gitops.Kustomize, result *Result) error {
	const file = "manifests.yaml"
	var all strings.Builder
	for _, o := range result.Objects {
		encoded, err := yaml.Marshal(o.Content)
		if err != nil {
			return fmt.Errorf("%s: %w", o.ID, err)
		}
		all.WriteString("---\n")
		all.Write(encoded)
	}
	tree := gitops.NewTree(map[string]gitops.File{
		file:                 {Data: []byte(all.String())},
		"kustomization.yaml": {Data: []byte("resources: [" + file + "]\n")},
	})
	src := &source{ctx: h.src.ctx, tree: tree, left: h.src.left, reads: map[string]bool{}, absent: map[string]bool{}}
	after := &Result{}
	if err := kustomized(src, ".", gitops.Render{Kustomize: &k, File: h.how.File, Document: h.how.Document}, after); err != nil {
		return fmt.Errorf("post renderer: %w", err)
	}
	for i := range after.Objects {
		o := &after.Objects[i]
		if o.Origin.File != file || o.Origin.Document >= len(result.Objects) {
			continue
		}
		origin := result.Objects[o.Origin.Document].Origin
		origin.Transformers = slices.Concat(origin.Transformers, o.Origin.Transformers)
		o.Origin = origin
	}
	result.Objects = after.Objects
	result.Problems = append(result.Problems, after.Problems...)
	return nil
}

// unstable finds what is another at each render: by the second pass, in which chance and clock answer otherwise.
func (h *helm) unstable(base *Result) error {
	base.Unstable = map[gitops.ObjectID][]gitops.Path{}
	schemas, err := typed.Builtin()
	if err != nil {
		return err
	}
	second := func(upgrades, lookup bool) error {
		as := *h
		as.release.Upgrades, as.release.Lookup = upgrades, lookup
		other, _, err := as.pass(chart.StandIns{Unknown: standIns()[0]}, chart.Second, nil)
		if err != nil {
			return err
		}
		base.differences(other, base.Unstable, variedIn(schemas), func(o gitops.Declared) {
			base.drop(o, UnstableObject, "its name, or whether it is there at all, is another at each render of the chart")
		})
		return nil
	}
	if h.release.Upgrades || h.release.Lookup {
		if second(h.release.Upgrades, h.release.Lookup) == nil {
			return nil
		}
		// A chart may want more of a live object than a stand-in has, above all in an upgrade: then one at a time.
		upgrade, lookup := second(h.release.Upgrades, false), second(false, h.release.Lookup)
		if upgrade == nil || lookup == nil {
			return nil
		}
	}
	if err := second(false, false); err != nil {
		return fmt.Errorf("the chart renders only with some random values or at some times: %w", err)
	}
	return nil
}

// unknown finds what hangs on texts of ConfigMaps and Secrets that nobody could read.
func (h *helm) unknown(base *Result) error {
	unread := func(v gitops.Values) bool { return v.From != nil && !v.From.Known }
	open := func(v gitops.Values) bool { return unread(v) && v.From.TargetPath == "" }
	all := h.how.Helm.Values
	if !slices.ContainsFunc(all, unread) {
		return nil
	}
	base.Unsure = map[gitops.ObjectID][]gitops.Path{}
	lost := func(o gitops.Declared) {
		base.drop(o, UnknownInput, "whether it is there, and its name, cannot be told without the values of a ConfigMap or Secret that was not read")
	}
	vary := func(with chart.StandIns, change func(any) any) {
		other, _, err := h.pass(with, chart.First, change)
		if err != nil {
			if with.Unknown != "" { // an empty text may well be refused
				base.doubt()
			}
			return
		}
		base.differences(other, base.Unsure, movedIn, lost)
		if change != nil && len(other.Objects) > 0 {
			base.newcomers(other)
		}
	}
	for _, standIn := range standIns()[1:] {
		vary(chart.StandIns{Unknown: standIn}, nil)
	}
	if slices.ContainsFunc(all, open) {
		with := chart.StandIns{Unknown: standIns()[0]}
		vary(with, func(v any) any { return chart.Vary(v, standIns()[1]) })
		vary(with, chart.Flip)
	}
	return h.src.stop()
}

// secret finds the fields that show values of Secrets, which are not to be shown.
func (h *helm) secret(base *Result) {
	if !slices.ContainsFunc(h.how.Helm.Values, func(v gitops.Values) bool {
		return v.From != nil && v.From.Known && v.From.Kind == "Secret"
	}) {
		return
	}
	base.Secret = map[gitops.ObjectID][]gitops.Path{}
	for _, standIn := range standIns() {
		with := chart.StandIns{Unknown: standIns()[0], Vary: standIn, Varying: true}
		other, _, err := h.pass(with, chart.First, nil)
		if err != nil {
			continue
		}
		base.differences(other, base.Secret, movedIn, func(o gitops.Declared) { base.addSecret(o.ID, []gitops.Path{nil}) })
	}
	// A chart may refuse every stand-in; what shows the text itself is found in any case.
	for _, o := range base.Objects {
		shown := newSight(o.Content)
		for _, text := range h.secrets {
			if len(text) >= shortSecret && shown.shows(text) {
				base.addSecret(o.ID, showing(o.Content, text))
			}
		}
	}
}

func (r *Result) addSecret(id gitops.ObjectID, paths []gitops.Path) {
	for _, p := range paths {
		if !slices.ContainsFunc(r.Secret[id], p.Equal) {
			r.Secret[id] = append(r.Secret[id], p)
		}
	}
}

// showing lists the fields whose text contains text.
func showing(content map[string]any, text string) []gitops.Path {
	return textsWhere(content, func(field string) bool { return strings.Contains(field, text) })
}

// finder reports the paths at which two contents of an object differ.
type finder func(a, b map[string]any, report func(gitops.Path))

func movedIn(a, b map[string]any, report func(gitops.Path)) { moved(a, b, nil, report) }

// differences adds the fields in which another render differs, as find has them. missing is called for each object
// that it lacks.
func (r *Result) differences(other *Result, into map[gitops.ObjectID][]gitops.Path, find finder, missing func(gitops.Declared)) {
	index := make(map[gitops.ObjectID]map[string]any, len(other.Objects))
	for _, o := range other.Objects {
		index[o.ID] = o.Content
	}
	for _, o := range slices.Clone(r.Objects) {
		varied, there := index[o.ID]
		if !there {
			missing(o)
			continue
		}
		find(o.Content, varied, func(p gitops.Path) {
			if !slices.ContainsFunc(into[o.ID], p.Equal) {
				into[o.ID] = append(into[o.ID], p)
			}
		})
	}
}

// newcomers says that there may be objects which this render does not have.
func (r *Result) newcomers(other *Result) {
	for _, o := range other.Objects {
		known := func(d gitops.Declared) bool { return d.ID == o.ID }
		if slices.ContainsFunc(r.Objects, known) || slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Object == o.ID }) {
			continue
		}
		r.Problems = append(r.Problems, Problem{
			File: o.Origin.File, Document: o.Origin.Document, Kind: UnknownInput,
			Message: "whether it makes more objects cannot be told without the values of a ConfigMap or Secret that was not read",
		})
		return
	}
}

// drop leaves out an object about whose being there nothing can be said.
func (r *Result) drop(o gitops.Declared, kind ProblemKind, message string) {
	r.Objects = slices.DeleteFunc(r.Objects, func(d gitops.Declared) bool { return d.ID == o.ID })
	delete(r.Unsure, o.ID)
	delete(r.Unstable, o.ID)
	r.Problems = append(r.Problems, Problem{
		File: o.Origin.File, Document: o.Origin.Document, Kind: kind, Message: fmt.Sprintf("%s %s: %s", o.ID.Kind, o.ID.Name, message), Object: o.ID,
	})
}

// doubt makes every field of every object unsure.
func (r *Result) doubt() {
	for _, o := range r.Objects {
		for _, key := range slices.Sorted(maps.Keys(o.Content)) {
			r.Unsure[o.ID] = append(r.Unsure[o.ID], gitops.Path{gitops.Field(key)})
		}
	}
}

// release is what the chart sees of the cluster: what the Application says, else what the cluster is known to be.
func (e Env) release(h gitops.Helm) chart.Release {
	r := chart.Release{
		Name: h.ReleaseName, Namespace: h.Namespace, ChartVersion: h.ChartVersion, KubeVersion: cmp.Or(h.KubeVersion, e.KubeVersion),
		APIVersions: h.APIVersions, SkipCRDs: h.SkipCRDs, SkipSchema: h.SkipSchema, Upgrades: e.helmClient, Lookup: e.helmClient,
	}
	r.PatchUnsure = e.minorVersion && h.KubeVersion == "" && e.KubeVersion != ""
	if len(r.APIVersions) == 0 {
		r.APIVersions, r.Exact = e.APIVersions, e.helmClient && len(e.APIVersions) > 0
	}
	return r
}

// chartFiles is the tree as a chart's loader sees it. Links to folders are followed, as Helm's loader does.
type chartFiles struct{ src *source }

// Read gives a file and notes that it was read, or looked for.
func (c chartFiles) Read(name string) ([]byte, bool, error) {
	in, ok := c.src.resolve(name)
	if !ok {
		return nil, false, nil
	}
	return c.src.read(in)
}

// Paths lists the files below folder.
func (c chartFiles) Paths(folder string) []string { return c.paths(folder, folder, 0) }

// paths lists what lies below the folder real, as if it lay below shown.
func (c chartFiles) paths(shown, real string, links int) []string {
	c.src.listedChart(real)
	var out []string
	for _, name := range c.src.tree.Paths(real) {
		rest := strings.TrimPrefix(strings.TrimPrefix(name, real), "/")
		if real == "." {
			rest = name
		}
		as := path.Join(shown, rest)
		if file, _ := c.src.tree.File(name); file.Mode == gitops.Symlink && links < maxChartLinks {
			if to, ok := c.src.resolve(name); ok && !c.src.isFile(to) && c.src.isDir(to) && !within(name, to) {
				out = append(out, c.paths(as, to, links+1)...)
				continue
			}
		}
		out = append(out, as)
	}
	return out
}

// maxChartLinks is how many linked folders a path in a chart may lead through.
const maxChartLinks = 4
