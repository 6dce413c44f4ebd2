package propose

import (
	"context"
	"maps"
	"slices"
	"strings"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
)

// Shared is what the run of one cluster keeps of an Application for the runs of others, so that what drifts alike on
// several clusters and belongs in what they share is one pull request. It holds no value of a Secret.
type Shared struct {
	Application gitops.Application
	// Grants are what policy grants to its codifies, by finding, or finding and path. Findings do not carry them to
	// outputs.
	Grants map[string]Grant
}

// Grant is detect.Grant, as it is kept.
type Grant struct {
	Scope            gitops.Scope `json:",omitempty"`
	Wide, Incomplete bool         `json:",omitempty"`
}

// SharedOf gives what others need to know of a scan's Applications: of those that codify something, and whose render
// needs nothing that cannot be kept (Secrets, files of other sources).
func SharedOf(s detect.Scan) []Shared {
	var out []Shared
	for _, a := range s.Applications {
		app := a.Application
		if a.State != detect.Rendered || !keepable(app) {
			continue
		}
		grants := map[string]Grant{}
		for _, f := range s.Findings {
			if f.Cluster != app.Cluster || f.Application != app.Namespace+"/"+app.Name || !f.Drift || f.Presence == detect.LiveOnly {
				continue
			}
			if len(f.Fields) == 0 && f.Disposition == detect.Codify {
				grants[f.ID] = kept(f.Grant)
			}
			for _, field := range fieldsOf(f, detect.Codify) {
				if !field.Masked {
					grants[f.ID+" "+field.Path.String()] = kept(field.Grant)
				}
			}
		}
		if len(grants) > 0 {
			app.Inventory, app.Ignore = nil, nil // large, and no part of how it is rendered
			out = append(out, Shared{app, grants})
		}
	}
	return out
}

func kept(g detect.Grant) Grant { return Grant{g.Scope, g.AllowWide, g.AllowIncomplete} }

func (g Grant) granted() detect.Grant {
	return detect.Grant{Scope: g.Scope, AllowWide: g.Wide, AllowIncomplete: g.Incomplete}
}

// keepable says whether an Application is all that its render needs beside the repository's own files.
func keepable(app gitops.Application) bool {
	if len(app.Mounts) > 0 || len(app.Parts) > 0 {
		return false
	}
	if k := app.Render.Kustomize; k != nil && k.PostBuild != nil {
		if slices.ContainsFunc(k.PostBuild.SubstituteFrom, func(s gitops.SubstituteFrom) bool { return s.Kind != "ConfigMap" }) {
			return false
		}
	}
	h := app.Render.Helm
	return h == nil || !slices.ContainsFunc(h.Values, func(v gitops.Values) bool { return v.From != nil && v.From.Kind != "ConfigMap" })
}

// groupsElsewhere gives the groups of other clusters' Applications. What they cannot codify is told by their own runs.
func groupsElsewhere(ctx context.Context, in Input) ([]*group, error) {
	var out []*group
	for _, other := range in.Elsewhere {
		theirs := in
		theirs.Scan = detect.Scan{Findings: slices.Clone(other.Scan.Findings)}
		for _, s := range other.Shared {
			s.Application.Render.Helm = wholeNumbers(s.Application.Render.Helm)
			theirs.Scan.Applications = append(theirs.Scan.Applications, detect.AssessedApplication{Application: s.Application, State: detect.Rendered})
			for i := range theirs.Scan.Findings {
				theirs.Scan.Findings[i] = s.restored(theirs.Scan.Findings[i])
			}
		}
		groups, _, err := groupsOf(ctx, theirs, map[string]plan{})
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			g.elsewhere, g.in.Scan = true, in.Scan
			out = append(out, g)
		}
	}
	return out, nil
}

// restored gives a finding its grants back. What has none is not codified there.
func (s Shared) restored(f detect.Finding) detect.Finding {
	if f.Cluster != s.Application.Cluster || f.Application != s.Application.Namespace+"/"+s.Application.Name {
		return f
	}
	whole, known := s.Grants[f.ID]
	if f.Grant = whole.granted(); !known && len(f.Fields) == 0 {
		f.Disposition = detect.AsIssue
	}
	f.Fields = slices.Clone(f.Fields)
	for i := range f.Fields {
		g, known := s.Grants[f.ID+" "+f.Fields[i].Path.String()]
		f.Fields[i].Grant = g.granted()
		if !known && f.Fields[i].Disposition == detect.Codify {
			f.Fields[i].Disposition = detect.AsIssue
		}
	}
	return f
}

// wholeNumbers turns the numbers of inline values, which the store gives back as floating, into what the API server
// gives.
func wholeNumbers(h *gitops.Helm) *gitops.Helm {
	if h == nil {
		return nil
	}
	out := *h
	out.Values = slices.Clone(h.Values)
	for i := range out.Values {
		if out.Values[i].Inline != nil {
			out.Values[i].Inline, _ = whole(out.Values[i].Inline).(map[string]any)
		}
	}
	return &out
}

func whole(v any) any {
	switch v := v.(type) {
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = whole(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = whole(v[k])
		}
		return out
	}
	return v
}

// here says whether a joint has an Application of the scan itself.
func (j joint) here() bool {
	return slices.ContainsFunc(j, func(g *group) bool { return !g.elsewhere })
}

// led puts the Application first whose pull request is open already: the others join it.
func (j joint) led() joint {
	i := slices.IndexFunc(j, func(g *group) bool {
		key, _ := joint{g}.place()
		return isOpen(g.in.Threads, key)
	})
	if i <= 0 {
		return j
	}
	return slices.Concat(j[i:i+1], j[:i], j[i+1:])
}

// adopted gives the open codify pull request of another cluster's Application that is about all of a joint already: it
// was about more, of which the engines undid a part.
func (j joint) adopted() (key, branch string, ok bool) {
	mine := map[string]string{}
	for _, g := range j {
		maps.Copy(mine, about(g.of(detect.Codify), detect.Codify))
	}
	if len(j.lead().in.Elsewhere) == 0 || len(mine) == 0 {
		return "", "", false
	}
	for _, t := range j.lead().in.Threads {
		key, _, marked := bot.ParseMarker(t.Body)
		if !marked || t.State != bot.Open || !strings.HasPrefix(t.Branch, "holdfast/"+string(detect.Codify)+"/") {
			continue
		}
		before, covers := bot.ParseRecord(t.Body).About, true
		for name, print := range mine {
			covers = covers && before[name] == print
		}
		if covers {
			return key, t.Branch, true
		}
	}
	return "", "", false
}
