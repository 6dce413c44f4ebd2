package ledger

import (
	"fmt"
	"regexp"

	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// CommitsReport says what was found of Holdfast's commits outside of the ledger.
type CommitsReport struct {
	Verdict Verdict `json:"verdict"`
	// Commits counts all that were looked at, Own those that Holdfast made, Remade those that carry its mark and that
	// a forge or a person made anew, as a squash or a rebase does.
	Commits    int         `json:"commits"`
	Own        int         `json:"own"`
	Remade     []Problem   `json:"remade,omitempty"`
	Problems   []Problem   `json:"problems,omitempty"`
	Signatures []Signature `json:"signatures,omitempty"`
}

// ownMark is the line that Holdfast puts into the message of each of its commits.
var ownMark = regexp.MustCompile(`(?m)^Holdfast-Key: [0-9a-f]+$`)

// VerifyCommits judges the commits that Holdfast made: those that carry its mark and whose committer is their
// author. What others made needs no signature of Holdfast's.
func VerifyCommits(commits []repo.RawCommit, keys Keys) CommitsReport {
	out := CommitsReport{Verdict: Whole, Commits: len(commits)}
	v := verifier{signatures: map[string]*Signature{}}
	for _, c := range commits {
		if !ownMark.MatchString(c.Message) {
			continue
		}
		if c.Author != c.Committer {
			out.Remade = append(out.Remade, Problem{Fault: Unsigned, Commit: c.Hash, Message: fmt.Sprintf("carries Holdfast's mark and was made anew by %s", c.Committer.Name)})
			continue
		}
		out.Own++
		who, err := keys.Verify(sign.CommitNamespace, c.Payload, c.Signature, c.When)
		if err != nil {
			out.Verdict = Broken
			out.Problems = append(out.Problems, Problem{Fault: faultOf(err), Commit: c.Hash, Message: fmt.Sprintf("the commit: %s%s", err, by(who))})
			continue
		}
		s := v.signature(who)
		s.Batches++
		if s.First.IsZero() || c.When.Before(s.First) {
			s.First = c.When
		}
		if c.When.After(s.Last) {
			s.Last = c.When
		}
	}
	out.Signatures = v.finish().Signatures
	return out
}
