package detect

import "fmt"

var riskNames = [...]string{"", "low", "medium", "high", "critical"}

// String gives low, medium, high or critical; the zero Risk is empty.
func (r Risk) String() string { return riskNames[r] }

// MarshalText prints the name.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a name.
func (r *Risk) UnmarshalText(text []byte) error {
	for i, name := range riskNames {
		if name == string(text) && i > 0 {
			*r = Risk(i)
			return nil
		}
	}
	return fmt.Errorf("risk %q: want low, medium, high or critical", text)
}

// Raise moves the risk by n levels, within low and critical.
func (r Risk) Raise(n int) Risk { return min(max(r+Risk(n), Low), Critical) }

// Tier is the kind of environment that a cluster serves.
type Tier string

// The tiers.
const (
	Dev        Tier = "dev"
	Staging    Tier = "staging"
	Production Tier = "production"
	Regulated  Tier = "regulated"
	DR         Tier = "dr"
)

// ParseTier reads a tier; the empty text is production.
func ParseTier(text string) (Tier, error) {
	switch t := Tier(text); t {
	case "":
		return Production, nil
	case Dev, Staging, Production, Regulated, DR:
		return t, nil
	}
	return "", fmt.Errorf("tier %q: want dev, staging, production, regulated or dr", text)
}
