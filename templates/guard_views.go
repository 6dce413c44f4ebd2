package templates

// Guard is the body of the pull request that commits admission policies and read-only roles.
type Guard struct {
	// Cluster is whose objects are guarded, Objects how many they are, and People counts the ways past the pipeline
	// that are open to people.
	Cluster         string
	Objects, People int
	// Path is the file that is added or changed, in the branch Base.
	Path, Base, Diff string
	// BreakGlass is the group, and Annotation where its members give their reason.
	BreakGlass, Annotation string
	Findings               []GuardFinding
	// More counts findings that are left out.
	More int
	// Remarks are what a reviewer should know besides.
	Remarks []string
}

// GuardFinding is one way past the pipeline.
type GuardFinding struct{ Risk, Who, How, Fix string }

// GuardBody gives the Markdown of a guard pull request.
func GuardBody(v Guard) (string, error) { return render("guard.tmpl", v) }
