package scan

import (
	"fmt"

	"holdfast/detect"
	"holdfast/gitops"
)

// leaves says why a count that Git declares should not be there: an autoscaler sets it. Empty for any other field.
func (m *member) leaves(id gitops.ObjectID, f detect.Field) string {
	if !f.Differs || !f.Git.Set || !f.Path.Equal(gitops.Path{gitops.Field("spec"), gitops.Field("replicas")}) {
		return ""
	}
	for _, a := range m.facts.Autoscalers[id] {
		if a.Cause == detect.CauseAutoscaler {
			return fmt.Sprintf("%s %s sets the count, and each apply of Git's count would undo it", a.ID.Kind, a.ID.Name)
		}
	}
	return ""
}
