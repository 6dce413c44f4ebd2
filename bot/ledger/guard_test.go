package ledger_test

import (
	"testing"

	"holdfast/bot"
	"holdfast/bot/ledger"
)

func TestWhatGuardsALedger(t *testing.T) {
	for _, c := range []struct {
		name string
		is   bot.BranchProtection
		want int
	}{
		{"it cannot be seen", bot.BranchProtection{}, 1},
		{"nothing", bot.BranchProtection{Known: true, AllowsForce: true, AllowsGone: true}, 1},
		{"protected, but not from force and deletion", bot.BranchProtection{Known: true, Protected: true, AllowsForce: true, AllowsGone: true}, 2},
		{"protected", bot.BranchProtection{Known: true, Protected: true}, 0},
	} {
		if got := ledger.Unguarded(ledger.DefaultBranch, c.is); len(got) != c.want {
			t.Errorf("%s: %q, want %d", c.name, got, c.want)
		}
	}
}
