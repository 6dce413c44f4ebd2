package templates

import "time"

// Frame is what all pages have.
type Frame struct {
	Title string
	// Place is the entry of the navigation that the page belongs to.
	Place string
	// Style is the path of the sheet.
	Style string
	// User is who looks; empty before the login. CanLogOut says that there is a session to end.
	User      string
	CanLogOut bool
	Now       time.Time
}

// OverviewPage is the page about the fleet.
type OverviewPage struct {
	Frame
	Sentence string
	Figures  []Figure
	// Ages are the heads of the columns of Risks. Drifts counts all.
	Ages     []string
	Risks    []RiskRow
	Drifts   int
	Clusters []ClusterRow
	Urgent   []DriftRow
	Settled  []SettledRow
}

// Figure is a number with its name.
type Figure struct{ Name, Value string }

// RiskRow is one risk's drifts by age, the sum last.
type RiskRow struct {
	Risk  string
	Cells []CountCell
}

// CountCell is a number that leads to what it counts.
type CountCell struct {
	Count int
	Href  string
}

// ClusterRow is how one cluster does. Tone is good, warn or bad.
type ClusterRow struct {
	Name, Href, State, Tone, Reason        string
	Scanned                                When
	Objects, Applications, Unknown, Drifts int
	Worst                                  string
}

// When is a time, and how long ago it was.
type When struct {
	Time time.Time
	Ago  string
}

// DriftRow is one drift in a list.
type DriftRow struct {
	Href, Cluster, Application, Object string
	Risk, Cause, Disposition, Writer   string
	Since                              When
	Threads                            []ThreadView
}

// SettledRow is a drift that is gone.
type SettledRow struct {
	Href, Cluster, Application, Object string
	Gone                               When
	Lasted                             string
}

// Option is one choice of a filter.
type Option struct {
	Value  string
	Chosen bool
}

// Pager is where a page of a list stands. Before and After are empty at the ends.
type Pager struct {
	Page, Pages, Total int
	Before, After      string
}

// DriftsPage is the list of what drifts.
type DriftsPage struct {
	Frame
	Clusters, Risks, Ages []Option
	Name                  string
	Filtered              bool
	Rows                  []DriftRow
	Pager                 Pager
}

// ApplicationRow is one Application in a list.
type ApplicationRow struct {
	Href, Cluster, Name, Engine string
	State, Tone                 string
	Repo, Path, Revision        string
	Conditions                  []ConditionView
	Drifts                      int
	Worst                       string
}

// ConditionView is something that keeps an engine from its work.
type ConditionView struct{ Type, Text string }

// ApplicationsPage is the list of Applications.
type ApplicationsPage struct {
	Frame
	Clusters []Option
	Name     string
	Filtered bool
	Rows     []ApplicationRow
	Pager    Pager
}

// ApplicationPage is about one Application.
type ApplicationPage struct {
	Frame
	Row                ApplicationRow
	Reason, Correction string
	Rows               []DriftRow
	Pager              Pager
	Unknown            []NamedText
}

// NamedText is a text with a name.
type NamedText struct{ Name, Text string }

// WriterView is who wrote a value, and how that is known.
type WriterView struct {
	Name, How string
	Time      time.Time
}

// DiffLine is one line of a diff; Class is plus, minus or empty.
type DiffLine struct{ Text, Class string }

// FieldView is one field that differs.
type FieldView struct {
	Path, Risk, Cause, Reason, Disposition string
	Writer                                 WriterView
	Lines                                  []DiffLine
}

// ThreadView is a pull request or issue. URL is empty for one without a page.
type ThreadView struct {
	Kind   string
	Number int
	URL    string
	State  string
	Title  string
	Reason string
	// Files and Proof are those of a pull request.
	Files    []FileView
	FilesCut bool
	Proof    *ProofView
}

// FileView is a file that a pull request changes.
type FileView struct {
	Path  string
	Lines []DiffLine
}

// ProofView is what the render before and after gave.
type ProofView struct {
	Sentence string
	Rendered []NamedText
	Moved    []string
	Unproven []NamedText
}

// HistoryView is one thing that happened.
type HistoryView struct {
	Time      time.Time
	What, URL string
}

// DriftPage is about one drift. Of one that is Gone, only what it was about and its history are known.
type DriftPage struct {
	Frame
	Cluster, Application, ApplicationHref, Object string
	Gone                                          bool
	Risk, Class, What, Cause, Reason              string
	Writer                                        WriterView
	Since                                         When
	Disposition, Rule                             string
	Plans                                         []NamedText
	Controls                                      []string
	Fields, Explained                             []FieldView
	// FieldsCut is how many more there are.
	FieldsCut int
	Threads   []ThreadView
	Trace     []string
	History   []HistoryView
}

// LoginPage asks for the token; Failure says why the last try did not succeed. Next is where to go then.
type LoginPage struct {
	Frame
	Failure, Next string
}

// ProblemPage says what is wrong with a request.
type ProblemPage struct {
	Frame
	Text string
}
