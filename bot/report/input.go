// Package report makes the GitOps State Drift and Reconciliation Analysis: what of scans, ledgers and controllers' figures says
// how far clusters and Git are the same, where drift comes from, how well engines keep up, which controls it bears on and what to
// do. It does no I/O. What was not observed is said to be unknown, each table says what it rests on and how much of it, and the
// analysis reviews itself before anybody reads it.
package report

import (
	"time"

	"holdfast/bot/ledger"
	"holdfast/bot/report/capacity/simulate"
	"holdfast/bot/report/crd"
	"holdfast/bot/report/knowledge"
	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/setting"
	"holdfast/gitops"
)

// Input is all that a report is made of.
type Input struct {
	Now time.Time
	// Given is what the reader asked about. What is left out is taken from what was observed.
	Given       setting.Setting
	Scans       []Scan
	Trails      []Trail
	Controllers []Controller
	// Unread is what should have been read and could not; the rest stands.
	Unread []Unread
	// Synthetic says why all data are made up, for a demonstration; empty for observed data.
	Synthetic string
	// Chance is for the simulation; nil leaves it out.
	Chance    simulate.Chance
	Assessor  *assess.Assessor
	Knowledge *knowledge.Base
	Schemas   *crd.Schemas
}

// Scan is one look at one or more clusters.
type Scan struct {
	// Source is where it is from: a file, or the cluster itself.
	Source       string
	Time         time.Time
	Clusters     []Cluster
	Applications []Application
	Findings     []detect.Finding
	Unknown      []Unread
	Objects      int
}

// Cluster is what a scan says of a cluster. What it does not say is empty.
type Cluster struct {
	Name     string
	Tier     detect.Tier
	Version  string
	Provider *setting.Detected
	Engines  []setting.DetectedEngine
}

// Application is what a scan says of an Application.
type Application struct {
	Cluster, Namespace, Name string
	Engine                   gitops.Engine
	Kind                     string
	Repository               string
	Assessed                 bool
	Reason                   string
	Suspended                bool
	Conditions               []detect.Condition
	Objects                  int
	// Interval, Correction and Prune are empty or nil where the scan does not tell.
	Interval   time.Duration
	Correction gitops.Correction
	Prune      *bool
}

// ID names the Application as findings do, with its cluster.
func (a Application) ID() string { return a.Cluster + "/" + a.Namespace + "/" + a.Name }

// Unread is something that could not be read or judged.
type Unread struct {
	Cluster string `json:"cluster,omitempty"`
	What    string `json:"what"`
	Reason  string `json:"reason"`
}

// Controller is what was measured of one controller of an engine. A figure that was not measured is nil.
type Controller struct {
	Cluster string
	// Name is the controller's, such as kustomize-controller; Queue the name of its work queue.
	Name, Queue string
	Engine      gitops.Engine
	Source      string
	// Duration is of turns, QueueWait of waits, in seconds.
	Duration, QueueWait *Distribution
	Depth               *float64
	Retries             *float64
	// Workers is the setting, Busy how many were at work.
	Workers *int
	Busy    *float64
	// Oldest is the age of the Application that was reconciled longest ago, in seconds.
	Oldest *float64
}

// Distribution is a measured quantity.
type Distribution struct {
	Count int
	Mean  float64
	// SCV is the squared coefficient of variation; nil where only a histogram without usable spread was given.
	SCV *float64
	// At gives a percentile (0.5, 0.95, 0.99); ok is false where the sample is too small for it.
	P50, P95, P99 *float64
	// Values are a sample of single measurements, for the simulation; may be nil.
	Values []float64
}

// Trail is what a ledger says, made by NewTrail and Add.
type Trail struct {
	Source string
	// Verdict is that of its verification; empty when no keys were given to verify it with. Problems counts what was wrong.
	Verdict  ledger.Verdict
	Problems int
	// First and Last are the times of its first and last record.
	First, Last time.Time
	Records     int

	drifts  map[string]*recorded
	threads map[string][]string // findings by thread
	order   []string
}
