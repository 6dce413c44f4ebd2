package policy

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"

	"holdfast/gitops/strictyaml"
)

// The limits of one expression.
const (
	// maxExpression is the longest expression, in code points.
	maxExpression = 10_000
	// maxCost is the most that one evaluation may cost, in CEL's units: about one a step. A field has
	// tens of steps; a regular expression over a long value some thousands.
	maxCost = 1_000_000
)

// Expression is a CEL expression that gives true or false, and the line that it starts on.
//
// Its variables are
//
//	field         what is decided on: path, git, live (absent where that side has none: test with has),
//	              differs, drift, cause, risk, riskLevel (1 low to 4 critical, 0 not assessed), class,
//	              sensitive, undeclared, change, reason, masked, writer. For an object as a whole, path is
//	              empty and the rest is the object's.
//	finding       id, presence, objectLevel, drift, cause, risk, riskLevel, class, sensitive, reason,
//	              firstSeen, lastSeen, writer, controls (standard, id, title)
//	object        apiVersion, group, version, kind, namespace, name
//	application   cluster, namespace, name, engine
//	tier          the cluster's tier
//	engineRemoves whether the engine takes this addition away by itself
//	now           the time of the scan
//
// A writer has known, manager, operation, subresource, time, user and confidence. Beside CEL's own
// functions there are those of Kubernetes (quantity, url, ip, cidr, semver, find, lists) and the strings
// and sets extensions.
type Expression struct {
	text string
	line int
}

// String gives the expression as written.
func (e Expression) String() string { return e.text }

// MarshalText gives the expression as written.
func (e Expression) MarshalText() ([]byte, error) { return []byte(e.text), nil }

// UnmarshalText takes any text that is not empty; it is compiled later.
func (e *Expression) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("want a CEL expression, not an empty text; leave the key out")
	}
	e.text = string(text)
	return nil
}

// SetLine keeps where the expression starts.
func (e *Expression) SetLine(line int) { e.line = line }

// condition is a compiled expression.
type condition struct {
	program cel.Program
}

// compiler compiles the expressions of one file. Its environment is made when the first one comes: that
// takes longer than all else about a policy.
type compiler struct {
	file string
	env  *cel.Env
}

func newEnv() (*cel.Env, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	known := provider{Registry: registry}
	env, err := cel.NewEnv(
		cel.CustomTypeAdapter(known),
		cel.CustomTypeProvider(known),
		cel.Variable("field", cel.ObjectType(typeField)),
		cel.Variable("finding", cel.ObjectType(typeFinding)),
		cel.Variable("object", cel.ObjectType(typeObject)),
		cel.Variable("application", cel.ObjectType(typeApplication)),
		cel.Variable("tier", cel.StringType),
		cel.Variable("engineRemoves", cel.BoolType),
		cel.Variable("now", cel.TimestampType),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		ext.Strings(ext.StringsVersion(4)),
		ext.Sets(),
		library.Quantity(),
		library.Regex(),
		library.URLs(),
		library.IP(),
		library.CIDR(),
		library.SemverLib(),
		library.Lists(),
	)
	if err != nil {
		return nil, fmt.Errorf("setting up CEL: %w", err)
	}
	return env, nil
}

// compile checks an expression against the types of the variables. Errors name the line in the file.
func (c *compiler) compile(rule string, e Expression) (*condition, error) {
	if c.env == nil {
		env, err := newEnv()
		if err != nil {
			return nil, err
		}
		c.env = env
	}
	ast, issues := c.env.Compile(e.text)
	if issues != nil && issues.Err() != nil {
		first := issues.Errors()[0]
		line := e.line + max(first.Location.Line()-1, 0)
		return nil, strictyaml.Errorf(c.file, line, "rule %q: when: %s (at character %d of its line of the expression)",
			rule, first.Message, first.Location.Column()+1)
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return nil, strictyaml.Errorf(c.file, e.line, "rule %q: when: gives %s; want true or false", rule, ast.OutputType())
	}
	program, err := c.env.Program(ast,
		cel.EvalOptions(cel.OptOptimize),
		cel.CostLimit(maxCost),
		cel.CostTracking(&library.CostEstimator{}),
	)
	if err != nil {
		return nil, strictyaml.Errorf(c.file, e.line, "rule %q: when: %v", rule, err)
	}
	return &condition{program: program}, nil
}

// mismatch says why the expression does not hold, or "" when it does. An error is no match.
func (c *condition) mismatch(variables map[string]any) string {
	out, _, err := c.program.Eval(variables)
	switch {
	case err != nil:
		return "when cannot be evaluated, so it does not match: " + err.Error()
	case out == types.True:
		return ""
	}
	return "when is false"
}

// provider tells the checker of the fields of the variables' types. The values themselves are maps.
type provider struct {
	*types.Registry
}

// FindStructType knows the types of view.go beside CEL's own.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := viewFields(name); ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Registry.FindStructType(name)
}

// FindStructFieldNames lists the fields of a type.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if fields, ok := viewFields(name); ok {
		var names []string
		for field := range fields {
			names = append(names, field)
		}
		return names, true
	}
	return p.Registry.FindStructFieldNames(name)
}

// FindStructFieldType gives the type of a field. Without accessors, CEL indexes the value as a map.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if fields, ok := viewFields(name); ok {
		t, ok := fields[field]
		return &types.FieldType{Type: t}, ok
	}
	return p.Registry.FindStructFieldType(name, field)
}

// NewValue refuses to make values of our types in an expression.
func (p provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := viewFields(name); ok {
		return types.NewErr("%s cannot be made in an expression", name)
	}
	return p.Registry.NewValue(name, fields)
}
