package gitops

import "time"

// Engine is the GitOps engine that applies an Application.
type Engine string

// The engines. None is a plain folder that a pipeline applies.
const (
	Flux   Engine = "flux"
	ArgoCD Engine = "argocd"
	None   Engine = "none"
)

// Application is one unit of delivery: a Flux Kustomization or HelmRelease, an Argo CD Application, or a
// plain folder. It is decoded from an engine's object, or from a holdfast/v1 Application.
type Application struct {
	Cluster, Namespace, Name string
	Engine                   Engine
	// Kind is the kind of the engine's object: Kustomization, HelmRelease, Application.
	Kind   string
	Source Source
	Render Render
	// Managers are the field managers through which this engine applies from Git.
	Managers []Manager
	// Tracking tells live objects of this Application from others.
	Tracking Tracking
	// Inventory is what the engine says it applied; nil when the engine keeps none.
	Inventory []ObjectID
	// Interval is how often the engine corrects, for Argo CD how often it asks Git; 0 when unknown, negative for never.
	Interval time.Duration
	// Ignore are the fields that the engine was told to leave alone (Flux spec.ignore).
	Ignore []IgnoreRule
	// Suspended says that the engine neither applies nor corrects.
	Suspended bool
	// Correction is when the engine undoes live changes.
	Correction Correction
	// Since is since when the engine's word (Suspended, Ready) has been so; zero when its object does not tell.
	Since time.Time
	// Prune says that the engine deletes what leaves Git.
	Prune bool
	// Ready is the engine's own word on its last apply; Message is that word's text.
	Ready   bool
	Message string
	// Parts are further sources that are rendered into the same Application, after Source.Path with Render:
	// Argo CD's spec.sources beyond the first. An object of a later part replaces the same object of an earlier.
	Parts []Part
	// Mounts are other sources whose files a render reads. They appear in the tree of Source below a folder
	// whose name starts with $, and are never edited.
	Mounts []Mount
	// Project is Argo CD's AppProject.
	Project string
	// Options are Argo CD's sync options, such as Replace=true.
	Options []string
	// GeneratePaths is Argo CD's manifest-generate-paths: a commit that touches none of them renders nothing anew.
	GeneratePaths []string
	// Switches are settings on the engine's object that turn its correction off, each in a few words with
	// the field: "spec.suspend", "deny sync window \"0 22 * * *\" for 8h".
	Switches []string
}

// Correction is when an engine undoes live changes of an Application.
type Correction string

// The corrections.
const (
	// Heals: by itself, within Interval or at once.
	Heals Correction = "heals"
	// OnCommit: at the next commit only (Argo CD automated without selfHeal).
	OnCommit Correction = "on-commit"
	// ByHand: when a person asks (Argo CD without automated), or never (a HelmRelease without drift detection).
	ByHand Correction = "by-hand"
)

// Part is one more source of an Application. Path is in the Application's tree, mounts included.
type Part struct {
	Path   string
	Render Render
}

// Mount is another source, laid into the Application's tree at At: "$values" for an Argo CD ref, "$chart" for
// a Helm chart. Chart is set for a chart from a chart repository; Source is then empty. Tree is filled in by
// whoever can read the source; Known is false until then.
type Mount struct {
	At     string
	Source Source
	Chart  *Chart
	Known  bool
	Tree   Tree
}

// Chart is a Helm chart in an HTTP chart repository or an OCI registry.
type Chart struct {
	// Repo is the repository's URL, https:// or oci://; Name the chart's name, which for OCI is its last part.
	Repo, Name string
	// Version is what is asked for: a version or a semver range. Applied is the version that the engine
	// installed, when it tells.
	Version, Applied string
	// Digest is that of the chart's archive (sha256:…), when it is known; another one is refused. In a registry it
	// may be the manifest's, which then goes before every tag.
	Digest string
}

// IgnoreRule names fields, as JSON pointers, that the engine neither compares nor applies on the objects
// that Target selects; a nil Target selects all. Group, version, kind, name and namespace are regular
// expressions.
type IgnoreRule struct {
	// Name is where the rule stands: spec.ignoreDifferences[0], or a key of argocd-cm.
	Name   string
	Paths  []string
	Target *PatchTarget
	// JQ are jq path expressions, and Managers field managers whose fields are left alone (Argo CD).
	JQ, Managers []string
	// Exact compares Target's texts as they are, with * for any run of characters, instead of as regular
	// expressions (Argo CD).
	Exact bool
}

// Manager is a field manager and the operation it writes with ("Apply" or "Update"; empty matches both).
type Manager struct {
	Name, Operation string
}

// ID is the identity of the Application across clusters, as outputs print it: cluster/namespace/name.
func (a Application) ID() string { return a.Cluster + "/" + a.Namespace + "/" + a.Name }

// Source is where an Application's files come from.
type Source struct {
	// Repo is the URL as the engine has it; empty with a local folder.
	Repo string
	// Path is the folder (or one file) in the repository that is rendered.
	Path string
	// Branch is the branch that the engine follows; empty when it follows a tag, a semver range, a
	// commit or something that is no Git repository, in which case a commit would not reach the cluster.
	Branch string
	// Applied is the commit that the engine last applied; empty when it never did.
	Applied string
	// Kind is the engine's kind of source: GitRepository, OCIRepository, Bucket, or Git.
	Kind string
	// Ref is the kind, namespace and name of the engine's source object.
	Ref ObjectID
}

// Render says how a folder becomes objects.
type Render struct {
	// Kustomize holds what the engine adds to the folder's own kustomization. With neither Kustomize nor Helm
	// the folder is plain YAML.
	Kustomize *Kustomize
	// Helm renders the folder as a chart. Kustomize is then nil.
	Helm *Helm
	// Directory reads a plain folder as Argo CD does: its Jsonnet files count as manifests, and a file that says
	// +argocd:skip-file-rendering does not. Include and Exclude narrow it by glob patterns over the paths in it, in
	// which * crosses slashes.
	Directory        bool
	Include, Exclude string
	// Detect leaves it to the folder: with a kustomization file it is built, without one it is plain. It is
	// settled, and unset, when the folder is first read.
	Detect bool
	// Recurse reads sub-folders of a plain folder too.
	Recurse bool
	// Namespace is given to namespaced objects that name none. NamespaceAssumed says that nobody named it: whoever
	// applies the folder may have named another one.
	Namespace        string
	NamespaceAssumed bool
	// File is where the engine's object itself stands in the repository, when it does: the place of
	// inline patches, images and substitutions. Document is its index in File.
	File     string
	Document int
}

// Kustomize is what a Flux Kustomization or an Argo CD Application adds to the folder's own kustomization, in
// the words of its spec.
type Kustomize struct {
	// Generate makes a kustomization of all manifests below a folder that has none, as Flux does.
	Generate                bool
	NamePrefix, NameSuffix  string
	TargetNamespace         string
	Components              []string
	IgnoreMissingComponents bool
	Patches                 []Patch
	Images                  []Image
	// CommonLabels and CommonAnnotations are put on the built objects (Flux's spec.commonMetadata).
	CommonLabels      map[string]string
	CommonAnnotations map[string]string
	// Replicas are kustomize's replicas (Argo CD).
	Replicas []Replica
	// Labels and Annotations are added to the kustomization itself, as by `kustomize edit add` (Argo CD), nil
	// without.
	Labels, Annotations *Common
	// BuildMetadata are kustomize's buildMetadata options, which put annotations into the objects.
	BuildMetadata []string
	PostBuild     *PostBuild
}

// Patch is an inline patch (strategic merge or JSON 6902) and its target.
type Patch struct {
	Patch  string
	Target *PatchTarget
}

// PatchTarget selects objects by regular expressions and selectors, as kustomize reads them.
type PatchTarget struct {
	Group, Version, Kind, Namespace, Name string
	LabelSelector, AnnotationSelector     string
}

// Replica sets the replicas of the workloads of a name.
type Replica struct {
	Name  string
	Count int64
}

// Common is one set of labels or annotations that kustomize puts on all objects.
type Common struct {
	Pairs map[string]string
	// Force replaces what the kustomization has already, which is an error without it.
	Force bool
	// WithoutSelector leaves selectors, and templates unless IncludeTemplates is set, as they are. Labels only.
	WithoutSelector, IncludeTemplates bool
}

// Image is an image override. TagSuffix is never set by Flux.
type Image struct {
	Name, NewName, NewTag, Digest string
}

// PostBuild is Flux's variable substitution. Always and Strict follow spec.postBuild.substituteStrategy and
// the controller's StrictPostBuildSubstitutions gate.
type PostBuild struct {
	Substitute     map[string]string
	SubstituteFrom []SubstituteFrom
	Always, Strict bool
}

// SubstituteFrom names a ConfigMap or Secret with variables. Values are filled in by whoever can read it;
// Known is false while they are not known.
type SubstituteFrom struct {
	Kind, Name string
	Optional   bool
	Known      bool
	Values     map[string]string
}

// Helm says how a chart becomes objects.
type Helm struct {
	// ReleaseName and Namespace are .Release.Name and .Release.Namespace.
	ReleaseName, Namespace string
	// ValuesFiles take the place of the chart's own values.yaml, merged in order (Flux's valuesFiles); empty keeps
	// it.
	ValuesFiles []Values
	// Values are merged in order, later ones win, over the chart's own.
	Values []Values
	// ChartVersion is what the chart sees as its own version where the engine changes that of Chart.yaml: Flux
	// adds a revision or a digest. Empty keeps it.
	ChartVersion string
	// StorageNamespace is where the engine keeps its record of the release; empty when it keeps none.
	StorageNamespace string
	// Revision is the revision of the release that is deployed, as the engine made it; 0 when it tells none.
	Revision int
	// KubeVersion (v1.31.2) and APIVersions are what the chart sees of the cluster; empty takes the cluster's,
	// else Helm's own defaults.
	KubeVersion string
	APIVersions []string
	// SkipCRDs leaves out the chart's crds folder; SkipSchema its values.schema.json.
	SkipCRDs, SkipSchema bool
	// PostRenderers change the rendered objects, one after the other (Flux's spec.postRenderers).
	PostRenderers []Kustomize
	// CommonLabels and CommonAnnotations are put on every object after all else (Flux's spec.commonMetadata).
	CommonLabels, CommonAnnotations map[string]string
}

// Values is one source of a chart's values: exactly one of File, Text, Inline, Parameter and From is set.
type Values struct {
	// File is a values file in the Application's tree. With Optional it may be missing, and so may From.
	File     string
	Optional bool
	// Text is YAML as it stands in the engine's object (Argo CD's helm.values).
	Text string
	// Inline is a mapping of the engine's object (HelmRelease spec.values, Argo CD's valuesObject).
	Inline map[string]any
	// Parameter is one value in Helm's --set syntax.
	Parameter *Parameter
	// From is a ConfigMap's or Secret's key (HelmRelease spec.valuesFrom).
	From *ValuesFrom
	// At is where it stands in the engine's object; empty where it does not.
	At Path
}

// Parameter sets one value by Helm's --set syntax: as --set, with String as --set-string, with File as
// --set-file, whose file in the tree it names.
type Parameter struct {
	Name, Value, File string
	String            bool
}

// ValuesFrom names a key of a ConfigMap or Secret; its text is YAML, or with TargetPath one value set there: in the
// syntax of Helm's --set, with Literal as it is. Known is false while nobody could read it.
type ValuesFrom struct {
	Kind, Name, Key, TargetPath string
	Literal, Known              bool
	Text                        string
}

// Tracking is how an engine marks the objects of one Application.
type Tracking struct {
	// Labels that all objects of the Application carry.
	Labels map[string]string
	// Selector finds the objects of all Applications of this engine by label; empty where only
	// annotations track.
	Selector string
	// Annotation is the key whose value names Application and object.
	Annotation string
	// Installation is the value of Argo CD's annotation installation-id where several instances share a
	// cluster; an object with another value, or none, is not tracked by its annotation.
	Installation string
}
