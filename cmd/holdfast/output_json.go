package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"holdfast/detect"
	"holdfast/detect/setting"
	"holdfast/gitops"
	"holdfast/templates"
)

// apiVersion is the version of every document that Holdfast prints or reads.
const apiVersion = "holdfast/v1"

type scanJSON struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Synthetic says, of a scan that was made up for a demonstration, by what; no scan of a cluster has it.
	Synthetic    string            `json:"synthetic,omitempty"`
	Time         time.Time         `json:"time"`
	Clusters     []clusterJSON     `json:"clusters,omitempty"`
	Applications []applicationJSON `json:"applications"`
	Findings     []detect.Finding  `json:"findings"`
	Unknown      []unknownJSON     `json:"unknown,omitempty"`
	Notes        []string          `json:"notes,omitempty"`
	Summary      summaryJSON       `json:"summary"`
}

// clusterJSON is what a cluster that was read says of itself. Provider and engines are what its marks tell; absent where they tell
// nothing.
type clusterJSON struct {
	Name     string                   `json:"name"`
	Tier     detect.Tier              `json:"tier"`
	Version  string                   `json:"version,omitempty"`
	Provider *setting.Detected        `json:"provider,omitempty"`
	Engines  []setting.DetectedEngine `json:"engines,omitempty"`
}

type applicationJSON struct {
	Cluster   string       `json:"cluster"`
	Name      string       `json:"name"`
	Namespace string       `json:"namespace"`
	Engine    string       `json:"engine"`
	Kind      string       `json:"kind,omitempty"`
	Source    sourceJSON   `json:"source"`
	State     detect.State `json:"state"`
	Reason    string       `json:"reason,omitempty"`
	Suspended bool         `json:"suspended,omitempty"`
	// Conditions say what keeps the engine from applying or correcting it.
	Conditions []detect.Condition `json:"conditions,omitempty"`
	Objects    int                `json:"objects"`
	// Interval is how often the engine corrects, for Argo CD how often it asks Git; Correction when it undoes live changes.
	Interval   string            `json:"interval,omitempty"`
	Correction gitops.Correction `json:"correction,omitempty"`
	// Prune says whether the engine deletes what leaves Git; absent for a plain folder.
	Prune *bool `json:"prune,omitempty"`
}

type sourceJSON struct {
	Repo     string `json:"repo"`
	Path     string `json:"path"`
	Revision string `json:"revision"`
}

type unknownJSON struct {
	Cluster     string           `json:"cluster"`
	Application string           `json:"application,omitempty"`
	Object      detect.ObjectRef `json:"object"`
	Reason      string           `json:"reason"`
	ByChoice    bool             `json:"byChoice,omitempty"`
}

type summaryJSON struct {
	Objects int            `json:"objects"`
	Drifted int            `json:"drifted"`
	ByCause map[string]int `json:"byCause"`
	ByRisk  map[string]int `json:"byRisk"`
	Unknown int            `json:"unknown"`
}

// summarize counts drifting findings by cause and risk; explained differences count in neither.
func summarize(s detect.Scan) summaryJSON {
	sum := summaryJSON{Objects: s.Objects, ByCause: map[string]int{}, ByRisk: map[string]int{}, Unknown: len(s.Unknown)}
	for _, f := range s.Findings {
		if f.Drift {
			sum.Drifted++
			sum.ByCause[string(f.Cause)]++
			sum.ByRisk[f.Risk.String()]++
		}
	}
	return sum
}

func writeScanJSON(w io.Writer, s detect.Scan) error { return writeJSON(w, scanDocument(s)) }

// scanDocument is a scan as it is printed.
func scanDocument(s detect.Scan) scanJSON {
	doc := scanJSON{
		APIVersion: apiVersion, Kind: "Scan", Time: s.Time.UTC(),
		Applications: []applicationJSON{}, Findings: []detect.Finding{}, Summary: summarize(s), Notes: s.Notes,
	}
	for _, c := range s.Clusters {
		one := clusterJSON{Name: c.Name, Tier: c.Tier, Version: c.Version}
		if d, ok := setting.DetectProvider(setting.Marks{Version: c.Version, APIVersions: c.APIVersions}); ok {
			one.Provider = &d
		}
		doc.Clusters = append(doc.Clusters, one)
	}
	for _, a := range s.Applications {
		doc.Applications = append(doc.Applications, applicationDocument(a))
	}
	doc.Findings = append(doc.Findings, s.Findings...)
	for _, u := range s.Unknown {
		doc.Unknown = append(doc.Unknown, unknownJSON(u))
	}
	return doc
}

func applicationDocument(a detect.AssessedApplication) applicationJSON {
	app := a.Application
	out := applicationJSON{
		Cluster: app.Cluster, Name: app.Name, Namespace: app.Namespace, Engine: string(app.Engine), Kind: app.Kind,
		Source: sourceJSON{app.Source.Repo, app.Source.Path, app.Source.Applied},
		State:  a.State, Reason: a.Reason, Suspended: app.Suspended, Conditions: a.Conditions, Objects: len(a.Declared),
	}
	if app.Engine == gitops.None {
		return out
	}
	out.Correction, out.Prune = app.Correction, &app.Prune
	if app.Interval > 0 {
		out.Interval = app.Interval.String()
	}
	return out
}

// writeJSON also escapes the characters that encoding/json leaves and a terminal obeys: they stand in strings
// only, where an escape means the same.
func writeJSON(w io.Writer, doc any) error {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(doc); err != nil {
		return err
	}
	data := buffer.Bytes()
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r < 0x7f || !templates.Obeyed(r) {
			at += size
			continue
		}
		if _, err := fmt.Fprintf(w, `%s\u%04x`, data[:at], r); err != nil {
			return err
		}
		data, at = data[at+size:], 0
	}
	_, err := w.Write(data)
	return err
}
