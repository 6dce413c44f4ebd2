package policy

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"holdfast/detect"
)

// The names of the types that expressions see.
const (
	typeField       = "holdfast.Field"
	typeFinding     = "holdfast.Finding"
	typeObject      = "holdfast.Object"
	typeApplication = "holdfast.Application"
	typeWriter      = "holdfast.Writer"
	typeControl     = "holdfast.Control"
)

// viewFields gives the fields of a type that expressions see; ok is false for any other type.
func viewFields(name string) (fields map[string]*types.Type, ok bool) {
	switch name {
	case typeField:
		return map[string]*types.Type{
			"path": cel.StringType, "git": cel.DynType, "live": cel.DynType, "differs": cel.BoolType,
			"drift": cel.BoolType, "cause": cel.StringType, "risk": cel.StringType, "riskLevel": cel.IntType,
			"class": cel.StringType, "sensitive": cel.BoolType, "undeclared": cel.BoolType,
			"change": cel.StringType, "reason": cel.StringType, "masked": cel.BoolType,
			"writer": cel.ObjectType(typeWriter),
		}, true
	case typeFinding:
		return map[string]*types.Type{
			"id": cel.StringType, "presence": cel.StringType, "objectLevel": cel.BoolType,
			"drift": cel.BoolType, "cause": cel.StringType, "risk": cel.StringType, "riskLevel": cel.IntType,
			"class": cel.StringType, "sensitive": cel.BoolType, "reason": cel.StringType,
			"firstSeen": cel.TimestampType, "lastSeen": cel.TimestampType,
			"writer": cel.ObjectType(typeWriter), "controls": cel.ListType(cel.ObjectType(typeControl)),
		}, true
	case typeObject:
		return map[string]*types.Type{
			"apiVersion": cel.StringType, "group": cel.StringType, "version": cel.StringType,
			"kind": cel.StringType, "namespace": cel.StringType, "name": cel.StringType,
		}, true
	case typeApplication:
		return map[string]*types.Type{
			"cluster": cel.StringType, "namespace": cel.StringType, "name": cel.StringType, "engine": cel.StringType,
		}, true
	case typeWriter:
		return map[string]*types.Type{
			"known": cel.BoolType, "manager": cel.StringType, "operation": cel.StringType,
			"subresource": cel.StringType, "time": cel.TimestampType, "user": cel.StringType,
			"confidence": cel.StringType,
		}, true
	case typeControl:
		return map[string]*types.Type{"standard": cel.StringType, "id": cel.StringType, "title": cel.StringType}, true
	}
	return nil, false
}

// variables gives the values of an expression's variables. Each is built when an expression first asks.
func (s subject) variables() map[string]any {
	return map[string]any{
		"field":         func() any { return s.fieldView() },
		"finding":       func() any { return findingView(s.in.Finding) },
		"object":        func() any { return objectView(s.in.Finding.Object) },
		"application":   func() any { return s.applicationView() },
		"tier":          string(s.tier),
		"engineRemoves": s.in.EngineRemoves,
		"now":           s.in.Now,
	}
}

func (s subject) fieldView() map[string]any {
	f := s.field
	view := map[string]any{
		"path": f.Path.String(), "differs": f.Differs, "drift": f.Drift, "cause": string(f.Cause),
		"risk": f.Risk.String(), "riskLevel": int64(f.Risk), "class": f.Class, "sensitive": f.Sensitive,
		"undeclared": s.undeclared(), "change": string(f.Kind), "reason": f.Reason, "masked": f.Masked,
		"writer": writerView(f.Writer),
	}
	if f.Git.Set {
		view["git"] = f.Git.V
	}
	if f.Live.Set {
		view["live"] = f.Live.V
	}
	return view
}

func findingView(f detect.Finding) map[string]any {
	controls := make([]any, len(f.Controls))
	for i, c := range f.Controls {
		controls[i] = map[string]any{"standard": c.Standard, "id": c.ID, "title": c.Title}
	}
	return map[string]any{
		"id": f.ID, "presence": string(f.Presence), "objectLevel": f.ObjectLevel, "drift": f.Drift,
		"cause": string(f.Cause), "risk": f.Risk.String(), "riskLevel": int64(f.Risk), "class": f.Class,
		"sensitive": f.Sensitive, "reason": f.Reason, "firstSeen": f.FirstSeen, "lastSeen": f.LastSeen,
		"writer": writerView(f.Writer), "controls": controls,
	}
}

func objectView(o detect.ObjectRef) map[string]any {
	group, version, ok := strings.Cut(o.APIVersion, "/")
	if !ok {
		group, version = "", o.APIVersion
	}
	return map[string]any{
		"apiVersion": o.APIVersion, "group": group, "version": version,
		"kind": o.Kind, "namespace": o.Namespace, "name": o.Name,
	}
}

func (s subject) applicationView() map[string]any {
	namespace, name, ok := strings.Cut(s.in.Finding.Application, "/")
	if !ok {
		namespace, name = "", s.in.Finding.Application
	}
	return map[string]any{
		"cluster": s.in.Finding.Cluster, "namespace": namespace, "name": name, "engine": string(s.in.Engine),
	}
}

// writerView gives a writer; of none, everything is empty and known is false.
func writerView(w *detect.Writer) map[string]any {
	if w == nil {
		w = &detect.Writer{Confidence: detect.Unresolved}
	}
	return map[string]any{
		"known": w.Confidence != detect.Unresolved && (w.Manager != "" || w.User != ""), "manager": w.Manager,
		"operation": w.Operation, "subresource": w.Subresource, "time": w.Time, "user": w.User,
		"confidence": string(w.Confidence),
	}
}
