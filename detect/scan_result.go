package detect

import (
	"time"

	"holdfast/gitops"
)

// State says whether an Application could be assessed.
type State string

// The states.
const (
	Rendered State = "rendered"
	Unknown  State = "unknown"
)

// AssessedApplication is an Application and how far it could be assessed.
type AssessedApplication struct {
	Application gitops.Application
	State       State
	// Reason says why the state is unknown, what could not be read, or what limits the verdict.
	Reason string
	// Declared are its rendered objects at the applied revision; nil when the state is unknown.
	Declared []gitops.Declared
}

// UnknownObject is an object that could not be judged, and why: an unread Secret, a forbidden list, a file
// that does not parse; without an object, a whole cluster that could not be read.
type UnknownObject struct {
	Cluster, Application string
	Object               ObjectRef
	Reason               string
	// ByChoice is true for what the operator chose not to read; it does not make the exit code 2.
	ByChoice bool
}

// Scan is the whole answer of one scan.
type Scan struct {
	Time         time.Time
	Applications []AssessedApplication
	Findings     []Finding
	Unknown      []UnknownObject
	// Notes are remarks about what was read, such as that a dump tells no writers.
	Notes []string
	// Objects counts the declared objects that were compared.
	Objects int
}
