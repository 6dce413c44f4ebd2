package compare

import (
	"encoding/json"
	"reflect"
	"slices"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// owners gives the managers that hold the live value at path, latest first. Of a value that is gone, only
// the owner of an atomic value around it is known.
func (w *walker) owners(path gitops.Path, present bool) []detect.Writer {
	if !w.parsed {
		metadata, _ := w.managed["metadata"].(map[string]any)
		w.sets, w.problem = typed.ParseManagedFields(metadata)
		w.parsed = true
	}
	var out []detect.Writer
	for _, set := range w.sets {
		hold := set.Holds(w.root, w.live, path)
		if hold == typed.NotHeld || !present && hold != typed.HeldWhole {
			continue
		}
		out = append(out, detect.Writer{
			Manager: set.Manager, Operation: set.Operation, Subresource: set.Subresource,
			Time: set.Time, Confidence: detect.ByManager,
		})
	}
	slices.SortStableFunc(out, func(a, b detect.Writer) int { return b.Time.Compare(a.Time) })
	return out
}

func sameOwners(found []detect.Difference) bool {
	for i := range found {
		if !slices.Equal(found[i].Owners, found[0].Owners) {
			return false
		}
	}
	return true
}

// inferDefaults finds defaults where no schema tells them: fields that Git does not have and that came with what their
// only owner sent, without its having sent them.
func (w *walker) inferDefaults() {
	applied, author := w.lastApplied()
	kept := w.out[:0]
	for _, d := range w.out {
		if d.Kind == detect.Added && d.Path[0].Field != "metadata" && w.unknownType(d.Path) &&
			(applied != nil && ownedOnlyBy(d.Owners, author) && !gitops.Lookup(applied, d.Path).Set || w.cameWithItsList(d)) {
			d.Kind, d.Differs = detect.Defaulted, false
			if !w.all {
				continue
			}
		}
		kept = append(kept, d)
	}
	w.out = kept
}

// cameWithItsList says whether an added scalar lies in an entry of a list that one manager alone holds, as a whole and
// by Apply: each apply replaces such a list, so nothing of an earlier one is left in it.
func (w *walker) cameWithItsList(d detect.Difference) bool {
	inList := slices.ContainsFunc(d.Path, gitops.Step.IsIndex)
	switch d.Live.V.(type) {
	case map[string]any, []any:
		return false
	}
	if !inList || len(d.Owners) != 1 || d.Owners[0].Operation != "Apply" {
		return false
	}
	return slices.ContainsFunc(w.sets, func(set typed.FieldSet) bool {
		return set.Manager == d.Owners[0].Manager && set.Holds(w.root, w.live, d.Path) == typed.HeldWhole
	})
}

// unknownType says whether the schema says nothing about the value at path.
func (w *walker) unknownType(path gitops.Path) bool {
	t, ok := w.root.At(path)
	return !ok || t.Kind == typed.Any
}

// lastApplied gives what client-side apply last sent, and the managers that own that annotation.
func (w *walker) lastApplied() (map[string]any, []detect.Writer) {
	path := gitops.Path{gitops.Field("metadata"), gitops.Field("annotations"), gitops.Field(lastApplied)}
	text, _ := gitops.Lookup(w.managed, path).V.(string)
	if text == "" {
		return nil, nil
	}
	var applied map[string]any
	if json.Unmarshal([]byte(text), &applied) != nil {
		return nil, nil
	}
	return applied, w.owners(path, true)
}

func ownedOnlyBy(owners, author []detect.Writer) bool {
	return len(owners) == 1 && owners[0].Operation == "Update" && owners[0].Subresource == "" &&
		len(author) == 1 && reflect.DeepEqual(owners, author)
}
