package steer

import (
	"strings"
	"sync"
	"time"

	"holdfast/bot"
	"holdfast/bot/command"
)

// flood says what becomes of a comment, by how much its author has asked for.
type flood int

const (
	pass flood = iota
	tell       // the first one too many is refused, and told so
	drop       // the rest is left alone
)

// window is how long a comment with commands counts.
const window = time.Hour

// Floods remembers who asked how often, over all threads of a repository. It is a brake and no record: a restart
// forgets it. It is safe for concurrent use.
type Floods struct {
	mu   sync.Mutex
	seen map[string][]sighting // by login in lower case
}

// sighting is one comment with commands.
type sighting struct {
	kind   bot.Kind
	number int
	id     int64
	at     time.Time
}

// judge counts a comment. On its thread the comments themselves tell how many came before, whatever was restarted.
func (f *Floods) judge(r Rules, c bot.Comment, all []bot.Comment) flood {
	before := 0
	for _, other := range all {
		earlier := other.ID != c.ID && !other.Created.After(c.Created) && (other.Created.Before(c.Created) || other.ID < c.ID)
		if earlier && strings.EqualFold(other.Author.Login, c.Author.Login) && c.Created.Sub(other.Created) < window && asks(other) {
			before++
		}
	}
	return max(over(before, r.PerThread), over(f.count(c), r.PerAuthor))
}

// over says what becomes of a comment with so many before it.
func over(before, limit int) flood {
	switch {
	case limit <= 0 || before < limit:
		return pass
	case before == limit:
		return tell
	}
	return drop
}

// count gives how many comments of the author came within the window before this one, and adds it.
func (f *Floods) count(c bot.Comment) int {
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = map[string][]sighting{}
	}
	if len(f.seen) > 10_000 { // bounds the memory; a limit that starts anew is no harm
		clear(f.seen)
	}
	login := strings.ToLower(c.Author.Login)
	this := sighting{c.Kind, c.Number, c.ID, c.Created}
	var recent []sighting
	for _, other := range f.seen[login] {
		if c.Created.Sub(other.at) < window && other != this { // else it is tried again
			recent = append(recent, other)
		}
	}
	f.seen[login] = append(recent, this)
	return len(recent)
}

func asks(c bot.Comment) bool {
	parsed, _ := command.Read(c)
	return len(parsed.Commands) > 0
}
