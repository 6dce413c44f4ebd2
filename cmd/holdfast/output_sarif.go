package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"holdfast/detect"
)

// SARIF 2.1.0 (OASIS), as far as code-scanning pages read it: a rule a cause, a result a drifting object,
// at the file that declares it.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

// sarifInvocation says what could not be assessed: without it, no result would read as no drift.
type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID              string            `json:"ruleId"`
	Level               string            `json:"level"`
	Message             sarifText         `json:"message"`
	Locations           []sarifLocation   `json:"locations"`
	PartialFingerprints map[string]string `json:"partialFingerprints"`
	Properties          map[string]any    `json:"properties"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	FullyQualifiedName string `json:"fullyQualifiedName"`
	Kind               string `json:"kind"`
}

// causeText says each cause in a sentence, for the rules of the log.
func causeText(c detect.Cause) string {
	return map[detect.Cause]string{
		detect.CauseNone:       "The source is ambiguous",
		detect.CauseManual:     "Changed past Git by a person or tool",
		detect.CauseAdmission:  "Changed by an admission webhook, policy or plug-in",
		detect.CauseAutoscaler: "Changed by an autoscaler",
		detect.CauseController: "Changed by a controller",
		detect.CauseAPI:        "The API server does not keep what Git declares",
		detect.CauseRender:     "The renderer does not give the same output twice",
		detect.CauseMissing:    "Declared in Git, missing in the cluster",
		detect.CauseOrphaned:   "Left in the cluster from an earlier Git",
		detect.CausePending:    "Git is ahead of the engine",
		detect.CauseContested:  "Two writers keep overwriting each other",
		detect.CauseUnknown:    "Changed, and nothing names the writer",
	}[c]
}

func writeSARIF(w io.Writer, s detect.Scan) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "holdfast", Version: version, Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{sarifOutcome(s)}, Results: []sarifResult{},
	}
	for _, f := range s.Findings {
		if !f.Drift {
			continue
		}
		id := "drift/" + string(f.Cause)
		if !slices.ContainsFunc(run.Tool.Driver.Rules, func(r sarifRule) bool { return r.ID == id }) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{id, sarifText{causeText(f.Cause)}})
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: id, Level: sarifLevel(f.Risk), Message: sarifText{sarifMessage(f)},
			Locations:           []sarifLocation{sarifPlace(f)},
			PartialFingerprints: map[string]string{"holdfast/v1": f.ID + ":" + f.Fingerprint},
			Properties: map[string]any{
				"risk": f.Risk.String(), "disposition": f.Disposition, "cluster": f.Cluster, "application": f.Application, "controls": f.Controls,
			},
		})
	}
	return writeJSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifOutcome(s detect.Scan) sarifInvocation {
	out := sarifInvocation{Successful: true}
	add := func(level, text string) {
		out.Successful = out.Successful && level != "error"
		out.Notifications = append(out.Notifications, sarifNotification{level, sarifText{text}})
	}
	for _, a := range s.Applications {
		if a.State == detect.Unknown {
			add("error", fmt.Sprintf("%s could not be assessed: %s", a.Application.ID(), a.Reason))
		} else if a.Reason != "" {
			add("note", fmt.Sprintf("%s: %s", a.Application.ID(), a.Reason))
		}
		for _, c := range a.Conditions {
			add("warning", conditionText(a.Application, c))
		}
	}
	for _, u := range s.Unknown {
		level := "error"
		if u.ByChoice {
			level = "note"
		}
		add(level, fmt.Sprintf("%s %s: %s", u.Cluster, u.Object.ID(), u.Reason))
	}
	return out
}

func sarifLevel(r detect.Risk) string {
	switch {
	case r >= detect.High:
		return "error"
	case r == detect.Medium:
		return "warning"
	}
	return "note"
}

func sarifMessage(f detect.Finding) string {
	name := f.Object.Kind + " " + strings.TrimPrefix(f.Object.Namespace+"/"+f.Object.Name, "/")
	var changes []string
	for _, field := range f.Fields {
		if field.Drift {
			changes = append(changes, fmt.Sprintf("%s: %s in Git, %s live", field.Path, value(field.Git), value(field.Live)))
		}
	}
	if len(changes) == 0 {
		return fmt.Sprintf("%s: %s (%s)", name, causeText(f.Cause), f.Reason)
	}
	return fmt.Sprintf("%s: %s", name, strings.Join(changes, "; "))
}

func sarifPlace(f detect.Finding) sarifLocation {
	l := sarifLocation{Logical: []sarifLogical{{FullyQualifiedName: f.Cluster + "/" + f.Object.ID().String(), Kind: "resource"}}}
	if f.Declared != nil && f.Declared.Origin.File != "" {
		l.Physical = &sarifPhysical{Artifact: sarifArtifact{f.Declared.Origin.File}, Region: sarifRegion{StartLine: 1}}
	}
	return l
}
