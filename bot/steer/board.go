package steer

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/command"
	"holdfast/templates"
)

// Limits of the comment that holds the answers.
const (
	mostRows = 20
	mostDone = 300
	mostText = 300 // characters of a row's texts
)

// board is the one comment of a thread that holds the answers.
type board struct {
	comment bot.Comment // without an ID where there is none yet
	memory
	reactions []reaction
}

// memory is what the comment remembers, in a hidden line.
type memory struct {
	// Done are the comments that are answered, by their IDs; all up to UpTo are.
	Done []int64 `json:"done,omitempty"`
	UpTo int64   `json:"upTo,omitempty"`
	// Shows are the answers that are texts, as somebody asked for them.
	Shows []command.Verb `json:"shows,omitempty"`
	Rows  []row          `json:"rows,omitempty"`
	// Left is how many rows were left out.
	Left int `json:"left,omitempty"`
}

// row is one command and its answer.
type row struct {
	By      string    `json:"by"`
	Text    string    `json:"text"`
	Outcome outcome   `json:"outcome"`
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"at,omitzero"`
	URL     string    `json:"url,omitempty"`
}

type reaction struct {
	comment  bot.Comment
	reaction bot.Reaction
}

// boardMark is the hidden line. Its content is base64, so that nothing can break out of it.
var boardMark = regexp.MustCompile(`<!-- holdfast answers ([^ ]*) -->`)

// boardOf finds the answers among a thread's comments: the first of the bot's own that has the mark. What does not
// read as it should is forgotten: the ledger knows what was acted on.
func boardOf(comments []bot.Comment, own string) board {
	for _, c := range comments {
		found := boardMark.FindStringSubmatch(c.Body)
		if found == nil || !strings.EqualFold(c.Author.Login, own) {
			continue
		}
		b := board{comment: c}
		if data, err := base64.RawURLEncoding.DecodeString(found[1]); err != nil || json.Unmarshal(data, &b.memory) != nil {
			b.memory = memory{}
		}
		return b
	}
	return board{}
}

// unanswered gives the comments with commands that are not answered, oldest first.
func (b board) unanswered(comments []bot.Comment, own string) []bot.Comment {
	var out []bot.Comment
	for _, c := range comments {
		done := c.ID <= b.UpTo || slices.Contains(b.Done, c.ID)
		if !done && !strings.EqualFold(c.Author.Login, own) && asks(c) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b bot.Comment) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// add takes in what became of a comment.
func (b *board) add(c bot.Comment, a answered) {
	b.Done = append(b.Done, c.ID)
	slices.Sort(b.Done)
	if n := len(b.Done) - mostDone; n > 0 {
		b.UpTo = max(b.UpTo, b.Done[n-1])
		b.Done = slices.Delete(b.Done, 0, n)
	}
	for _, r := range a.rows {
		r.Text, r.Reason = cut(r.Text), cut(r.Reason)
		b.Rows = append(b.Rows, r)
	}
	if n := len(b.Rows) - mostRows; n > 0 {
		b.Left += n
		b.Rows = slices.Delete(b.Rows, 0, n)
	}
	for _, v := range a.shows {
		if !slices.Contains(b.Shows, v) {
			b.Shows = append(b.Shows, v)
		}
	}
	if a.react != "" {
		b.reactions = append(b.reactions, reaction{c, a.react})
	}
}

// body writes the comment.
func (b board) body(s situation) (string, error) {
	view := templates.Answers{Left: b.Left}
	for _, r := range b.Rows {
		view.Rows = append(view.Rows, templates.AnswerRow{By: r.By, Command: r.Text, Outcome: string(r.Outcome), Reason: r.Reason})
	}
	for _, v := range command.Verbs() { // in the same order always
		if !slices.Contains(b.Shows, v) {
			continue
		}
		switch v {
		case command.Explain:
			view.Explained = s.explained()
		case command.Status:
			view.Status = s.status()
		case command.Help:
			view.Help = help(s.rights)
		}
	}
	text, err := templates.AnswersBody(view)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(b.memory)
	if err != nil {
		return "", err
	}
	mark := "\n<!-- holdfast answers " + base64.RawURLEncoding.EncodeToString(data) + " -->\n"
	return templates.Cut(text, "`holdfast explain` and `holdfast scan` tell it all", mark), nil
}

func cut(text string) string {
	if runes := []rune(text); len(runes) > mostText {
		return string(runes[:mostText-1]) + "…"
	}
	return text
}
