package report

import (
	"time"

	"holdfast/bot/report/capacity"
	"holdfast/detect"
	"holdfast/gitops"
)

// Title is the analysis's.
const Title = "GitOps State Drift and Reconciliation Analysis"

// Report is the analysis as data. A figure that is not known is absent.
type Report struct {
	APIVersion string    `json:"apiVersion" jsonschema:"enum=holdfast/v1"`
	Kind       string    `json:"kind" jsonschema:"enum=Report"`
	Title      string    `json:"title"`
	Time       time.Time `json:"time"`
	// Synthetic says why all figures are made up; absent where they were observed.
	Synthetic string `json:"synthetic,omitempty"`
	// NoData says that nothing was observed, so that there are no figures.
	NoData     bool       `json:"noData,omitempty"`
	Variables  []Variable `json:"variables"`
	Data       Data       `json:"data"`
	Brief      Brief      `json:"brief"`
	Mechanism  Mechanism  `json:"mechanism"`
	Matrix     Matrix     `json:"matrix"`
	Bottleneck Bottleneck `json:"bottleneck"`
	Detection  Detection  `json:"detection"`
	Compliance Compliance `json:"compliance"`
	Plan       Plan       `json:"plan"`
	Review     []Check    `json:"review"`
}

// Variable is one of the six that an analysis is about.
type Variable struct {
	Name string `json:"name"`
	// Given is what the reader named, Observed what was found; empty for neither. Used is what the sections rest on.
	Given    string `json:"given,omitempty"`
	Observed string `json:"observed,omitempty"`
	Used     string `json:"used"`
	// Because says what the observation rests on.
	Because []string `json:"because,omitempty"`
	// Differs says that both are known and not the same.
	Differs bool `json:"differs,omitempty"`
}

// Basis is what a table rests on.
type Basis struct {
	// Source says where the figures are from, Sample of how many of what. N is the sample's size; 0 for no data.
	Source string `json:"source"`
	Sample string `json:"sample"`
	N      int    `json:"n"`
}

// Data says what was read.
type Data struct {
	Inputs []DataInput `json:"inputs,omitempty"`
	Unread []Unread    `json:"unread,omitempty"`
	// WrongClocks counts changes dated after they were seen, by more than clocks may differ; they are in no duration.
	WrongClocks int `json:"wrongClocks,omitempty"`
}

// DataInput is one scan, ledger or set of figures.
type DataInput struct {
	What   string    `json:"what"`
	Source string    `json:"source"`
	Sample string    `json:"sample"`
	From   time.Time `json:"from,omitzero"`
	To     time.Time `json:"to,omitzero"`
}

// Brief is the executive brief.
type Brief struct {
	Text  string `json:"text"`
	Words int    `json:"words"`
	// Applications are those that were to be assessed; Unassessed those that could not be, Drifting those of the rest with drift.
	Applications *int  `json:"applications,omitempty"`
	Unassessed   *int  `json:"unassessed,omitempty"`
	Drifting     *int  `json:"drifting,omitempty"`
	Basis        Basis `json:"basis"`
	// Exposure is the primary one: a vector's id, with the risk of its worst drift.
	Exposure string `json:"exposure,omitempty"`
	Risk     string `json:"risk,omitempty"`
}

// Mechanism is how these engines detect and correct on these providers.
type Mechanism struct {
	Scope       string            `json:"scope"`
	Basis       Basis             `json:"basis"`
	Engines     []MechanismEngine `json:"engines,omitempty"`
	Providers   []MechanismCloud  `json:"providers,omitempty"`
	Corrections []Correction      `json:"corrections,omitempty"`
}

// MechanismEngine is an engine's part.
type MechanismEngine struct {
	Engine   string   `json:"engine"`
	Detects  string   `json:"detects"`
	Corrects string   `json:"corrects"`
	Records  string   `json:"records"`
	Blind    []string `json:"blind,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// MechanismCloud is a provider's part.
type MechanismCloud struct {
	Provider    string `json:"provider"`
	Admission   string `json:"admission"`
	Autoscaling string `json:"autoscaling"`
	Audit       string `json:"audit"`
}

// Correction counts Applications by when their engine corrects.
type Correction struct {
	Engine     string `json:"engine"`
	Kind       string `json:"kind"`
	Heals      int    `json:"heals"`
	OnCommit   int    `json:"onCommit"`
	ByHand     int    `json:"byHand"`
	Suspended  int    `json:"suspended"`
	NotTold    int    `json:"notTold"`
	Conditions int    `json:"withConditions"`
}

// Matrix is the drift source vulnerability matrix.
type Matrix struct {
	Scope string      `json:"scope"`
	Basis Basis       `json:"basis"`
	Rows  []VectorRow `json:"rows"`
	// Drifts is the sum of the rows that are drift.
	Drifts *int `json:"drifts,omitempty"`
	// ClusterDays is the time that rates rest on; absent with a single look.
	ClusterDays *float64    `json:"clusterDays,omitempty"`
	From        time.Time   `json:"from,omitzero"`
	To          time.Time   `json:"to,omitzero"`
	Autoscaling Autoscaling `json:"autoscaling"`
	Tier        TierPart    `json:"tier"`
	// Buckets count drifts by when they were detected, in steps of equal length, for the plot.
	Buckets []Bucket `json:"buckets,omitempty"`
	Worst   []Worst  `json:"worst,omitempty"`
}

// VectorRow is one vector. Without data its figures are absent.
type VectorRow struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Drift bool   `json:"drift"`
	// Count is how many drifts, Open how many of them are there at the last look, Share their part of all drift.
	Count *int     `json:"count,omitempty"`
	Open  *int     `json:"open,omitempty"`
	Share *float64 `json:"share,omitempty"`
	// PerClusterDay counts those that began while clusters were observed.
	PerClusterDay *float64 `json:"perClusterDay,omitempty"`
	Trend         *Trend   `json:"trend,omitempty"`
	// Explained are fields that differ for this reason and are no drift.
	Explained *int `json:"explained,omitempty"`
	// EngineSees is by engine; OnlyHoldfast is what no engine does.
	EngineSees   []string         `json:"engineSees,omitempty"`
	OnlyHoldfast string           `json:"onlyHoldfast"`
	Looms        string           `json:"looms"`
	Risk         string           `json:"risk,omitempty"`
	ByRisk       map[string]int   `json:"byRisk,omitempty"`
	Controls     []detect.Control `json:"controls,omitempty"`
}

// Autoscaling counts intentional scaling, apart from drift.
type Autoscaling struct {
	Basis Basis `json:"basis"`
	// Fields that an autoscaler holds within its bounds, on so many Objects; Contradictions are objects on which Git declares
	// what an autoscaler sets.
	Fields         *int     `json:"fields,omitempty"`
	Objects        *int     `json:"objects,omitempty"`
	Contradictions *int     `json:"contradictions,omitempty"`
	Examples       []string `json:"examples,omitempty"`
}

// TierPart are causes that belong to the tier.
type TierPart struct {
	// Compared says that tiers were observed side by side; else the causes are from the catalogue.
	Compared bool        `json:"compared"`
	Basis    Basis       `json:"basis"`
	Causes   []TierCause `json:"causes,omitempty"`
	// Rows are the drifts of each tier by vector, where they were compared.
	Rows []TierRow `json:"rows,omitempty"`
}

// TierCause is one cause.
type TierCause struct {
	Tier   string `json:"tier"`
	Vector string `json:"vector"`
	Cause  string `json:"cause"`
	Sign   string `json:"sign,omitempty"`
	// Observed counts drifts of this vector in this tier, where the cause is from the catalogue and something was observed.
	Observed *int   `json:"observed,omitempty"`
	Origin   string `json:"origin" jsonschema:"enum=observed,enum=catalogue"`
}

// TierRow is what was observed of one tier.
type TierRow struct {
	Tier     string         `json:"tier"`
	Clusters int            `json:"clusters"`
	Drifts   int            `json:"drifts"`
	ByVector map[string]int `json:"byVector"`
}

// Bucket is one step of the plot of drifts over time.
type Bucket struct {
	From     time.Time      `json:"from"`
	To       time.Time      `json:"to"`
	ByVector map[string]int `json:"byVector"`
}

// Worst is one of the drifts that weigh most and are open.
type Worst struct {
	Finding     string           `json:"finding"`
	Cluster     string           `json:"cluster"`
	Application string           `json:"application"`
	Object      detect.ObjectRef `json:"object"`
	Vector      string           `json:"vector"`
	Risk        string           `json:"risk"`
	Writer      string           `json:"writer,omitempty"`
}

// Bottleneck is how well controllers keep up.
type Bottleneck struct {
	Scope       string              `json:"scope"`
	Basis       Basis               `json:"basis"`
	Controllers []ControllerRow     `json:"controllers,omitempty"`
	Predictions []Forecast          `json:"predictions,omitempty"`
	API         Load                `json:"apiServer"`
	Repository  Load                `json:"repository"`
	Sharding    []string            `json:"sharding,omitempty"`
	Advice      []string            `json:"advice,omitempty"`
	Measured    []MeasuredAgreement `json:"measured,omitempty"`
}

// ControllerRow is one controller as it was measured, and what its Applications ask of it.
type ControllerRow struct {
	Cluster      string        `json:"cluster"`
	Name         string        `json:"name"`
	Engine       gitops.Engine `json:"engine"`
	Applications int           `json:"applications"`
	// Interval is the mean of its Applications', in seconds.
	Interval *float64     `json:"intervalSeconds,omitempty"`
	Duration *Percentiles `json:"durationSeconds,omitempty"`
	Wait     *Percentiles `json:"queueWaitSeconds,omitempty"`
	Depth    *float64     `json:"queueDepth,omitempty"`
	Retries  *float64     `json:"retries,omitempty"`
	Oldest   *float64     `json:"oldestSeconds,omitempty"`
	Busy     *float64     `json:"busyWorkers,omitempty"`
	Workers  int          `json:"workers"`
	// WorkersFrom says whether the number of workers was read or is the engine's default.
	WorkersFrom string `json:"workersFrom" jsonschema:"enum=read,enum=default"`
	Source      string `json:"source"`
	// Limit is the longest mean turn, in seconds, at which the queue is stable.
	Limit *float64 `json:"longestStableTurnSeconds,omitempty"`
}

// Forecast is one controller at one size of the fleet.
type Forecast struct {
	Cluster    string `json:"cluster"`
	Controller string `json:"controller"`
	// Factor is the fleet against now; Rollout says that all its Applications become due at once.
	Factor       int  `json:"factor"`
	Rollout      bool `json:"rollout,omitempty"`
	Applications int  `json:"applications"`
	// Formula is absent where no durations were measured; Simulated too, and where the simulation was left out.
	Formula   *capacity.Prediction `json:"formula,omitempty"`
	Simulated *Simulated           `json:"simulated,omitempty"`
	// Error is that of the formula's wait against the simulation's, as a share of the mean turn.
	Error *float64 `json:"errorOfMeanTurn,omitempty"`
	// Limit is the longest mean turn at which the queue is stable, in seconds.
	Limit *float64 `json:"longestStableTurnSeconds,omitempty"`
	Says  string   `json:"says"`
}

// Simulated is what the simulation gives.
type Simulated struct {
	Wait        float64  `json:"waitSeconds"`
	Utilisation float64  `json:"utilisation"`
	Period      float64  `json:"periodSeconds,omitempty"`
	Drain       *float64 `json:"rolloutDrainSeconds,omitempty"`
	RolloutWait *float64 `json:"rolloutWaitSeconds,omitempty"`
	Turns       int      `json:"turns"`
}

// MeasuredAgreement holds formula and simulation against a queue wait that was measured.
type MeasuredAgreement struct {
	Cluster    string  `json:"cluster"`
	Controller string  `json:"controller"`
	Measured   float64 `json:"measuredSeconds"`
	N          int     `json:"n"`
	Formula    float64 `json:"formulaSeconds"`
	Simulation float64 `json:"simulationSeconds"`
}

// Load is what is asked of a server.
type Load struct {
	PerCluster *float64 `json:"perClusterPerSecond,omitempty"`
	Fleet      *float64 `json:"fleetPerSecond,omitempty"`
	Says       string   `json:"says"`
}

// Detection is the analysis of the detection interval.
type Detection struct {
	Scope string `json:"scope"`
	Basis Basis  `json:"basis"`
	// ChangeToDetection and the others are in seconds.
	ChangeToDetection  Percentiles `json:"changeToDetectionSeconds"`
	DetectionToClosure Percentiles `json:"detectionToClosureSeconds"`
	ChangeToClosure    Percentiles `json:"changeToClosureSeconds"`
	// Missed is the share of known windows that a poll at an interval would not have seen.
	Missed       []Missed      `json:"missed,omitempty"`
	Expectations []Expectation `json:"expectations,omitempty"`
	Says         []string      `json:"says,omitempty"`
}

// Missed is one interval.
type Missed struct {
	Interval float64 `json:"intervalSeconds"`
	Share    float64 `json:"share"`
	// Used says that it is the interval of this analysis.
	Used bool `json:"used,omitempty"`
}

// Expectation is what a standard expects of detection, and whether the interval meets it.
type Expectation struct {
	Control []detect.Control `json:"controls,omitempty"`
	What    string           `json:"what"`
	Says    string           `json:"says"`
	Force   string           `json:"force"`
	// Within is the standard's figure in seconds; absent where it has none.
	Within *float64 `json:"withinSeconds,omitempty"`
	// Longest is the longest interval at which the expectation is met by polling, in seconds.
	Longest *float64 `json:"longestIntervalSeconds,omitempty"`
	Met     string   `json:"met" jsonschema:"enum=met,enum=not met,enum=unknown,enum=own policy"`
	Why     string   `json:"why,omitempty"`
}

// Compliance is the gap analysis.
type Compliance struct {
	Scope     string        `json:"scope"`
	Basis     Basis         `json:"basis"`
	Scenarios []Scenario    `json:"scenarios,omitempty"`
	Trails    []TrailDemand `json:"trails,omitempty"`
}

// Scenario is one kind of drift and the controls that it bears on.
type Scenario struct {
	Name     string           `json:"name"`
	Class    string           `json:"class,omitempty"`
	Category string           `json:"category"`
	Risk     string           `json:"risk,omitempty"`
	Controls []detect.Control `json:"controls,omitempty"`
	// Drifts is how many findings; Recorded how many of them a ledger has. Both are absent where they are not known.
	Drifts   *int   `json:"drifts,omitempty"`
	Recorded *int   `json:"recorded,omitempty"`
	Evidence string `json:"evidence" jsonschema:"enum=present,enum=partly missing,enum=missing,enum=unknown"`
}

// TrailDemand is what a standard demands of the audit trail, and whether it is met.
type TrailDemand struct {
	ID       string           `json:"id"`
	Standard string           `json:"standard"`
	Part     string           `json:"part" jsonschema:"enum=content,enum=retention,enum=integrity"`
	Controls []detect.Control `json:"controls,omitempty"`
	Says     string           `json:"says"`
	Met      string           `json:"met" jsonschema:"enum=met,enum=not met,enum=unknown,enum=own policy"`
	Why      string           `json:"why"`
}

// Plan is the remediation action plan.
type Plan struct {
	Scope   string   `json:"scope"`
	Basis   Basis    `json:"basis"`
	Actions []Action `json:"actions,omitempty"`
}

// Action is one recommendation.
type Action struct {
	ID       string `json:"id"`
	Priority string `json:"priority" jsonschema:"enum=critical,enum=high,enum=medium"`
	Title    string `json:"title"`
	Why      string `json:"why"`
	// Closes are findings and gaps, by id.
	Closes   []string         `json:"closes,omitempty"`
	Controls []detect.Control `json:"controls,omitempty"`
	Effort   string           `json:"effort"`
	Success  string           `json:"success"`
	// Manifests are the settings, exactly; an action without one says in Steps what to do.
	Manifests []Manifest `json:"manifests,omitempty"`
	Steps     []string   `json:"steps,omitempty"`
}

// Manifest is one setting.
type Manifest struct {
	YAML string `json:"yaml"`
	// Patch says that it is laid over an object that is there, as a strategic merge or in its file.
	Patch bool `json:"patch,omitempty"`
	// Definition is what it was held against.
	Definition string `json:"definition"`
}

// Check is one part of the self-review.
type Check struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Pass   bool   `json:"pass"`
	Detail string `json:"detail,omitempty"`
}
