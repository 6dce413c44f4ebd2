package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge/folder"
	"holdfast/detect"
)

// life is the folder forge with one drift: of the ConfigMap a/c, whose field x is to be codified, and its issue.
type life struct {
	t       *testing.T
	dir     string
	forge   *folder.Forge
	commits fakeCommits
	now     time.Time
}

// sight is what a round finds.
type sight struct {
	// live is the live value; empty where the cluster is as Git declares it.
	live string
	// codify says that the value is to be written to Git.
	codify bool
	// base tells heads of the base branch apart by what the proof rests on.
	base string
	// standing is how the branch of the pull request stands to the base, where nothing wants it.
	standing bot.Standing
	// unread says that the Application could not be assessed.
	unread bool
}

// the names that a finding and its field have in records.
const findingID, fieldID = "0a", "0b"

func (l *life) round(s sight) {
	l.t.Helper()
	seen := Seen{Scopes: map[string]bool{bot.ScopeMark(scope): !s.unread}, Drifts: map[string]string{}, Standings: map[int]bot.Standing{}}
	var wanted []bot.Proposal
	print := map[string]string{"": "00", "2": "22", "3": "33"}[s.live]
	if s.live != "" && !s.unread {
		seen.Drifts[findingID], seen.Drifts[fieldID] = print, print
		if s.codify {
			p := complete(recorded(bot.AsPullRequest, print, bot.Record{Files: print, Base: "c", Proof: "1" + s.base, About: map[string]string{fieldID: print}}))
			p.Disposition = detect.Codify
			wanted = append(wanted, p)
		}
		p := recorded(bot.AsIssue, print, bot.Record{About: map[string]string{findingID: print}})
		p.Title = "Drift"
		wanted = append(wanted, p)
	}
	threads := l.threads()
	for _, t := range threads {
		if s.standing != "" {
			seen.Standings[t.Number] = s.standing
		}
	}
	l.now = l.now.Add(time.Minute)
	x := Publishing{Forge: l.forge, Commits: &l.commits, Now: l.now}
	first, late := Late(Fair(Plan(wanted, threads, seen)))
	for _, o := range append(x.Apply(l.t.Context(), first), x.Apply(l.t.Context(), late)...) {
		if o.Err != nil {
			l.t.Fatal(o.Err)
		}
	}
}

func (l *life) threads() []bot.Thread {
	l.t.Helper()
	var out []bot.Thread
	for _, kind := range []bot.Kind{bot.AsPullRequest, bot.AsIssue} {
		found, err := l.forge.Threads(l.t.Context(), kind)
		if err != nil {
			l.t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

// people set the state of the newest thread of a kind.
func (l *life) people(kind bot.Kind, state bot.State) {
	l.t.Helper()
	i := slices.IndexFunc(l.threads(), func(t bot.Thread) bool { return t.Kind == kind })
	thread := l.threads()[i]
	data, err := os.ReadFile(thread.URL)
	if err != nil {
		l.t.Fatal(err)
	}
	changed := strings.Replace(string(data), "\nstate: "+string(thread.State)+"\n", "\nstate: "+string(state)+"\n", 1)
	if err := os.WriteFile(filepath.Clean(thread.URL), []byte(changed), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// said tells each thread's state, the value that its content is about, its note, and how many comments it has; then how
// many pushes there were.
func (l *life) said() string {
	l.t.Helper()
	var out []string
	for _, t := range l.threads() {
		_, hash, _ := bot.ParseMarker(t.Body)
		line := map[bot.Kind]string{bot.AsPullRequest: "pull", bot.AsIssue: "issue"}[t.Kind] + " " + string(t.State) + " " + hash[:1]
		if hasMark(t.Body, healedMark) {
			line += " undone"
		}
		if hasMark(t.Body, changedMark) {
			line += " overtaken"
		}
		comments, err := l.forge.Comments(l.t.Context(), t.Kind, t.Number, time.Time{})
		if err != nil {
			l.t.Fatal(err)
		}
		if len(comments) > 0 {
			line += fmt.Sprintf(" +%d", len(comments))
		}
		out = append(out, line)
	}
	return fmt.Sprintf("%s; pushes %d", strings.Join(out, ", "), len(l.commits.pushed))
}

// TestTheLifeOfADrift has a row for each clause of what a drift's threads go through. Every round is made twice: the
// second must change nothing.
func TestTheLifeOfADrift(t *testing.T) {
	const pull, issue = bot.AsPullRequest, bot.AsIssue
	codified := sight{live: "2", codify: true}
	drift := func(s sight, want string) func(*life) {
		return func(l *life) {
			l.t.Helper()
			for _, time := range []string{"first", "second"} {
				l.round(s)
				if got := l.said(); got != want {
					l.t.Fatalf("%s round of %+v: %s\nwant %s", time, s, got, want)
				}
			}
		}
	}
	people := func(kind bot.Kind, state bot.State) func(*life) {
		return func(l *life) { l.t.Helper(); l.people(kind, state) }
	}
	for name, steps := range map[string][]func(*life){
		"a drift opens its threads once": {drift(codified, "pull open 2, issue open 2; pushes 1")},
		"a change updates them in place": {drift(codified, "pull open 2, issue open 2; pushes 1"), drift(sight{live: "3", codify: true}, "pull open 3, issue open 3; pushes 2")},
		"the engine's own correction closes the issue with what was seen; the codify stays and says so": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), drift(sight{}, "pull open 2 undone, issue closed 2 +1; pushes 1")},
		"its drift that is back reopens the issue, and the codify is as before": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), drift(sight{}, "pull open 2 undone, issue closed 2 +1; pushes 1"),
			drift(codified, "pull open 2, issue open 2 +1; pushes 2"), drift(sight{}, "pull open 2 undone, issue closed 2 +2; pushes 2")},
		"a third value that is codified takes the first one's place": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), drift(sight{}, "pull open 2 undone, issue closed 2 +1; pushes 1"),
			drift(sight{live: "3", codify: true}, "pull open 3, issue open 3 +1; pushes 2")},
		"a third value that is not is said in the pull request, which stays": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), drift(sight{live: "3"}, "pull open 2 overtaken, issue open 3; pushes 1"),
			drift(sight{}, "pull open 2 undone, issue closed 3 +1; pushes 1")},
		"a merge waits for the engine, and is closed with what was seen": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), people(pull, bot.Merged), drift(codified, "pull merged 2, issue open 2; pushes 1"),
			drift(sight{}, "pull merged 2, issue closed 2 +1; pushes 1")},
		"new content after a merge is a new pull request": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), people(pull, bot.Merged),
			drift(sight{live: "3", codify: true}, "pull open 3, pull merged 2, issue open 3; pushes 2")},
		"closed unmerged: not this content again": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), people(pull, bot.Closed), drift(codified, "pull closed 2, issue open 2; pushes 1")},
		"new content reopens it": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), people(pull, bot.Closed), drift(sight{live: "3", codify: true}, "pull open 3, issue open 3; pushes 2")},
		"an issue that a person closed stays closed until the content is new": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), people(issue, bot.Closed), drift(codified, "pull open 2, issue closed 2; pushes 1"),
			drift(sight{live: "3", codify: true}, "pull open 3, issue open 3; pushes 2")},
		"a base that moved is proven anew": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), drift(sight{live: "2", codify: true, base: "2"}, "pull open 2, issue open 2; pushes 2")},
		"a base that has the value already closes the codify": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), drift(sight{live: "2", standing: bot.Settled}, "pull closed 2 +1, issue open 2; pushes 1")},
		"one in which the place is gone too": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), drift(sight{live: "2", standing: bot.Overtaken}, "pull closed 2 +1, issue open 2; pushes 1")},
		"what Holdfast closed itself comes back with its drift": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), drift(sight{live: "2", standing: bot.Overtaken}, "pull closed 2 +1, issue open 2; pushes 1"),
			drift(codified, "pull open 2 +1, issue open 2; pushes 2")},
		"what cannot be read is left as it is": {
			drift(codified, "pull open 2, issue open 2; pushes 1"), drift(sight{unread: true}, "pull open 2, issue open 2; pushes 1")},
	} {
		t.Run(name, func(t *testing.T) {
			l := &life{t: t, dir: t.TempDir(), now: closing()}
			var err error
			if l.forge, err = folder.New(l.dir, "holdfast"); err != nil {
				t.Fatal(err)
			}
			for _, step := range steps {
				step(l)
			}
		})
	}
}

func TestHowLiveStandsToWhatIsRecorded(t *testing.T) {
	record := bot.Record{About: map[string]string{"0a": "11", "0b": "22"}}
	for name, c := range map[string]struct {
		drifts  map[string]string
		unknown map[string]bool
		want    Live
	}{
		"all of it is live":                        {map[string]string{"0a": "11", "0b": "22", "0c": "33"}, nil, AsRecorded},
		"a part is live, the rest undone":          {map[string]string{"0b": "22"}, nil, AsRecorded},
		"none of it is":                            {map[string]string{"0c": "33"}, nil, Undone},
		"another value is in the place of one":     {map[string]string{"0a": "12", "0b": "22"}, nil, ThirdValue},
		"another value, and the rest is undone":    {map[string]string{"0a": "12"}, nil, ThirdValue},
		"something of it could not be read at all": {map[string]string{"0a": "11"}, map[string]bool{"0b": true}, NotKnown},
	} {
		if got := LiveOf(record, c.drifts, c.unknown); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
