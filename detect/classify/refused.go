package classify

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"holdfast/detect"
	"holdfast/gitops"
)

// Refused says whether the API server would refuse to put Git's value of a drifting field back, and why:
// the field cannot be changed once it is set, or it can only grow. A revert of it never converges, whoever
// made the change.
func (f *Facts) Refused(s Subject, field detect.Field) (reason string, refused bool) {
	if s.Live == nil || !field.Differs || !field.Git.Set || !field.Live.Set {
		return "", false
	}
	if f.Rules.onlyGrows(*s.Live, field.Path) {
		git, errGit := resource.ParseQuantity(text(field.Git.V))
		live, errLive := resource.ParseQuantity(text(field.Live.V))
		if errGit == nil && errLive == nil && git.Cmp(live) < 0 {
			return "The API server refuses to make it smaller again.", true
		}
		return "", false
	}
	if f.Rules.isImmutable(*s.Live, field.Path) {
		return "The API server refuses to change this field of an existing object.", true
	}
	return "", false
}

// onlyGrows says whether the API server lets the quantity at path grow and never shrink.
func (r *Rules) onlyGrows(live gitops.Object, path gitops.Path) bool {
	for _, entry := range r.growing {
		if anyKind(entry.Objects, live.ID) && covered(entry.fields, path, live.Content) {
			return true
		}
	}
	return false
}
