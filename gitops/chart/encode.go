package chart

import (
	"encoding/json"
	"reflect"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"
)

// encoders are Helm's functions that write a value as YAML, JSON or TOML, with a bound. Helm does not export its
// own (helm.sh/helm/v4/pkg/engine, funcs.go). What cannot be written is an empty text, or for TOML the reason; the
// forms with must end the template.
func (s *session) encoders(own template.FuncMap) {
	all := sprig.TxtFuncMap()
	value := func(w writing) func([]reflect.Value) int64 {
		return func(args []reflect.Value) int64 { return s.size(w, args...) }
	}
	asTOML := indented()
	asTOML.paths = true
	for name, encode := range map[string]func(any) (string, error){"Yaml": toYAML, "YamlPretty": toPrettyYAML, "Json": toJSON, "Toml": toTOML} {
		size := value(indented())
		switch name {
		case "Json":
			size = value(quoted())
		case "Toml":
			size = value(asTOML)
		}
		own["to"+name] = s.bounded(func(v any) string {
			text, err := encode(v)
			switch {
			case err != nil && name == "Toml":
				return err.Error()
			case err != nil:
				return ""
			}
			return text
		}, size)
		if name != "YamlPretty" {
			own["mustTo"+name] = s.bounded(encode, size)
		}
	}
	for _, name := range []string{"toPrettyJson", "mustToPrettyJson", "toRawJson", "mustToRawJson"} {
		own[name] = s.bounded(all[name], value(indented()))
	}
}

func toYAML(v any) (string, error) {
	text, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(text), "\n"), err
}

func toPrettyYAML(v any) (string, error) {
	var out strings.Builder
	encoder := goyaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(v)
	return strings.TrimSuffix(out.String(), "\n"), err
}

func toJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

func toTOML(v any) (string, error) {
	var out strings.Builder
	err := toml.NewEncoder(&out).Encode(v)
	return out.String(), err
}
