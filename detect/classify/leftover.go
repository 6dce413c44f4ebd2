package classify

import (
	"fmt"

	"holdfast/detect"
)

// isLeftover recognises an undeclared field that Git, or whoever applied from Git before this engine, once
// declared. The oldest kubectl apply is told from a later one by its time: an entry's time is that of its
// last change, so one older than the engine's newest was not touched since.
func isLeftover(s *situation) bool {
	if !s.added() || len(s.tools) == 0 {
		return false
	}
	if _, ok := s.declaredOlder(); ok {
		// What somebody wrote since to a value that Git never had is that person's.
		return s.equalsOlder() || !s.tools[0].Time.After(s.engineTime)
	}
	for _, w := range s.tools {
		if w.Manager != clientSideApply || s.engineTime.IsZero() || !w.Time.Before(s.engineTime) {
			return false
		}
	}
	return true
}

func leftover(s *situation) verdict {
	writer := s.tools[0]
	if why, ok := s.declaredOlder(); ok {
		return verdict{detect.CauseOrphaned, true, &writer, fmt.Sprintf("Left over: %s, and Git does no more; %s still owns it.", why, named(s.tools))}
	}
	return verdict{detect.CauseOrphaned, true, &writer, fmt.Sprintf("Left over from an apply by %s before the engine's own; the engine never owned it, so it never removes it.", writer.Manager)}
}
