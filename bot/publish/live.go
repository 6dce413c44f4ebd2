package publish

import "holdfast/bot"

// Live is how what is live now stands to the values that a codify pull request has recorded.
type Live string

// How live may stand to recorded values.
const (
	// AsRecorded: something of what is recorded is live, and nothing else in its place.
	AsRecorded Live = "as recorded"
	// Undone: nothing of it is live any more, and the cluster is as Git declares it: the engine, or a person, undid it.
	Undone Live = "undone"
	// ThirdValue: in the place of something recorded, a value is live that is neither the recorded nor the declared one.
	ThirdValue Live = "third value"
	// NotKnown: something of it could not be read.
	NotKnown Live = "not known"
)

// LiveOf compares what a codify recorded (bot.ParseRecord of its body) with all that drifts now (propose.Drifting of a
// scan that assessed its Applications) and what could not be judged. A third value weighs more than the rest: merging
// would overwrite what somebody did since.
func LiveOf(record bot.Record, drifts map[string]string, unknown map[string]bool) Live {
	out := Undone
	for id, recorded := range record.About {
		if unknown[id] {
			return NotKnown
		}
		now, still := drifts[id]
		switch {
		case still && now != recorded:
			out = ThirdValue
		case still && out == Undone:
			out = AsRecorded
		}
	}
	return out
}
