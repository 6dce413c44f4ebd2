package export

import "time"

// The parts of NIST's model of assessment results that a trail fills (OSCAL 1.1.3, oscal_assessment-results_schema).

type assessmentResults struct {
	UUID     string     `json:"uuid"`
	Metadata metadata   `json:"metadata"`
	Plan     importPlan `json:"import-ap"`
	Results  []result   `json:"results"`
	Back     backMatter `json:"back-matter"`
}

type metadata struct {
	Title    string    `json:"title"`
	Modified time.Time `json:"last-modified"`
	Version  string    `json:"version"`
	OSCAL    string    `json:"oscal-version"`
}

type importPlan struct {
	Href string `json:"href"`
}

type backMatter struct {
	Resources []resource `json:"resources"`
}

type resource struct {
	UUID        string `json:"uuid"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

type result struct {
	UUID         string         `json:"uuid"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	Start        time.Time      `json:"start"`
	End          time.Time      `json:"end"`
	Props        []property     `json:"props,omitempty"`
	Local        local          `json:"local-definitions"`
	Reviewed     reviewed       `json:"reviewed-controls"`
	Log          *assessmentLog `json:"assessment-log,omitempty"`
	Observations []observation  `json:"observations,omitempty"`
	Risks        []risk         `json:"risks,omitempty"`
}

type local struct {
	Components []component `json:"components"`
}

type component struct {
	UUID        string `json:"uuid"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Status      state  `json:"status"`
}

type state struct {
	State string `json:"state"`
}

type reviewed struct {
	Description string             `json:"description"`
	Selections  []controlSelection `json:"control-selections"`
}

type controlSelection struct {
	Description string          `json:"description"`
	Include     []selectControl `json:"include-controls,omitempty"`
}

type selectControl struct {
	ID string `json:"control-id"`
}

type assessmentLog struct {
	Entries []logEntry `json:"entries"`
}

type logEntry struct {
	UUID        string     `json:"uuid"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Start       time.Time  `json:"start"`
	End         time.Time  `json:"end"`
	Props       []property `json:"props,omitempty"`
	Links       []link     `json:"links,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Space string `json:"ns"`
	Value string `json:"value"`
}

type link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

type observation struct {
	UUID        string     `json:"uuid"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Props       []property `json:"props,omitempty"`
	Methods     []string   `json:"methods"`
	Types       []string   `json:"types"`
	Origins     []origin   `json:"origins"`
	Subjects    []subject  `json:"subjects,omitempty"`
	Evidence    []evidence `json:"relevant-evidence"`
	Collected   time.Time  `json:"collected"`
}

type origin struct {
	Actors []actor `json:"actors"`
}

type actor struct {
	Type string `json:"type"`
	UUID string `json:"actor-uuid"`
}

type subject struct {
	UUID  string `json:"subject-uuid"`
	Type  string `json:"type"`
	Title string `json:"title"`
}

type evidence struct {
	Href        string `json:"href"`
	Description string `json:"description"`
}

type risk struct {
	UUID         string               `json:"uuid"`
	Title        string               `json:"title"`
	Description  string               `json:"description"`
	Statement    string               `json:"statement"`
	Props        []property           `json:"props,omitempty"`
	Status       string               `json:"status"`
	Log          *riskLog             `json:"risk-log,omitempty"`
	Observations []relatedObservation `json:"related-observations,omitempty"`
}

// note adds to the risk's log; a status changes that of the risk.
func (r *risk) note(e riskEntry) {
	if e.Status != "" {
		r.Status = e.Status
	}
	if r.Log == nil {
		r.Log = &riskLog{}
	}
	r.Log.Entries = append(r.Log.Entries, e)
}

type riskLog struct {
	Entries []riskEntry `json:"entries"`
}

type riskEntry struct {
	UUID        string    `json:"uuid"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Start       time.Time `json:"start"`
	Status      string    `json:"status-change,omitempty"`
}

type relatedObservation struct {
	UUID string `json:"observation-uuid"`
}
