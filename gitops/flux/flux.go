// Package flux turns Flux's Kustomizations and HelmReleases into Applications: where their files come from, how they are
// rendered, what the controller says that it applied, and how its objects are told from others.
package flux

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast/gitops"
)

// Groups of Flux's own objects.
const (
	KustomizeGroup = "kustomize.toolkit.fluxcd.io"
	HelmGroup      = "helm.toolkit.fluxcd.io"
	SourceGroup    = "source.toolkit.fluxcd.io"
)

// Ownership labels that the controller puts on every object that it applies.
const (
	NameLabel      = KustomizeGroup + "/name"
	NamespaceLabel = KustomizeGroup + "/namespace"
)

// Manager is the field manager of kustomize-controller.
const Manager = "kustomize-controller"

// Decode gives an Application for each Kustomization and HelmRelease among the objects of one cluster, in
// their order. Its source is looked for among the same objects, and so are the ConfigMaps and Secrets of
// substituteFrom and valuesFrom: those not there stay unknown.
//
// PostBuild.Strict stays false: it is a feature gate of the controller, which its objects do not tell, and
// what a strict controller has applied renders the same without.
func Decode(cluster string, objects []gitops.Object) ([]gitops.Application, []gitops.EngineProblem) {
	index := make(map[gitops.ObjectID]gitops.Object, len(objects))
	for _, o := range objects {
		index[o.ID] = o
	}
	d := decoder{cluster: cluster, find: func(id gitops.ObjectID) (gitops.Object, bool) {
		o, ok := index[id]
		return o, ok
	}}
	for _, o := range objects {
		d.decode(o)
	}
	return d.applications, d.problems
}

// decode adds the Application of an object that makes one.
func (d *decoder) decode(o gitops.Object) {
	switch {
	case isKustomization(o.ID):
		d.application(o)
	case isHelmRelease(o.ID):
		d.release(o)
	}
}

func isKustomization(id gitops.ObjectID) bool {
	return id.Group == KustomizeGroup && id.Kind == "Kustomization"
}

type decoder struct {
	cluster      string
	find         func(gitops.ObjectID) (gitops.Object, bool)
	applications []gitops.Application
	problems     []gitops.EngineProblem
}

func (d *decoder) problem(id gitops.ObjectID, kind gitops.EngineProblemKind, blocks bool, format string, args ...any) {
	d.problems = append(d.problems, gitops.EngineProblem{Object: id, Kind: kind, Blocks: blocks, Message: fmt.Sprintf(format, args...)})
}

// older are fields that v1beta2 had and v1 has not.
type older struct {
	Spec struct {
		PatchesStrategicMerge []json.RawMessage         `json:"patchesStrategicMerge"`
		PatchesJSON6902       []kustomize.JSON6902Patch `json:"patchesJson6902"`
	} `json:"spec"`
}

func (d *decoder) application(o gitops.Object) {
	var k kustomizev1.Kustomization
	var before older
	if err := into(o, &k, &before); err != nil {
		d.problem(o.ID, gitops.Undecodable, true, "%s: %v", o.APIVersion, err)
		return
	}
	app := gitops.Application{
		Cluster: d.cluster, Namespace: o.ID.Namespace, Name: o.ID.Name,
		Engine: gitops.Flux, Kind: "Kustomization",
		Source:    d.kustomizationSource(o.ID, k),
		Render:    gitops.Render{Kustomize: d.kustomize(o.ID, k, before)},
		Managers:  []gitops.Manager{{Name: Manager, Operation: "Apply"}, {Name: Manager, Operation: "Update"}},
		Interval:  k.Spec.Interval.Duration,
		Suspended: k.Spec.Suspend, Correction: gitops.Heals,
		Prune: k.Spec.Prune,
		Tracking: gitops.Tracking{
			Labels:   map[string]string{NameLabel: o.ID.Name, NamespaceLabel: o.ID.Namespace},
			Selector: NameLabel,
		},
	}
	for i, rule := range k.Spec.Ignore {
		app.Ignore = append(app.Ignore, gitops.IgnoreRule{Name: fmt.Sprintf("spec.ignore[%d]", i), Paths: rule.Paths, Target: target(rule.Target)})
	}
	ready(&app, k.Status.Conditions)
	if app.Suspended {
		app.Switches = append(app.Switches, "spec.suspend")
	}
	if k.Status.Inventory != nil {
		app.Inventory = []gitops.ObjectID{}
		for _, entry := range k.Status.Inventory.Entries {
			d.inventoried(&app, o.ID, entry.ID)
		}
	}
	if k.Spec.SourceRef.Name == "" && k.Spec.Path == "" {
		d.problem(o.ID, gitops.Undecodable, true, "it has neither spec.sourceRef nor spec.path")
	}
	if k.Spec.KubeConfig != nil {
		d.problem(o.ID, gitops.OtherCluster, true, "spec.kubeConfig applies it to another cluster, which is not this one")
	}
	if k.Spec.Decryption != nil {
		d.problem(o.ID, gitops.Encrypted, false, "spec.decryption: values that %s has encrypted are not known here", k.Spec.Decryption.Provider)
	}
	d.applications = append(d.applications, app)
}

// ready takes over the controller's own word. Since when an Application is suspended, its object does not tell.
func ready(app *gitops.Application, conditions []metav1.Condition) {
	c := apimeta.FindStatusCondition(conditions, "Ready")
	if c == nil {
		return
	}
	app.Ready = c.Status == metav1.ConditionTrue
	if c.Status != metav1.ConditionUnknown { // else an apply is under way, which says nothing yet
		app.Message = c.Message
	}
	if !app.Suspended {
		app.Since = c.LastTransitionTime.Time
	}
}

// inventoried adds an entry of status.inventory.
func (d *decoder) inventoried(app *gitops.Application, id gitops.ObjectID, entry string) {
	applied, err := ParseInventory(entry)
	if err != nil {
		d.problem(id, gitops.Undecodable, false, "status.inventory: %v", err)
		return
	}
	app.Inventory = append(app.Inventory, applied)
}

// kustomizationSource tells where a Kustomization's files come from.
func (d *decoder) kustomizationSource(id gitops.ObjectID, k kustomizev1.Kustomization) gitops.Source {
	out, _ := d.source(id, gitops.ObjectID{
		Group: SourceGroup, Kind: k.Spec.SourceRef.Kind, Name: k.Spec.SourceRef.Name,
		Namespace: cmp.Or(k.Spec.SourceRef.Namespace, id.Namespace),
	})
	out.Path = folder(k.Spec.Path)
	if out.Kind == "GitRepository" {
		out.Applied = Commit(k.Status.LastAppliedRevision)
	}
	return out
}

// into decodes an object's content. Errors name the field, never a value.
func into(o gitops.Object, targets ...any) error {
	encoded, err := json.Marshal(o.Content)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if err := json.Unmarshal(encoded, t); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) kustomize(id gitops.ObjectID, k kustomizev1.Kustomization, before older) *gitops.Kustomize {
	out := &gitops.Kustomize{
		Generate:                true,
		NamePrefix:              k.Spec.NamePrefix,
		NameSuffix:              k.Spec.NameSuffix,
		TargetNamespace:         k.Spec.TargetNamespace,
		Components:              k.Spec.Components,
		IgnoreMissingComponents: k.Spec.IgnoreMissingComponents,
	}
	for _, p := range before.Spec.PatchesStrategicMerge {
		out.Patches = append(out.Patches, gitops.Patch{Patch: string(p)})
	}
	for _, p := range k.Spec.Patches {
		out.Patches = append(out.Patches, gitops.Patch{Patch: p.Patch, Target: target(p.Target)})
	}
	for _, p := range before.Spec.PatchesJSON6902 {
		text, err := json.Marshal(p.Patch)
		if err != nil {
			d.problem(id, gitops.Undecodable, false, "spec.patchesJson6902: %v", err)
			continue
		}
		out.Patches = append(out.Patches, gitops.Patch{Patch: string(text), Target: target(&p.Target)})
	}
	out.Images = images(k.Spec.Images)
	for _, m := range k.Spec.BuildMetadata {
		out.BuildMetadata = append(out.BuildMetadata, string(m))
	}
	if m := k.Spec.CommonMetadata; m != nil {
		out.CommonLabels, out.CommonAnnotations = m.Labels, m.Annotations
	}
	if p := k.Spec.PostBuild; p != nil {
		out.PostBuild = &gitops.PostBuild{
			Substitute: p.Substitute,
			Always:     p.SubstituteStrategy == kustomizev1.SubstituteStrategyAlways,
		}
		for _, from := range p.SubstituteFrom {
			out.PostBuild.SubstituteFrom = append(out.PostBuild.SubstituteFrom, d.substituteFrom(id.Namespace, from))
		}
	}
	return out
}

// substituteFrom takes the values from a ConfigMap or Secret that is among the objects. A Secret without
// data was read without its values.
func (d *decoder) substituteFrom(namespace string, ref kustomizev1.SubstituteReference) gitops.SubstituteFrom {
	out := gitops.SubstituteFrom{Kind: ref.Kind, Name: ref.Name, Optional: ref.Optional}
	out.Values, out.Known = d.data(gitops.ObjectID{Kind: ref.Kind, Namespace: namespace, Name: ref.Name})
	return out
}

// data gives the texts of a ConfigMap or Secret, when they are known.
func (d *decoder) data(id gitops.ObjectID) (map[string]string, bool) {
	o, ok := d.find(id)
	if !ok {
		return nil, false
	}
	data, there := o.Content["data"].(map[string]any)
	if !there && id.Kind == "Secret" {
		return nil, false
	}
	values := make(map[string]string, len(data))
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value, ok := data[key].(string)
		if ok && id.Kind == "Secret" {
			decoded, err := base64.StdEncoding.DecodeString(value)
			value, ok = string(decoded), err == nil
		}
		if !ok {
			return nil, false
		}
		values[key] = value
	}
	return values, true
}

func target(s *kustomize.Selector) *gitops.PatchTarget {
	if s == nil {
		return nil
	}
	return &gitops.PatchTarget{
		Group: s.Group, Version: s.Version, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name,
		LabelSelector: s.LabelSelector, AnnotationSelector: s.AnnotationSelector,
	}
}

// folder cleans spec.path as the controller does: relative to the root of the artifact, which it cannot
// leave.
func folder(p string) string {
	return cmp.Or(path.Clean("/" + p)[1:], ".")
}
