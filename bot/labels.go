package bot

import (
	"slices"
	"strings"
)

// OwnLabel says whether Holdfast gives and takes a label: "drift" and what begins with "drift/". All others are
// people's.
func OwnLabel(name string) bool { return name == "drift" || strings.HasPrefix(name, "drift/") }

// MergeLabels keeps what people added and replaces what Holdfast gave. It is never nil: to a forge an empty list clears,
// none leaves as is.
func MergeLabels(present, wanted []string) []string {
	out := append([]string{}, wanted...)
	for _, name := range present {
		if !OwnLabel(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// LabelColor gives the colour of a new label, six hex digits: the risks from red to grey, the rest in one violet.
func LabelColor(name string) string {
	switch strings.TrimPrefix(name, "drift/") {
	case "critical":
		return "b60205"
	case "high":
		return "d93f0b"
	case "medium":
		return "fbca04"
	case "low":
		return "c5def5"
	}
	return "6f42c1"
}
