package ledger

import "holdfast/bot"

// Unguarded says what a forge lets others do to the ledger's branch, a sentence each; none when it is guarded. What
// guards it is a person's act: Holdfast looks, and says so.
func Unguarded(branch string, p bot.BranchProtection) []string {
	switch {
	case !p.Known:
		return []string{"whether branch " + branch + " is protected cannot be seen with this credential"}
	case !p.Protected:
		return []string{"branch " + branch + " is not protected: forbid force pushes and deletion, and let Holdfast alone push to it"}
	}
	var out []string
	if p.AllowsForce {
		out = append(out, "branch "+branch+" can be rewritten by force: forbid it")
	}
	if p.AllowsGone {
		out = append(out, "branch "+branch+" can be deleted: forbid it")
	}
	return out
}
