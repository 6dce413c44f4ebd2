package propose

import (
	"strings"
	"testing"

	"holdfast/detect"
)

func TestAnswersNameWhatIsRead(t *testing.T) {
	f := detect.Finding{ID: "f1", Presence: detect.Both, Disposition: detect.AsIssue}
	text := func(commands bool) string {
		var out []string
		for _, a := range issueAnswers(f, commands) {
			out = append(out, a.How+": "+a.Effect)
		}
		return strings.Join(out, "\n")
	}
	if got := text(true); !strings.Contains(got, "a comment `/drift codify` opens a pull request") || !strings.Contains(got, "`/drift ignore 12h load test`") || strings.Contains(got, "holdfast propose") {
		t.Errorf("where comments are read:\n%s", got)
	}
	if got := text(false); !strings.Contains(got, "`holdfast propose --finding f1 --disposition codify` opens") || strings.Contains(got, "/drift") {
		t.Errorf("where nobody reads them:\n%s", got)
	}
}
