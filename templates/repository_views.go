package templates

// Overview is the body of a repository's dashboard issue: what is open there.
type Overview struct {
	PullRequests, Issues []Open
	// MorePullRequests and MoreIssues are not listed, for want of room.
	MorePullRequests, MoreIssues int
	// Waiting is how much is still to be opened or changed, since a forge takes only so much within a time.
	Waiting int
}

// Open is a thread that is open.
type Open struct{ Risk, Disposition, Title, URL string }

// OverviewBody gives the Markdown of a dashboard issue.
func OverviewBody(v Overview) (string, error) { return render("overview.tmpl", v) }

// Onboarding is the body of the pull request that adds a policy.
type Onboarding struct {
	// Path is where the policy goes, Tier the built-in one that it extends.
	Path, Tier string
	// Setting says that the path is not where a policy is looked for, and has to be set.
	Setting bool
	Diff    string
	Proof   Proof
	Base    string
}

// OnboardingBody gives the Markdown of an onboarding pull request.
func OnboardingBody(v Onboarding) (string, error) { return render("onboarding.tmpl", v) }

// PolicyFile gives the policy that an onboarding pull request adds.
func PolicyFile(tier string) (string, error) { return render("policy-file.tmpl", tier) }
