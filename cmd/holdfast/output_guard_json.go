package main

import (
	"io"
	"time"

	"holdfast/detect"
	"holdfast/detect/access"
)

type guardJSON struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Time       time.Time          `json:"time"`
	Clusters   []guardClusterJSON `json:"clusters"`
	Unknown    []unknownJSON      `json:"unknown,omitempty"`
	Summary    guardSummaryJSON   `json:"summary"`
}

type guardSummaryJSON struct {
	Objects int            `json:"objects"`
	ByRisk  map[string]int `json:"byRisk"`
	Unknown int            `json:"unknown"`
}

type guardClusterJSON struct {
	Cluster        string             `json:"cluster"`
	Engines        []string           `json:"engines"`
	EngineAccounts []string           `json:"engineAccounts,omitempty"`
	Objects        int                `json:"objects"`
	Namespaces     []string           `json:"namespaces"`
	Findings       []guardFindingJSON `json:"findings"`
	Actors         []guardActorJSON   `json:"actors,omitempty"`
	Problems       []guardProblemJSON `json:"problems,omitempty"`
	Guards         []guardStateJSON   `json:"guards"`
	Manifests      []any              `json:"manifests"`
	Notes          []string           `json:"notes,omitempty"`
}

type guardFindingJSON struct {
	Risk       detect.Risk    `json:"risk"`
	Subject    subjectJSON    `json:"subject"`
	Sort       access.Sort    `json:"sort"`
	Path       access.Path    `json:"path"`
	Ways       []access.Way   `json:"ways,omitempty"`
	As         string         `json:"as,omitempty"`
	Chain      []string       `json:"chain"`
	Bindings   []string       `json:"bindings"`
	Everything bool           `json:"everything,omitempty"`
	Objects    int            `json:"objects"`
	Namespaces []string       `json:"namespaces,omitempty"`
	Resources  []holdJSON     `json:"resources,omitempty"`
	Held       bool           `json:"held,omitempty"`
	Seen       *guardSeenJSON `json:"seen,omitempty"`
	Fix        string         `json:"fix,omitempty"`
}

type subjectJSON struct {
	Kind      access.SubjectKind `json:"kind"`
	Namespace string             `json:"namespace,omitempty"`
	Name      string             `json:"name"`
}

type holdJSON struct {
	Group    string   `json:"group,omitempty"`
	Resource string   `json:"resource"`
	Verbs    []string `json:"verbs"`
	Objects  int      `json:"objects"`
}

type guardSeenJSON struct {
	Writes int      `json:"writes"`
	Users  []string `json:"users,omitempty"`
}

type guardActorJSON struct {
	User    string      `json:"user"`
	As      string      `json:"as,omitempty"`
	Sort    access.Sort `json:"sort"`
	Groups  []string    `json:"groups,omitempty"`
	Writes  int         `json:"writes"`
	Objects int         `json:"objects"`
	Verbs   []string    `json:"verbs"`
	First   time.Time   `json:"first"`
	Last    time.Time   `json:"last"`
	By      []string    `json:"by,omitempty"`
}

type guardProblemJSON struct {
	Object  detect.ObjectRef `json:"object"`
	Message string           `json:"message"`
}

type guardStateJSON struct {
	Name    string `json:"name"`
	InPlace bool   `json:"inPlace"`
	Why     string `json:"why,omitempty"`
}

func writeGuardJSON(w io.Writer, now time.Time, r guardReport) error {
	doc := guardJSON{APIVersion: apiVersion, Kind: "Guard", Time: now.UTC(), Clusters: []guardClusterJSON{}, Summary: guardSummaryJSON{ByRisk: map[string]int{}, Unknown: len(r.unknown)}}
	for _, c := range r.clusters {
		out := guardClusterJSON{Cluster: c.Cluster, Engines: []string{}, Objects: c.Objects, Namespaces: append([]string{}, c.Namespaces...), Findings: []guardFindingJSON{}, Guards: []guardStateJSON{}, Manifests: []any{}, Notes: c.Notes}
		for _, e := range c.Engines {
			out.Engines = append(out.Engines, string(e))
		}
		for _, a := range c.Accounts {
			out.EngineAccounts = append(out.EngineAccounts, a.Namespace+"/"+a.Name)
		}
		for _, f := range c.Findings {
			one := guardFindingJSON{Risk: f.Risk, Subject: subjectJSON(f.Subject), Sort: f.Sort, Path: f.Path, Ways: f.Ways, As: f.As, Chain: f.Chain, Bindings: []string{},
				Everything: f.Everything, Objects: f.Objects, Namespaces: f.Namespaces, Held: f.Held, Fix: f.Fix, Seen: (*guardSeenJSON)(f.Seen)}
			for _, b := range f.Bindings {
				one.Bindings = append(one.Bindings, access.Named(b))
			}
			for _, h := range f.Holds {
				one.Resources = append(one.Resources, holdJSON(h))
			}
			out.Findings = append(out.Findings, one)
			if f.Sort != access.EngineAccount && f.Sort != access.System {
				doc.Summary.ByRisk[f.Risk.String()]++
			}
		}
		for _, a := range c.Actors {
			a.First, a.Last = a.First.UTC(), a.Last.UTC()
			out.Actors = append(out.Actors, guardActorJSON(a))
		}
		for _, p := range c.Problems {
			out.Problems = append(out.Problems, guardProblemJSON{detect.ObjectRef{APIVersion: p.Object.Group, Kind: p.Object.Kind, Namespace: p.Object.Namespace, Name: p.Object.Name}, p.Message})
		}
		for _, g := range c.Guards {
			out.Guards = append(out.Guards, guardStateJSON(g))
		}
		for _, m := range c.Manifests {
			out.Manifests = append(out.Manifests, m.Object.Content)
		}
		doc.Summary.Objects += c.Objects
		doc.Clusters = append(doc.Clusters, out)
	}
	for _, u := range r.unknown {
		doc.Unknown = append(doc.Unknown, unknownJSON(u))
	}
	return writeJSON(w, doc)
}
