package scan

import (
	"fmt"
	"reflect"
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/argocd"
)

// declarers gives the members that declare an object, of those that more than one declares.
func declarers(members []*member) map[gitops.ObjectID][]*member {
	all := map[gitops.ObjectID][]*member{}
	for _, m := range members {
		for _, d := range m.declared {
			all[d.ID] = append(all[d.ID], m)
		}
	}
	for id, of := range all {
		if len(of) < 2 {
			delete(all, id)
		}
	}
	return all
}

// doubled names the other Application that declares the same object, where what lives is what that one says: whichever
// is applied last wins.
func (j *judge) doubled(m *member, id gitops.ObjectID, fields []detect.Field) {
	for _, other := range j.declarers[id] {
		if other == m {
			continue
		}
		for i := range fields {
			f := &fields[i]
			if !f.Drift || !other.says(id, f.Path, f.Live) {
				continue
			}
			f.Cause = detect.CauseContested
			f.Reason = fmt.Sprintf("%s declares this object too, and this is its value: whichever is applied last wins. Declare it in one of them.", appName(other.app))
		}
	}
}

// says whether the Application gives the object this value: as it declares it, or as its tracking mark.
func (m *member) says(id gitops.ObjectID, path gitops.Path, live gitops.Value) bool {
	for _, d := range m.declared {
		if d.ID == id && live.Set && reflect.DeepEqual(gitops.Lookup(d.Content, path), live) {
			return true
		}
	}
	if len(path) != 3 || path[0].Field != "metadata" {
		return false
	}
	text, _ := live.V.(string)
	switch key := path[2].Field; path[1].Field {
	case "labels":
		want, ours := m.app.Tracking.Labels[key]
		return ours && want == text
	case "annotations":
		name, _, _ := strings.Cut(text, ":")
		return key == m.app.Tracking.Annotation && key != "" && argocd.IsTrackingName(name, m.app.Namespace, m.app.Name)
	}
	return false
}
