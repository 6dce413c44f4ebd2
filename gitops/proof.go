package gitops

// Proof is what a re-render of everything that reads the changed files gave.
type Proof struct {
	// Verified says that the drifted fields equal live after the edit and nothing else moved.
	Verified bool `json:"verified"`
	// Complete says that every Application that reads a changed file could be rendered.
	Complete     bool             `json:"complete"`
	Applications []ProvenMember   `json:"applications"`
	Unproven     []UnprovenMember `json:"unproven,omitempty"`
	// Closed lists the findings and paths that the edit closes; Moved what else would move.
	Closed []string `json:"closed,omitempty"`
	Moved  []string `json:"moved,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// ProvenMember is an Application, or a kustomization root of the tree, that was rendered before and after.
// Digests cover all its rendered objects.
type ProvenMember struct {
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Path      string `json:"path"`
	Before    string `json:"before,omitempty"`
	After     string `json:"after,omitempty"`
}

// UnprovenMember is one that could not be rendered, and why.
type UnprovenMember struct {
	Cluster string `json:"cluster,omitempty"`
	Name    string `json:"name"`
	Path    string `json:"path"`
	Reason  string `json:"reason"`
}

// Scope is how far a codify may reach where several environments share a file.
type Scope string

// The scopes. The empty one is ScopeAuto.
const (
	// ScopeAuto goes to what several share where all that read it drift alike, else to the environment's own files.
	ScopeAuto Scope = "auto"
	// ScopeOverlay stays in files that the drifting Application alone reads.
	ScopeOverlay Scope = "overlay"
	// ScopeBase goes to where a value is declared for all, although others then take it too.
	ScopeBase Scope = "base"
)

// order is 0 for the narrowest scope.
func (s Scope) order() int {
	switch s {
	case ScopeOverlay:
		return 0
	case ScopeBase:
		return 2
	}
	return 1
}

// Within gives the scope, or most where it reaches further than that.
func (s Scope) Within(most Scope) Scope {
	if s.order() > most.order() {
		return most
	}
	return s
}
