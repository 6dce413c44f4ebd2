package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"holdfast/detect/policy"
	"holdfast/gitops/render"
	"holdfast/gitops/repo"
)

// Limits bounds what one repository, one render and one search for edits may take. What is left out has a default.
type Limits struct {
	Repository RepositoryLimits `json:"repository,omitzero"`
	Render     RenderLimits     `json:"render,omitzero"`
	Codify     CodifyLimits     `json:"codify,omitzero"`
}

// CodifyLimits bounds the search for edits that write live values to Git.
type CodifyLimits struct {
	// Timeout is the wall time for one Application, as 2m.
	Timeout policy.Duration `json:"timeout,omitzero"`
}

// RepositoryLimits bounds reading a repository.
type RepositoryLimits struct {
	// Bytes is the most that is held in memory of one, as 256Mi.
	Bytes Size `json:"bytes,omitzero"`
	// Files is the most files of one revision.
	Files int `json:"files,omitempty"`
	// Timeout bounds one clone, fetch or push, as 2m.
	Timeout policy.Duration `json:"timeout,omitzero"`
}

// RenderLimits bounds one render.
type RenderLimits struct {
	// Bytes is the most that is read, as 64Mi.
	Bytes Size `json:"bytes,omitzero"`
	// Objects is the most objects that are rendered.
	Objects int `json:"objects,omitempty"`
	// Timeout is the wall time, as 30s.
	Timeout policy.Duration `json:"timeout,omitzero"`
}

// Apply fills the limits of a repository's options; zero leaves the package's defaults.
func (l RepositoryLimits) Apply(o repo.Options) repo.Options {
	o.MaxBytes, o.MaxFiles, o.Timeout = int64(l.Bytes), l.Files, time.Duration(l.Timeout)
	return o
}

// Limits gives the render's limits, with render's defaults where none is set.
func (l RenderLimits) Limits() render.Limits {
	return render.Limits{Timeout: time.Duration(l.Timeout), Bytes: int64(l.Bytes), Objects: l.Objects}
}

// Size is a number of bytes, written as 1048576, 1024Ki, 1Mi or 1Gi.
type Size int64

// String gives the largest unit that divides the size.
func (s Size) String() string {
	for _, unit := range []string{"Gi", "Mi", "Ki"} {
		if n := factor(unit); s != 0 && int64(s)%n == 0 {
			return strconv.FormatInt(int64(s)/n, 10) + unit
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText prints as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what String prints. A size is positive.
func (s *Size) UnmarshalText(text []byte) error {
	digits := strings.TrimRight(string(text), "KMGi")
	n, err := strconv.ParseInt(digits, 10, 64)
	by := factor(string(text)[len(digits):])
	if err != nil || by == 0 || n <= 0 || n > math.MaxInt64/by {
		return fmt.Errorf("%q: want a size such as 1048576, 512Ki, 64Mi or 1Gi", text)
	}
	*s = Size(n * by)
	return nil
}

func factor(unit string) int64 {
	switch unit {
	case "":
		return 1
	case "Ki":
		return 1 << 10
	case "Mi":
		return 1 << 20
	case "Gi":
		return 1 << 30
	}
	return 0
}
