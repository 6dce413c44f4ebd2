// Package templates holds the texts that people read (pull requests, issues, commit messages, revert
// records) as Markdown templates, and the views that they show. It knows nothing else of the product: the
// caller fills the views with text.
package templates

// Change is one row of "what changed".
type Change struct {
	Object string
	// Path is empty for a change of the object as a whole; Note says then what happened.
	Path, Note string
	Git, Live  string
	Cause      string
	Risk       string
	By, When   string
	Confidence string
	Reason     string
}

// Control is a control reference.
type Control struct {
	Standard, ID, Title string
}

// Rule is why a disposition was chosen.
type Rule struct {
	Name        string
	Disposition string
	// Decided are the fields or objects that it decided on.
	Decided []string
	Trace   []string
}

// File is one changed file and its unified diff.
type File struct {
	Path, Diff string
}

// Member is one line of the proof.
type Member struct {
	Name, Path, Before, After, Reason string
}

// Proof is what the re-render gave.
type Proof struct {
	Complete bool
	Checked  []Member
	Moved    []string
	Unproven []Member
}

// PullRequest is the body of a codify or revert pull request.
type PullRequest struct {
	Disposition string
	Application string
	Cluster     string
	// Also are the other Applications that it is for, as cluster/namespace/name.
	Also       []string
	Risk       string
	Base       string
	BaseCommit string
	Changes    []Change
	Unplaced   []Change
	Files      []File
	// Choices say why some values are written where they are.
	Choices  []Change
	Controls []Control
	Rules    []Rule
	Proof    Proof
	Reach    []string
	// AfterMerge says what happens once it is merged.
	AfterMerge string
	Answers    []Answer
	// CutAt limits the characters of the whole; RecordHint says where the rest is.
	RecordHint string
}

// Answer is a way to answer, as a command or an act.
type Answer struct {
	How, Effect string
}

// Issue is the body of a drift's audit tracker.
type Issue struct {
	Disposition  string
	Object       string
	Applications []string
	Presence     string
	Risk         string
	Cause        string
	Reason       string
	FirstSeen    string
	Declared     string
	Changes      []Change
	Explained    []Change
	Controls     []Control
	Rules        []Rule
	// Codify says what a codify would write, or why it cannot; Revert how Git's state comes back.
	Codify, Revert string
	PullRequest    string
	Answers        []Answer
	RecordHint     string
}

// Record is the Markdown record that a revert commits.
type Record struct {
	ID          string
	Application string
	Cluster     string
	Branch      string
	Changes     []Change
	Rules       []Rule
	Controls    []Control
	Remains     []string
	How         string
}

// Commit is a commit message.
type Commit struct {
	Subject  string
	Changes  []Change
	Trailers []Trailer
}

// Trailer is one Git trailer.
type Trailer struct {
	Key, Value string
}
