package gitops

// EngineProblemKind says what is the matter with an engine's object.
type EngineProblemKind string

// The kinds of problems.
const (
	// Undecodable: the object does not have the shape of its kind; there is no Application for it.
	Undecodable EngineProblemKind = "undecodable"
	// NoSource: the source object is not among those read, so repository and branch are not known.
	NoSource EngineProblemKind = "no-source"
	// OtherCluster: the objects are applied to another cluster (spec.kubeConfig).
	OtherCluster EngineProblemKind = "other-cluster"
	// Encrypted: the controller decrypts SOPS files, whose values are not known here.
	Encrypted EngineProblemKind = "encrypted"
	// OutsideRepository: the source adds files of other repositories, or leaves files out, in a way that
	// its repository alone does not show.
	OutsideRepository EngineProblemKind = "outside-repository"
	// Unsupported: the engine renders it with something that is not run here (a plugin, jsonnet).
	Unsupported EngineProblemKind = "unsupported"
	// Generated: another object of the engine makes this one (an ApplicationSet), so its own spec is no place
	// to edit.
	Generated EngineProblemKind = "generated"
	// Inferred: what was applied is not told by the engine, and was taken from something near it.
	Inferred EngineProblemKind = "inferred"
	// Syntax: a file that names the engine's groups cannot be read.
	Syntax EngineProblemKind = "syntax"
)

// EngineProblem is something that limits what can be said about an Application.
type EngineProblem struct {
	// File and Document are set for objects of a repository tree.
	File     string
	Document int
	// Object is the engine's object; zero for a file that cannot be read.
	Object  ObjectID
	Kind    EngineProblemKind
	Message string
	// Blocks says that the Application cannot be compared with the cluster that it was read from: its
	// state there is unknown.
	Blocks bool
}

// String gives file: object: message.
func (p EngineProblem) String() string {
	text := p.Message
	if p.Object.Name != "" {
		text = p.Object.String() + ": " + text
	}
	if p.File != "" {
		text = p.File + ": " + text
	}
	return text
}
