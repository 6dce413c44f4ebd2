package classify

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"holdfast/gitops"
)

// gatekeeperMutator reads Assign, AssignMetadata, AssignImage and ModifySet. AssignMetadata matches by
// spec.match, the others by spec.applyTo too. Source: open-policy-agent/gatekeeper apis/mutations.
func gatekeeperMutator(object gitops.Object) mutating {
	spec, _ := object.Content["spec"].(map[string]any)
	match, _ := spec["match"].(map[string]any)
	m := mutating{name: "Gatekeeper's " + object.ID.Kind + " " + object.ID.Name}
	narrow := admissionRule{groups: []string{"*"}, resources: []string{"*"},
		namespaces: selector(match["namespaceSelector"]), objects: selector(match["labelSelector"]),
		names: oneText(match["name"]), spaces: texts(match["namespaces"]), notIn: texts(match["excludedNamespaces"])}
	var kinds []admissionRule
	for _, k := range mappings(match["kinds"]) {
		rule := narrow
		rule.groups, rule.resources = texts(k["apiGroups"]), texts(k["kinds"])
		kinds = append(kinds, rule)
	}
	for _, k := range mappings(spec["applyTo"]) {
		m.about = append(m.about, admissionRule{groups: texts(k["groups"]), resources: texts(k["kinds"])})
	}
	switch {
	case len(m.about) == 0 && object.ID.Kind != "AssignMetadata":
	case len(m.about) == 0 && len(kinds) > 0:
		m.about = kinds
	case len(m.about) == 0:
		m.about = []admissionRule{narrow}
	case len(kinds) == 1:
		m.all = kinds
	default:
		m.all = []admissionRule{narrow}
	}
	location, _ := spec["location"].(string)
	parameters, _ := spec["parameters"].(map[string]any)
	assign, _ := parameters["assign"].(map[string]any)
	values, _ := parameters["values"].(map[string]any)
	s := setting{path: gatekeeperLocation(location), once: object.ID.Kind == "AssignMetadata"}
	switch object.ID.Kind {
	case "AssignImage":
		s.image = assignedImage(parameters)
	case "ModifySet":
		s.value = values["fromList"]
		s.computed = s.value == nil
	default:
		s.value = assign["value"]
		s.computed = s.value == nil
	}
	if len(s.path) > 0 {
		m.sets = []setting{s}
	}
	return m
}

// gatekeeperLocation reads a location such as spec.containers[name:*].image or metadata.labels."a.b/c".
func gatekeeperLocation(text string) []place {
	var out []place
	for text != "" {
		switch {
		case text[0] == '.':
			text = text[1:]
		case text[0] == '[':
			end := strings.IndexByte(text, ']')
			if end < 0 {
				return nil
			}
			_, name, _ := strings.Cut(text[1:end], ":")
			out = append(out, place{entry: true, name: strings.Trim(strings.TrimSpace(name), `"'`)})
			text = text[end+1:]
		case text[0] == '"' || text[0] == '\'':
			end := strings.IndexByte(text[1:], text[0])
			if end < 0 {
				return nil
			}
			out = append(out, place{field: text[1 : end+1]})
			text = text[end+2:]
		default:
			end := strings.IndexAny(text, ".[")
			if end < 0 {
				end = len(text)
			}
			out = append(out, place{field: text[:end]})
			text = text[end:]
		}
	}
	return out
}

// assignedImage tells whether an image is Git's with the domain, path and tag that AssignImage names.
func assignedImage(parameters map[string]any) func(git, live string) bool {
	part := func(key string) string { text, _ := parameters[key].(string); return text }
	return func(git, live string) bool {
		gitDomain, gitPath, gitTag := imageParts(git)
		domain, path, tag := imageParts(live)
		same := func(want, was, is string) bool { return is == want || want == "" && is == was }
		return same(part("assignDomain"), gitDomain, domain) && same(part("assignPath"), gitPath, path) && same(part("assignTag"), gitTag, tag)
	}
}

// imageParts splits an image name; the tag keeps its : or @.
func imageParts(image string) (domain, path, tag string) {
	if host, rest, ok := strings.Cut(image, "/"); ok && (strings.ContainsAny(host, ".:") || host == "localhost") {
		domain, image = host, rest
	}
	if at := strings.IndexAny(image, ":@"); at >= 0 {
		return domain, image[:at], image[at:]
	}
	return domain, image, ""
}

// celPolicy reads a MutatingAdmissionPolicy, and a MutatingPolicy of Kyverno's, which has the same form.
func celPolicy(object gitops.Object) mutating {
	spec, _ := object.Content["spec"].(map[string]any)
	match, _ := spec["matchConstraints"].(map[string]any)
	m := mutating{name: object.ID.Kind + " " + object.ID.Name, about: writeRules(match, "resourceRules")}
	for i := range m.about {
		m.about[i].inNamespace = object.ID.Namespace
	}
	for _, exclude := range mappings(match["excludeResourceRules"]) {
		m.none = append(m.none, admissionRule{groups: texts(exclude["apiGroups"]), resources: texts(exclude["resources"]), names: texts(exclude["resourceNames"])})
	}
	for _, mutation := range mappings(spec["mutations"]) {
		for _, key := range []string{"applyConfiguration", "jsonPatch"} {
			part, _ := mutation[key].(map[string]any)
			if expression, ok := part["expression"].(string); ok {
				m.sets = append(m.sets, celSettings(expression)...)
			}
		}
	}
	return m
}

// celSettings reads what an expression sets: the fields of Object literals, whose types are named by their path, and
// the operations of JSONPatch literals. What it computes is not evaluated. None where it does not parse.
// Source: https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/
func celSettings(expression string) []setting {
	env, err := cel.NewEnv()
	if err != nil {
		return nil
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return nil
	}
	var out []setting
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.StructKind {
			return
		}
		name := strings.TrimPrefix(e.AsStruct().TypeName(), ".")
		switch {
		case name == "JSONPatch":
			out = append(out, celPatch(e.AsStruct())...)
		case name == "Object" || strings.HasPrefix(name, "Object."):
			at := fields(strings.Split(name, ".")[1:]...)
			for _, f := range e.AsStruct().Fields() {
				field := f.AsStructField()
				if value := field.Value(); value.Kind() != ast.StructKind && !ofLiterals(value) {
					out = append(out, celSetting(append(slices.Clip(at), place{field: field.Name()}), value))
				}
			}
		}
	}))
	return out
}

// ofLiterals says whether a value is a list of Object literals, which are read by themselves.
func ofLiterals(e ast.Expr) bool {
	return e.Kind() == ast.ListKind && e.AsList().Size() > 0 &&
		!slices.ContainsFunc(e.AsList().Elements(), func(x ast.Expr) bool { return x.Kind() != ast.StructKind })
}

// celSetting leaves the entries of lists open: the types of literals do not tell where the lists are.
func celSetting(path []place, value ast.Expr) setting {
	if value.Kind() == ast.LiteralKind {
		return setting{path: path, value: native(value), loose: true}
	}
	return setting{path: path, computed: true, loose: true}
}

func celPatch(literal ast.StructExpr) []setting {
	operation := map[string]any{}
	for _, f := range literal.Fields() {
		field := f.AsStructField()
		switch value := field.Value(); {
		case value.Kind() == ast.LiteralKind:
			operation[field.Name()] = native(value)
		case field.Name() == "path":
			operation["path"] = joined(value)
		}
	}
	return patchOperations([]map[string]any{operation})
}

// joined gives a path put together with +; what is computed of it stands as {{}}. An escaped key is one token.
func joined(e ast.Expr) string {
	switch e.Kind() {
	case ast.LiteralKind:
		text, _ := native(e).(string)
		return text
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() == "_+_" && len(call.Args()) == 2 {
			return joined(call.Args()[0]) + joined(call.Args()[1])
		}
		if call.FunctionName() == "escapeKey" && len(call.Args()) == 1 && call.Args()[0].Kind() == ast.LiteralKind {
			key, _ := native(call.Args()[0]).(string)
			return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		}
	}
	return "{{}}"
}

func native(e ast.Expr) any {
	switch v := e.AsLiteral().(type) {
	case types.String:
		return string(v)
	case types.Bool:
		return bool(v)
	case types.Int:
		return int64(v)
	case types.Double:
		return float64(v)
	}
	return nil
}
