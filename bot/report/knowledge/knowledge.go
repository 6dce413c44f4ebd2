// Package knowledge holds what is known of engines, providers, tiers and ways to drift before anything is observed: sentences
// for a reader, as YAML beside the code. It does no I/O.
package knowledge

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/detect/setting"
	"holdfast/gitops"
)

//go:embed engines.yaml
var enginesFile []byte

//go:embed providers.yaml
var providersFile []byte

//go:embed tiers.yaml
var tiersFile []byte

//go:embed vectors.yaml
var vectorsFile []byte

//go:embed remedies.yaml
var remediesFile []byte

// Base is all that is known.
type Base struct {
	Engines   []Engine   `json:"engines"`
	Providers []Provider `json:"providers"`
	Tiers     []Tier     `json:"tiers"`
	Vectors   []Vector   `json:"vectors"`
	Remedies  []Remedy   `json:"remedies"`
}

// Engine is how an engine detects and corrects.
type Engine struct {
	Engine   gitops.Engine `json:"engine"`
	Detects  string        `json:"detects"`
	Corrects string        `json:"corrects"`
	Records  string        `json:"records"`
	Blind    []string      `json:"blind"`
	Notes    []Note        `json:"notes"`
	// Bound is what the time to detection is bounded by. A poll may be late by Jitter of an interval, or by JitterSeconds of
	// any.
	Bound         string  `json:"bound"`
	Jitter        float64 `json:"jitter,omitempty"`
	JitterSeconds float64 `json:"jitterSeconds,omitempty"`
	Gauges        string  `json:"gauges"`
	Sharding      string  `json:"sharding"`
}

// Note is what holds only for versions before Since.
type Note struct {
	Since   string `json:"since"`
	Without string `json:"without"`
}

// Before gives the notes that hold for a version; those of an unknown version are none.
func (e Engine) Before(version string) []string {
	var out []string
	for _, n := range e.Notes {
		if version != "" && older(version, n.Since) {
			out = append(out, n.Without)
		}
	}
	return out
}

// older compares versions part by part. A part that is not given counts as the newest: Flux 2 is not older than 2.9.
func older(version, than string) bool {
	version, _, _ = strings.Cut(version, "-")
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range min(len(a), len(b)) {
		x, errX := strconv.Atoi(a[i])
		y, errY := strconv.Atoi(b[i])
		if errX != nil || errY != nil || x > y {
			return false
		}
		if x < y {
			return true
		}
	}
	return false
}

// Provider is what of a provider bears on drift.
type Provider struct {
	Provider          setting.Provider `json:"provider"`
	Admission         string           `json:"admission"`
	Autoscaling       string           `json:"autoscaling"`
	Audit             string           `json:"audit"`
	AuditOffByDefault bool             `json:"auditOffByDefault"`
}

// Tier has the causes that are known of a kind of environment.
type Tier struct {
	Tier   detect.Tier `json:"tier"`
	Causes []TierCause `json:"causes"`
}

// TierCause is one of them, the vector that it shows as, and how it is recognised.
type TierCause struct {
	Vector string `json:"vector"`
	Cause  string `json:"cause"`
	Sign   string `json:"sign"`
}

// Vector is a way in which live comes to differ.
type Vector struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Drift bool   `json:"drift"`
	Looms string `json:"looms"`
	// Sees is what each engine sees of it, Only what Holdfast alone does.
	Sees map[gitops.Engine]string `json:"sees"`
	Only string                   `json:"only"`
}

// Load reads the embedded files strictly.
func Load() (*Base, error) {
	var b Base
	for name, data := range map[string][]byte{"engines.yaml": enginesFile, "providers.yaml": providersFile, "tiers.yaml": tiersFile, "vectors.yaml": vectorsFile, "remedies.yaml": remediesFile} {
		if err := yaml.UnmarshalStrict(data, &b); err != nil {
			return nil, fmt.Errorf("knowledge of the report, %s: %w", name, err)
		}
	}
	return &b, nil
}

// Engine gives an engine's facts; ok is false for one without.
func (b *Base) Engine(name gitops.Engine) (Engine, bool) {
	for _, e := range b.Engines {
		if e.Engine == name {
			return e, true
		}
	}
	return Engine{}, false
}

// Provider gives a provider's facts.
func (b *Base) Provider(p setting.Provider) (Provider, bool) {
	for _, one := range b.Providers {
		if one.Provider == p {
			return one, true
		}
	}
	return Provider{}, false
}

// Tier gives a tier's causes.
func (b *Base) Tier(t detect.Tier) (Tier, bool) {
	for _, one := range b.Tiers {
		if one.Tier == t {
			return one, true
		}
	}
	return Tier{}, false
}

// Vector gives a vector by its id.
func (b *Base) Vector(id string) (Vector, bool) {
	for _, one := range b.Vectors {
		if one.ID == id {
			return one, true
		}
	}
	return Vector{}, false
}

// Remedy is a recommendation before anybody knows what it is for.
type Remedy struct {
	ID string `json:"id"`
	// Engine is whose setting it is; empty for any. It holds from version Since on, and Before another.
	Engine gitops.Engine `json:"engine,omitempty"`
	Since  string        `json:"since,omitempty"`
	Before string        `json:"before,omitempty"`
	Title  string        `json:"title"`
	Why    string        `json:"why"`
	Effort string        `json:"effort"`
	// Category is the way to differ whose controls it serves, Expects the part of the audit trail.
	Category string `json:"category,omitempty"`
	Expects  string `json:"expects,omitempty"`
	Success  string `json:"success"`
	// Patch says that manifests are laid over objects that are there.
	Patch bool `json:"patch,omitempty"`
	// Manifests and Steps are templates over a target.
	Manifests []string `json:"manifests,omitempty"`
	Steps     []string `json:"steps,omitempty"`
}

// Fits says whether a remedy is one of an engine at a version. An unknown version counts as the newest.
func (r Remedy) Fits(engine gitops.Engine, version string) bool {
	if r.Engine != "" && r.Engine != engine {
		return false
	}
	if r.Since != "" && version != "" && older(version, r.Since) {
		return false
	}
	return r.Before == "" || version != "" && older(version, r.Before)
}

// Remedy gives a remedy by its id.
func (b *Base) Remedy(id string) (Remedy, bool) {
	for _, one := range b.Remedies {
		if one.ID == id {
			return one, true
		}
	}
	return Remedy{}, false
}
