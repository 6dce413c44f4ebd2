package scan

import (
	"fmt"
	"slices"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/gitops"
)

// leaves says why a count has no place in Git: an autoscaler sets it. Of a count that Git does not have, one that Git
// declares is enough, whether it is there or not. Empty for any other field.
func (m *member) leaves(id gitops.ObjectID, f detect.Field) string {
	if !f.Differs || !f.Path.Equal(replicasPath()) {
		return ""
	}
	if why := scaledBy(m.live(id)); why != "" || f.Git.Set {
		return why
	}
	return scaledBy(m.scalers[id])
}

// live are the autoscalers of an object that are there, without those that people made past Git.
func (m *member) live(id gitops.ObjectID) []classify.Autoscaler {
	return slices.DeleteFunc(slices.Clone(m.facts.Autoscalers[id]), func(a classify.Autoscaler) bool { return m.facts.HandMade(a) != nil })
}

func replicasPath() gitops.Path { return gitops.Path{gitops.Field("spec"), gitops.Field("replicas")} }

func scaledBy(scalers []classify.Autoscaler) string {
	for _, a := range scalers {
		if a.Cause == detect.CauseAutoscaler {
			return fmt.Sprintf("%s %s sets the count, and each apply of Git's count would undo it", a.ID.Kind, a.ID.Name)
		}
	}
	return ""
}

// scaling gives the autoscalers that the members declare.
func scaling(members []*member, rules *classify.Rules) classify.Autoscalers {
	declared := classify.NewFacts(nil, rules)
	for _, m := range members {
		for _, d := range m.declared {
			declared.Add(d.Object)
		}
	}
	return declared.Autoscalers
}
