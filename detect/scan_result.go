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
	// Conditions say what keeps the engine from applying or correcting it. Its drift is found all the same.
	Conditions []Condition
	// Declared are its rendered objects at the applied revision; nil when the state is unknown.
	Declared []gitops.Declared
}

// Condition is something that keeps an engine from applying or correcting an Application, as the engine's own object
// tells.
type Condition struct {
	Type ConditionType `json:"type"`
	// Since is since when; zero when the object does not tell.
	Since time.Time `json:"since,omitzero"`
	// Message says more: the setting, the engine's own words, or what is late.
	Message string `json:"message,omitempty"`
	// Writer made the setting; nil where nobody set anything.
	Writer *Writer `json:"writer,omitempty"`
}

// ConditionType is a kind of Condition.
type ConditionType string

// The conditions, in the order in which they are told.
const (
	Suspended       ConditionType = "suspended"        // neither applied nor corrected, by a setting
	SwitchedOff     ConditionType = "switched-off"     // another setting turns part of the correction off
	NeverReconciled ConditionType = "never-reconciled" // the engine has not applied it once
	Stalled         ConditionType = "stalled"          // the engine has given up until somebody changes something
	Failing         ConditionType = "failing"          // its last apply did not succeed
	Stale           ConditionType = "stale"            // the engine has not looked at it when it should have
)

// UnknownObject is an object that could not be judged, and why: an unread Secret, a forbidden list, a file
// that does not parse; without an object, a whole cluster that could not be read.
type UnknownObject struct {
	Cluster, Application string
	Object               ObjectRef
	Reason               string
	// ByChoice is true for what the operator chose not to read; it does not make the exit code 2.
	ByChoice bool
}

// ScannedCluster is what a cluster that was read says of itself.
type ScannedCluster struct {
	Name string
	Tier Tier
	// Version is its API server's, such as v1.36.3, APIVersions what it serves; both are empty for a dump.
	Version     string
	APIVersions []string
}

// Scan is the whole answer of one scan.
type Scan struct {
	Time         time.Time
	Clusters     []ScannedCluster
	Applications []AssessedApplication
	Findings     []Finding
	Unknown      []UnknownObject
	// Notes are remarks about what was read, such as that a dump tells no writers.
	Notes []string
	// Objects counts the declared objects that were compared.
	Objects int
}
