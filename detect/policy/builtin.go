package policy

import (
	"embed"

	"holdfast/detect"
)

//go:embed builtin/*.yaml
var builtinFiles embed.FS

// BuiltinSource gives the built-in policy of a tier as it is written, comments included. A disaster
// recovery cluster has production's: it must be what production is.
func BuiltinSource(tier detect.Tier) (name string, data []byte) {
	switch tier {
	case detect.Dev, detect.Staging, detect.Regulated:
		name = string(tier)
	default:
		name = string(detect.Production)
	}
	data, err := builtinFiles.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		panic(err) // embedded: a test reads each of them
	}
	return name, data
}

// Builtin gives the built-in policy of a tier.
func Builtin(tier detect.Tier) *Policy {
	name, data := BuiltinSource(tier)
	p, err := Decode(name, data)
	if err != nil {
		panic(err) // embedded: a test reads each of them
	}
	return p
}
