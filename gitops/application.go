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
	// Interval is how often the engine corrects; 0 when unknown.
	Interval time.Duration
	// Ignore are the fields that the engine was told to leave alone (Flux spec.ignore).
	Ignore []IgnoreRule
	// Suspended says that the engine neither applies nor corrects, and Reason why.
	Suspended bool
	// Prune says that the engine deletes what leaves Git.
	Prune bool
	// Ready is the engine's own word on its last apply; Message is that word's text.
	Ready   bool
	Message string
}

// IgnoreRule names fields, as JSON pointers, that the engine neither compares nor applies on the objects
// that Target selects; a nil Target selects all. Group, version, kind, name and namespace are regular
// expressions.
type IgnoreRule struct {
	Paths  []string
	Target *PatchTarget
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
	// Kustomize holds what the engine adds to the folder's own kustomization. Nil renders plain YAML.
	Kustomize *Kustomize
	// Detect leaves it to the folder: with a kustomization file it is built, without one it is plain. It is
	// settled, and unset, when the folder is first read.
	Detect bool
	// Recurse reads sub-folders of a plain folder too.
	Recurse bool
	// Namespace is given to namespaced objects that name none.
	Namespace string
	// File is where the engine's object itself stands in the repository, when it does: the place of
	// inline patches, images and substitutions. Document is its index in File.
	File     string
	Document int
}

// Kustomize is what a Flux Kustomization adds to the folder's own kustomization, in the words of its spec.
type Kustomize struct {
	// Generate makes a kustomization of all manifests below a folder that has none, as Flux does.
	Generate                bool
	NamePrefix, NameSuffix  string
	TargetNamespace         string
	Components              []string
	IgnoreMissingComponents bool
	Patches                 []Patch
	Images                  []Image
	CommonLabels            map[string]string
	CommonAnnotations       map[string]string
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

// Tracking is how an engine marks the objects of one Application.
type Tracking struct {
	// Labels that all objects of the Application carry.
	Labels map[string]string
	// Selector finds the objects of all Applications of this engine by label; empty where only
	// annotations track.
	Selector string
	// Annotation is the key whose value names Application and object.
	Annotation string
}
