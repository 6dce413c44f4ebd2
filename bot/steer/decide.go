package steer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/command"
	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
)

// outcome is what became of a command, as the ledger names it.
type outcome string

const (
	accepted outcome = "accepted"
	refused  outcome = "refused"
	unknown  outcome = "unknown"
)

// person is who asks; hidden says why a role is not known.
type person struct {
	command.Person
	hidden string
}

// situation is all that decides about the commands of a thread.
type situation struct {
	repository string
	topic      topic
	facts      Facts
	standing   Standing
	owners     *command.Owners
	rights     command.Rights
	floor      policy.Floor
	ledger     bool
	known      func(subject string) bool
	now        time.Time
}

// verdict is the answer to one command.
type verdict struct {
	outcome outcome
	// reason is one or two sentences for who asked.
	reason  string
	records []ledger.Record
	rescan  bool
}

// acts says whether a verb asks for an effect; shows whether its answer is a text.
func acts(v command.Verb) bool {
	switch v {
	case command.Codify, command.Revert, command.Ignore, command.Unignore, command.Rescan:
		return true
	}
	return false
}

func shows(v command.Verb) bool {
	return v == command.Explain || v == command.Status || v == command.Help
}

// refuseOr refuses what is said too often, else decides.
func (s *situation) refuseOr(f flood, c command.Command, by person, comment bot.Comment) verdict {
	if f == tell {
		return verdict{outcome: refused, reason: "Too many commands within an hour. Further ones are left alone until fewer are."}
	}
	return s.decide(c, by, comment)
}

// decide answers one command. It is pure.
func (s *situation) decide(c command.Command, by person, comment bot.Comment) verdict {
	no := func(reason string) verdict { return verdict{outcome: refused, reason: reason} }
	switch {
	case c.Problem == command.UnknownVerb:
		return verdict{outcome: unknown, reason: "There is no such command."}
	case by.hidden != "":
		return no(by.hidden)
	}
	allowed := command.Decide(command.Request{
		Command: c, By: by.Person, Files: s.topic.files, Owners: s.owners, Rights: s.rights, Longest: time.Duration(s.floor.Exceptions.Longest),
	})
	switch {
	case allowed.Refusal != command.Allowed:
		return no(allowed.Because)
	case c.Verb == command.Help:
		return verdict{outcome: accepted, reason: "See below."}
	case !s.topic.own:
		return no("Holdfast did not open this thread, so it is about no drift: say it on the drift's own issue or pull request.")
	case c.Verb == command.Explain || c.Verb == command.Status:
		return verdict{outcome: accepted, reason: "See below."}
	case c.Verb == command.Rescan:
		return verdict{outcome: accepted, reason: "The clusters are scanned again now.", rescan: true}
	case !s.ledger:
		return no("No ledger is kept for this repository, so nobody could see later who asked for this: set signing and ledger in holdfast.yaml.")
	case len(s.topic.drifts) == 0 && c.Verb != command.Unignore:
		return no("Nothing that this thread is about drifted when the clusters were scanned last.")
	}
	switch c.Verb {
	case command.Unignore:
		return s.unignore(by, comment)
	case command.Ignore:
		return s.ignore(c, by, comment)
	}
	return s.order(c, by, comment)
}

// order makes the records of a codify or revert. An ignore of the same drift ends with it.
func (s *situation) order(c command.Command, by person, comment bot.Comment) verdict {
	d := map[command.Verb]detect.Disposition{command.Codify: detect.Codify, command.Revert: detect.Revert}[c.Verb]
	out := verdict{outcome: accepted, rescan: true}
	fields, held, why := 0, 0, ""
	for _, one := range s.topic.drifts {
		wanted := policy.Commanded{Finding: one.finding.ID, Disposition: d, By: by.Login, Fields: one.contents()}
		kept, reason := s.judged(one, wanted)
		fields, held = fields+len(wanted.Fields), held+len(wanted.Fields)-len(kept)
		why = cmp.Or(why, reason)
		if len(kept) == 0 {
			continue
		}
		order := ledger.Order{
			Finding: one.finding.ID, Cluster: one.finding.Cluster, Object: one.finding.Object.ID().String(), Disposition: d,
			Thread: s.thread(), Comment: comment.URL, By: by.Login, Fields: kept,
		}
		out.records = append(out.records, ledger.Record{Kind: ledger.Ordered, Subject: ledger.SubjectOfEvent(ledger.Ordered, order.Finding), Content: order})
		out.records = append(out.records, s.standing.endException(order.Finding, by.Login, comment.URL)...)
	}
	if len(out.records) == 0 {
		return verdict{outcome: refused, reason: why}
	}
	out.reason = map[detect.Disposition]string{
		detect.Codify: "The next round opens a pull request that writes the live state to Git, or says in the issue why there is none.",
		detect.Revert: "The next round opens a pull request whose merge brings Git's state back, or says in the issue why there is none.",
	}[d]
	if held > 0 {
		out.reason += fmt.Sprintf(" Of %d fields, %d stay as they are: %s", fields, held, why)
	}
	return out
}

// ignore makes the records of an exception. An order about the same drift ends with it.
func (s *situation) ignore(c command.Command, by person, comment bot.Comment) verdict {
	out := verdict{outcome: accepted, rescan: true}
	until := s.now.Add(c.For).UTC().Truncate(time.Second)
	why := ""
	for _, one := range s.topic.drifts {
		wanted := policy.Commanded{Finding: one.finding.ID, Disposition: detect.Ignore, By: by.Login, Until: until, Fields: one.contents()}
		kept, reason := s.judged(one, wanted)
		why = cmp.Or(why, reason)
		if len(kept) == 0 {
			continue
		}
		exception := ledger.Exception{
			Finding: one.finding.ID, Cluster: one.finding.Cluster, Object: one.finding.Object.ID().String(),
			Thread: s.thread(), Comment: comment.URL, By: by.Login, Reason: c.Reason, Until: until,
		}
		for _, f := range kept {
			exception.Paths = append(exception.Paths, f.Path)
		}
		out.records = append(out.records, ledger.Record{Kind: ledger.Excepted, Subject: ledger.SubjectOfEvent(ledger.Excepted, exception.Finding), Content: exception})
		out.records = append(out.records, s.standing.endOrder(exception.Finding, by.Login, comment.URL)...)
	}
	if len(out.records) == 0 {
		return verdict{outcome: refused, reason: why}
	}
	out.reason = fmt.Sprintf("Left alone until %s: the fields that drift now, whatever their values become, and no others.", until.Format(timeLayout))
	if why != "" {
		out.reason += " Not all of them: " + why
	}
	return out
}

// unignore ends what stands, whether it still drifts or not.
func (s *situation) unignore(by person, comment bot.Comment) verdict {
	out := verdict{outcome: accepted, reason: "It counts again from the next round on.", rescan: true}
	for _, id := range s.topic.ids {
		out.records = append(out.records, s.standing.endException(id, by.Login, comment.URL)...)
	}
	if len(out.records) == 0 {
		return verdict{outcome: refused, reason: "No command ignores anything of this. What the policy's own exceptions ignore, a change of the policy ends."}
	}
	return out
}

// judged asks the server's floor, and what codify must never write, about each field; why says what keeps the first
// of the others from it.
func (s *situation) judged(d drift, wanted policy.Commanded) (kept []ledger.OrderedField, why string) {
	p := policy.Builtin(detect.Production).Under(s.floor).Commanded([]policy.Commanded{wanted})
	check := func(field *detect.Field, path, content string) {
		got := p.Decide(policy.Input{Finding: d.finding, Field: field, Now: s.now, EngineRemoves: true})
		switch {
		case got.Disposition == wanted.Disposition:
			kept = append(kept, ledger.OrderedField{Path: path, Content: content})
		case why == "":
			why = sentence(cmp.Or(reasonIn(got.Trace, wanted.String()), got.Rule))
		}
	}
	if d.whole {
		check(nil, "", wanted.Fields[""])
		return kept, why
	}
	for i := range d.fields {
		path := d.fields[i].Path.String()
		check(&d.fields[i], path, wanted.Fields[path])
	}
	return kept, why
}

// record tells the ledger what was commanded, by whom, and what came of it.
func (s *situation) record(c bot.Comment, one command.Command, by person, v verdict) ledger.Command {
	thread := s.thread()
	role := "not known"
	if by.hidden == "" {
		role = command.RoleName(by.Role)
	}
	return ledger.Command{
		Thread: *thread, Comment: c.URL, Text: one.Text, By: c.Author.Login, Role: role, Outcome: string(v.outcome), Reason: v.reason,
	}
}

func (s *situation) thread() *ledger.Thread {
	t := s.topic.thread
	return &ledger.Thread{
		Repository: gitops.WithoutCredentials(s.repository), Key: s.topic.key, Kind: string(t.Kind), Number: t.Number, URL: gitops.WithoutCredentials(t.URL),
	}
}

// verdictOf reads back what was recorded.
func verdictOf(e ledger.Entry) (verdict, error) {
	var c ledger.Command
	if err := json.Unmarshal(e.Statement.Predicate.Content, &c); err != nil {
		return verdict{}, fmt.Errorf("ledger: %s: %w", e.Path, err)
	}
	return verdict{outcome: outcome(c.Outcome), reason: c.Reason}, nil
}

// subjectOf names a command for the ledger, once and for all.
func subjectOf(repository string, c bot.Comment, one command.Command) string {
	where := c.URL
	if where == "" {
		where = fmt.Sprintf("%s %s %d comment %d", gitops.WithoutCredentials(repository), c.Kind, c.Number, c.ID)
	}
	return ledger.SubjectOfEvent(ledger.Commanded, fmt.Sprintf("%s line %d", where, one.Line))
}

// timeLayout is how times stand in answers.
const timeLayout = "2006-01-02 15:04 UTC"

// reasonIn gives the line of a trace that says why a command does not hold: the last that names it, or that is the
// server's own word.
func reasonIn(trace []string, command string) string {
	for _, line := range slices.Backward(trace) {
		if rest, ok := strings.CutPrefix(line, command+": "); ok {
			return rest
		}
		if strings.Contains(line, command) || strings.HasPrefix(line, "floor of the server") || strings.HasPrefix(line, "codify of ") {
			return line
		}
	}
	return ""
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
