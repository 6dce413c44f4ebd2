package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast/deploy/lab"
	"holdfast/detect"
	"holdfast/gitops"
)

// place is where in an object something changed: fields, entries as "name=web" where all have a name, else "#2".
type place []string

func (p place) String() string { return strings.Join(p, " ") }

// meets says whether one place lies in the other.
func (p place) meets(q place) bool {
	n := min(len(p), len(q))
	return slices.Equal(p[:n], q[:n])
}

// madeEdit is one change that alice made, with everything that the API server made of it.
type madeEdit struct {
	kind          string
	object        gitops.ObjectID
	meant         place // empty when the object was deleted
	changed       []place
	before, after map[string]any
}

func (e madeEdit) String() string { return fmt.Sprintf("%s of %s at %q", e.kind, e.object, e.meant) }

func (e madeEdit) about(f detect.Finding) bool { return f.Object.ID() == e.object }

// explains says whether a drifting field is this edit's doing.
func (e madeEdit) explains(f detect.Field) bool {
	at := placeOf(f.Path, e.before, e.after)
	return e.meant == nil || slices.ContainsFunc(e.changed, at.meets)
}

// missedBy says why findings do not tell of the edit; empty when one does.
func (e madeEdit) missedBy(findings []detect.Finding) string {
	i := slices.IndexFunc(findings, e.about)
	if i < 0 {
		return "no finding"
	}
	f := findings[i]
	if e.meant == nil {
		if f.Presence != detect.GitOnly || f.Cause != detect.CauseMissing || !f.Drift || f.Writer == nil || f.Writer.User != aliceName {
			return fmt.Sprintf("not reported as deleted by alice: %+v %s", f.Writer, describe(f, nil))
		}
		return ""
	}
	for _, field := range f.Fields {
		if !placeOf(field.Path, e.before, e.after).meets(e.meant) {
			continue
		}
		if !field.Drift || field.Cause != detect.CauseManual || field.Writer == nil || field.Writer.User != aliceName {
			return fmt.Sprintf("%s: drift %v, cause %s, writer %+v: %s", field.Path, field.Drift, field.Cause, field.Writer, field.Reason)
		}
		return ""
	}
	return "no field of its finding is the edited one: " + describe(f, nil)
}

const aliceName = "alice@example.test"

// placeOf translates a reported path with the objects that it leads through, the newer one first.
func placeOf(path gitops.Path, before, after map[string]any) place {
	var out place
	var now, then any = after, before
	for _, step := range path {
		if step.IsField() {
			out = append(out, step.Field)
			now, then = child(now, step.Field), child(then, step.Field)
			continue
		}
		name := ""
		next := [2]any{}
		for i, in := range []any{now, then} {
			list, _ := in.([]any)
			at := step.Index
			if step.IsEntry() {
				at = gitops.FindEntry(list, step.Keys)
			}
			if at < 0 || at >= len(list) {
				continue
			}
			next[i] = list[at]
			if name == "" {
				name = entryName(list, at)
			}
		}
		out = append(out, name)
		now, then = next[0], next[1]
	}
	return out
}

func child(v any, field string) any {
	m, _ := v.(map[string]any)
	return m[field]
}

// named says whether all entries of a list have a name and none repeats.
func named(list []any) bool {
	seen := map[string]bool{}
	for _, entry := range list {
		name, _ := child(entry, "name").(string)
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return len(list) > 0
}

func entryName(list []any, i int) string {
	if named(list) {
		return "name=" + child(list[i], "name").(string)
	}
	return "#" + strconv.Itoa(i)
}

// changes lists the places in which two objects differ.
func changes(at place, a, b any) []place {
	if am, ok := a.(map[string]any); ok {
		if bm, ok := b.(map[string]any); ok {
			return fieldChanges(at, am, bm)
		}
	}
	al, aok := a.([]any)
	bl, bok := b.([]any)
	switch {
	case aok && bok && named(al) && named(bl):
		return fieldChanges(at, byName(al), byName(bl))
	case aok && bok && len(al) == len(bl) && !named(al) && !named(bl):
		var out []place
		for i := range al {
			out = append(out, changes(append(slices.Clip(at), "#"+strconv.Itoa(i)), al[i], bl[i])...)
		}
		return out
	case fmt.Sprint(a) != fmt.Sprint(b):
		return []place{at}
	}
	return nil
}

func fieldChanges(at place, a, b map[string]any) []place {
	var out []place
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		va, ina := a[name]
		vb, inb := b[name]
		below := append(slices.Clip(at), name)
		if ina != inb {
			out = append(out, below)
		} else {
			out = append(out, changes(below, va, vb)...)
		}
	}
	return out
}

func byName(list []any) map[string]any {
	out := map[string]any{}
	for i := range list {
		out[entryName(list, i)] = list[i]
	}
	return out
}

// makeEdits makes the wanted number of edits as alice, every kind of edit in turn. What the API server refuses, or
// what leaves nothing behind, does not count, and two edits never meet.
func makeEdits(t *testing.T, c *lab.Cluster, objects []gitops.Object, wanted int, r *rand.Rand) []madeEdit {
	t.Helper()
	kinds := editKinds()
	r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	var made []madeEdit
	count := map[string]int{}
	for try := 0; len(made) < wanted && try < 20*wanted; try++ {
		kind := kinds[try%len(kinds)]
		var fitting []drawn
		for _, o := range objects {
			if kind.fits != "" && !slices.Contains(strings.Fields(kind.fits), o.ID.Kind) {
				continue
			}
			fitting = append(fitting, drawn{declared: o})
		}
		if len(fitting) == 0 {
			continue
		}
		one := fitting[r.IntN(len(fitting))]
		if slices.ContainsFunc(made, func(e madeEdit) bool { return e.object == one.declared.ID && e.meant == nil }) {
			continue
		}
		live, ok := read(t, c, one.declared)
		if !ok {
			continue
		}
		one.live = live
		e, ok := one.edit(t, c, kind, r, made)
		if ok {
			made = append(made, e)
			count[kind.name]++
		}
	}
	if len(made) < wanted {
		t.Errorf("%d edits of %d wanted", len(made), wanted)
	}
	t.Logf("edits: %v", count)
	return made
}

// drawn is an object that was drawn for an edit.
type drawn struct {
	declared gitops.Object
	live     map[string]any
}

func (d drawn) edit(t *testing.T, c *lab.Cluster, kind editKind, r *rand.Rand, made []madeEdit) (madeEdit, bool) {
	t.Helper()
	change, ok := kind.draw(r, d)
	if !ok {
		return madeEdit{}, false
	}
	e := madeEdit{kind: kind.name, object: d.declared.ID, meant: change.place, before: d.live}
	if slices.ContainsFunc(made, func(m madeEdit) bool {
		return m.object == e.object && (e.meant == nil || slices.ContainsFunc(m.changed, e.meant.meets))
	}) {
		return e, false
	}
	args := change.args
	target := resource(d.declared)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "OBJECT", target)
	}
	if len(change.patch) > 0 {
		data, err := json.Marshal(change.patch)
		if err != nil {
			t.Fatal(err)
		}
		args = []string{"patch", target, "--type=json", "--patch=" + string(data)}
	}
	if ns := d.declared.ID.Namespace; ns != "" {
		args = append([]string{"--namespace=" + ns}, args...)
	}
	if _, err := c.Exec(t.Context(), lab.Alice, "", args...); err != nil {
		return e, false
	}
	if e.meant == nil {
		return e, true
	}
	after, ok := read(t, c, d.declared)
	if !ok {
		t.Fatalf("%s: gone after %v", e.object, args)
	}
	e.after = after
	e.changed = changes(nil, e.before, e.after)
	return e, slices.ContainsFunc(e.changed, e.meant.meets)
}

// read gives an object as it is, without what counts or tells of changes.
func read(t *testing.T, c *lab.Cluster, o gitops.Object) (map[string]any, bool) {
	t.Helper()
	args := []string{"get", resource(o), "-o", "json"}
	if o.ID.Namespace != "" {
		args = append([]string{"--namespace=" + o.ID.Namespace}, args...)
	}
	out, err := c.Exec(t.Context(), lab.Admin, "", args...)
	if err != nil {
		return nil, false
	}
	content := map[string]any{}
	if err := json.Unmarshal([]byte(out), &content); err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	metadata, _ := content["metadata"].(map[string]any)
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, name)
	}
	return content, true
}

// resource names an object so that no other kind of the same name is meant: Kind.version.group/name.
func resource(o gitops.Object) string {
	kind := o.ID.Kind
	if group, version, ok := strings.Cut(o.APIVersion, "/"); ok {
		kind += "." + version + "." + group
	}
	return kind + "/" + o.ID.Name
}
