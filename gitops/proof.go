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
