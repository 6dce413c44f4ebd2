package scan

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/argocd"
	"holdfast/gitops/packed"
)

// finding starts a finding about an object, with the identity that stays the same from scan to scan.
func (j *judge) finding(m *member, object detect.ObjectRef, presence detect.Presence) detect.Finding {
	return detect.Finding{
		ID:          detect.FindingID(j.target.Name, appName(m.app), object.ID()),
		Cluster:     j.target.Name,
		Application: appName(m.app),
		Object:      object,
		Presence:    presence,
		FirstSeen:   j.in.Now,
		LastSeen:    j.in.Now,
	}
}

// top is the drifting field with the highest risk, else the first field; nil without fields.
func top(f *detect.Finding) *detect.Field {
	var best *detect.Field
	for i := range f.Fields {
		field := &f.Fields[i]
		if best == nil || field.Drift && !best.Drift || field.Drift == best.Drift && field.Risk > best.Risk {
			best = field
		}
	}
	return best
}

// sum gives the finding the cause, class and risk of its weightiest field.
func sum(f *detect.Finding) {
	best := top(f)
	f.Drift, f.Cause, f.Class, f.Risk = best.Drift, best.Cause, best.Class, best.Risk
	f.Writer, f.Reason, f.Sensitive = best.Writer, best.Reason, best.Sensitive
}

// decide gives the finding the weightiest disposition among its drifting fields, or among all where none
// drifts, and that field's rule.
func decide(f *detect.Finding) {
	f.Disposition, f.Rule = detect.Ignore, ""
	for _, field := range f.Fields {
		if field.Drift == f.Drift && (f.Rule == "" || policy.Strictness(field.Disposition) > policy.Strictness(f.Disposition)) {
			f.Disposition, f.Rule, f.Offer, f.AfterHeal = field.Disposition, field.Rule, field.Offer, field.AfterHeal
		}
	}
}

// fingerprint changes when, and only when, the content of the drift does: not with time, nor with risk or
// policy. Secret values enter as their placeholder, with their writers' times in place of the value.
func fingerprint(f detect.Finding) string {
	parts := []string{f.ID, string(f.Presence), string(f.Cause)}
	for _, field := range f.Fields {
		if !field.Drift && f.Drift {
			continue
		}
		git, _ := json.Marshal(field.Git)
		live, _ := json.Marshal(field.Live)
		if field.Cause == detect.CauseContested {
			live = nil // it changes all the time
		}
		part := []string{field.Path.String(), string(git), string(live), string(field.Cause)}
		if field.Masked && field.Writer != nil {
			part = append(part, field.Writer.Time.UTC().String())
		}
		parts = append(parts, strings.Join(part, "\x01"))
	}
	slices.Sort(parts[3:])
	return detect.Digest(parts...)[:16]
}

func appName(a gitops.Application) string { return a.Namespace + "/" + a.Name }

// refOf gives an identity as outputs print it, with the version at which the cluster holds the object; where it
// does not, the group stands alone.
func refOf(id gitops.ObjectID, objects *packed.Set) detect.ObjectRef {
	if o, ok := objects.Get(id); ok {
		return detect.Ref(o)
	}
	return detect.ObjectRef{APIVersion: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// tracks says whether an object with these labels and annotations carries this Application's mark.
func (m *member) tracks(labels, annotations map[string]string) bool {
	t := m.app.Tracking
	if len(t.Labels) > 0 {
		all := true
		for k, v := range t.Labels {
			all = all && labels[k] == v
		}
		if all {
			return true
		}
	}
	if t.Annotation == "" {
		return false
	}
	app, _, ok := strings.Cut(annotations[t.Annotation], ":")
	if !ok || t.Installation != "" && annotations[argocd.InstallationAnnotation] != t.Installation {
		return false
	}
	return argocd.IsTrackingName(app, m.app.Namespace, m.app.Name)
}
