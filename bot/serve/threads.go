package serve

import (
	"holdfast/bot"
	"holdfast/bot/publish"
	"holdfast/detect"
	"holdfast/gitops"
)

// mostDiff bounds what is kept of the diffs of one pull request, in bytes: the forge has the whole.
const mostDiff = 32 << 10

// Thread is a pull request or an issue about findings, as a round left it.
type Thread struct {
	Kind   bot.Kind
	Number int
	URL    string
	Title  string
	State  bot.State
	// Disposition is empty for a thread that nothing wants any more.
	Disposition detect.Disposition `json:",omitempty"`
	// Verb is what the round did with it, and Reason why.
	Verb   publish.Verb
	Reason string
	// Findings are the IDs of those that it is about, of other clusters too.
	Findings []string
	// Files are what a pull request changes, as far as they are kept; FilesCut says that there is more.
	Files    []File        `json:",omitempty"`
	FilesCut bool          `json:",omitempty"`
	Proof    *gitops.Proof `json:",omitempty"`
}

// File is a changed file as outputs show it, without values of Secrets.
type File struct{ Path, Diff string }

// ThreadOf gives what a report keeps of an outcome; false where there is no thread, as where it could not be opened.
func ThreadOf(o publish.Outcome) (Thread, bool) {
	if o.Err != nil || o.Thread.Number == 0 {
		return Thread{}, false
	}
	p := o.Action.Proposal
	t := Thread{
		Kind: o.Thread.Kind, Number: o.Thread.Number, URL: o.Thread.URL, Title: o.Thread.Title, State: o.Thread.State,
		Disposition: p.Disposition, Verb: o.Action.Verb, Reason: o.Action.Reason, Findings: p.Findings, Proof: p.Proof,
	}
	if !o.Waits.IsZero() {
		t.Verb, t.Reason = publish.Nothing, "waits for the budget of what may be created"
	}
	switch t.Verb { // the thread is as the forge gave it before its state was set
	case publish.Close:
		t.State = bot.Closed
	case publish.Open, publish.Reopen:
		t.State = bot.Open
	}
	room := mostDiff
	for _, f := range p.Files {
		if len(f.Diff) > room {
			t.FilesCut = true
			continue
		}
		room -= len(f.Diff)
		t.Files = append(t.Files, File{f.Path, f.Diff})
	}
	return t, true
}

// withFindings gives the threads with what those that nothing wants any more were about, as the report before knows.
func withFindings(threads, before []Thread) []Thread {
	about := map[string][]string{}
	for _, t := range before {
		about[t.URL] = t.Findings
	}
	for i := range threads {
		if len(threads[i].Findings) == 0 {
			threads[i].Findings = about[threads[i].URL]
		}
	}
	return threads
}
