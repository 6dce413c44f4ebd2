package classify

import (
	"encoding/json"
	"slices"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

const (
	// beforeFirstApply and ancientChanges are entries that the API server itself makes: the first holds
	// what was there before the first server-side apply, the second the oldest Update entries once there
	// are more than ten (k8s.io/apimachinery pkg/util/managedfields/internal).
	beforeFirstApply = "before-first-apply"
	clientSideApply  = "kubectl-client-side-apply"
	lastAppliedKey   = "kubectl.kubernetes.io/last-applied-configuration"
)

// entry is one element of metadata.managedFields. Fields is nil when it is broken or of another form.
type entry struct {
	detect.Writer
	fields map[string]any
}

// substance says whether the entry owns anything beside metadata and status.
func (e entry) substance() bool {
	for key := range e.fields {
		if key != "f:metadata" && key != "f:status" {
			return true
		}
	}
	return false
}

// managedEntries reads managedFields as far as this package needs it: who and when, and the raw field set.
// Broken entries keep what could be read of them.
func managedEntries(live gitops.Object) []entry {
	metadata, _ := live.Content["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	out := make([]entry, 0, len(list))
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok || len(m) == 0 {
			continue
		}
		text := func(key string) string { s, _ := m[key].(string); return s }
		e := entry{Writer: detect.Writer{
			Manager: text("manager"), Operation: text("operation"), Subresource: text("subresource"),
			Confidence: detect.ByManager,
		}}
		e.Time, _ = time.Parse(time.RFC3339, text("time"))
		if kind := text("fieldsType"); kind == "" || kind == "FieldsV1" {
			e.fields, _ = m["fieldsV1"].(map[string]any)
		}
		out = append(out, e)
	}
	return out
}

// markOwners gives who owns a label or annotation of the live object, latest first.
func markOwners(live gitops.Object, set, key string) []detect.Writer {
	return Owners(live, gitops.Path{gitops.Field("metadata"), gitops.Field(set), gitops.Field(key)})
}

// Owners gives who owns the value at a path of field names of a live object, latest first, as managedFields have it.
func Owners(live gitops.Object, path gitops.Path) []detect.Writer {
	var out []detect.Writer
	for _, e := range managedEntries(live) {
		fields, owns := e.fields, true
		for _, step := range path {
			next, ok := fields["f:"+step.Field].(map[string]any)
			fields, owns = next, owns && ok
		}
		if owns {
			out = append(out, e.Writer)
		}
	}
	slices.SortStableFunc(out, func(a, b detect.Writer) int { return b.Time.Compare(a.Time) })
	return out
}

// lastApplied gives the object that the last client-side apply noted in its annotation, or nil.
func lastApplied(live gitops.Object) map[string]any {
	text, ok := live.Annotations()[lastAppliedKey]
	if !ok {
		return nil
	}
	var content map[string]any
	if json.Unmarshal([]byte(text), &content) != nil {
		return nil
	}
	return content
}

// declaresSecretKey says whether an earlier form of a Secret declared a key of data as stringData.
func declaresSecretKey(older gitops.Object, path gitops.Path) bool {
	if !older.IsSecret() || len(path) != 2 || path[0].Field != "data" {
		return false
	}
	return gitops.Lookup(older.Content, gitops.Path{gitops.Field("stringData"), path[1]}).Set
}
