package bot

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Record is what a thread remembers from run to run, in a hidden comment before its marker: the forge is
// the truth, and nothing of it has to be kept elsewhere. A part that is not known is left out.
type Record struct {
	// Files is a hash of a pull request's files before and after; Base is the commit that they rest on. Proof is a hash of
	// what the Applications that a codify was proven with declare without it.
	Files, Base, Proof string
	// FirstSeen is when the drift was first seen, to the second.
	FirstSeen time.Time
	// CloseAfterHeal says that policy closes the thread once the engine undid its drift.
	CloseAfterHeal bool
	// About are fingerprints of what the thread is about, by short names in hex: findings by their IDs, and
	// single fields by names of their own.
	About map[string]string
}

// maxRecorded bounds what a record lists, since a body has its limit: with more, nothing is.
const maxRecorded = 300

// String gives the comment, on one line. Values are plain words, so the comment cannot be broken out of.
func (r Record) String() string {
	out := "<!-- holdfast record"
	if r.Files != "" {
		out += " files=" + r.Files
	}
	if r.Base != "" {
		out += " base=" + r.Base
	}
	if r.Proof != "" {
		out += " proof=" + r.Proof
	}
	if !r.FirstSeen.IsZero() {
		out += " seen=" + strconv.FormatInt(r.FirstSeen.Unix(), 10)
	}
	if r.CloseAfterHeal {
		out += " heal=close"
	}
	if n := len(r.About); n > 0 && n <= maxRecorded {
		var list []string
		for _, id := range slices.Sorted(maps.Keys(r.About)) {
			list = append(list, id+"-"+r.About[id])
		}
		out += " about=" + strings.Join(list, ",")
	}
	return out + " -->"
}

// ParseRecord finds the last record of a body; without one it is zero.
func ParseRecord(body string) Record {
	var r Record
	all := regexp.MustCompile(`<!-- holdfast record((?: [a-z]+=[0-9a-z,-]+)*) -->`).FindAllStringSubmatch(body, -1)
	if len(all) == 0 {
		return r
	}
	for _, part := range strings.Fields(all[len(all)-1][1]) {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "files":
			r.Files = value
		case "base":
			r.Base = value
		case "proof":
			r.Proof = value
		case "seen":
			if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
				r.FirstSeen = time.Unix(seconds, 0).UTC()
			}
		case "heal":
			r.CloseAfterHeal = value == "close"
		case "about":
			r.About = map[string]string{}
			for _, one := range strings.Split(value, ",") {
				id, fingerprint, _ := strings.Cut(one, "-")
				r.About[id] = fingerprint
			}
		}
	}
	return r
}
