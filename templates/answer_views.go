package templates

// Answers is the comment that answers what people ask for on a thread.
type Answers struct {
	Rows []AnswerRow
	// Left is how many earlier rows are left out.
	Left      int
	Explained []Explained
	// Status are lines of Markdown, whose texts from outside are in code spans.
	Status []string
	Help   []HelpLine
}

// AnswerRow is one command and its answer.
type AnswerRow struct {
	By, Command, Outcome, Reason string
}

// Explained is how one finding is judged.
type Explained struct {
	Object, Cluster, Application, Risk string
	Parts                              []ExplainedPart
	Trace                              []string
}

// ExplainedPart is how a field, or an object as a whole, is judged.
type ExplainedPart struct {
	What, Cause, Reason, Disposition, Rule, By string
}

// HelpLine is one command of the help.
type HelpLine struct {
	Usage, Effect, Needs string
}

// AnswersBody gives the Markdown of the answers.
func AnswersBody(v Answers) (string, error) { return render("answers.tmpl", v) }
