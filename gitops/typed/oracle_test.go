package typed_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"
	smdvalue "sigs.k8s.io/structured-merge-diff/v6/value"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// oracle converts objects with client-go's embedded schema: what the API server's own field manager uses.
func oracle(t *testing.T, content map[string]any) *smd.TypedValue {
	t.Helper()
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	v, err := converter.ObjectToTyped(&unstructured.Unstructured{Object: content}, smd.AllowDuplicates)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMergeSemanticsAgreeWithTheOracle walks both schemas together from every kind that both know.
func TestMergeSemanticsAgreeWithTheOracle(t *testing.T) {
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	v, err := converter.ObjectToTyped(&appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}})
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	w := schemaWalk{t: t, schema: v.Schema(), seen: map[*typed.Type]bool{}}
	for kind, name := range map[string]string{
		"apps/v1 Deployment": "io.k8s.api.apps.v1.Deployment", "apps/v1 StatefulSet": "io.k8s.api.apps.v1.StatefulSet",
		"v1 Service": "io.k8s.api.core.v1.Service", "v1 Pod": "io.k8s.api.core.v1.Pod", "v1 PersistentVolume": "io.k8s.api.core.v1.PersistentVolume",
		"networking.k8s.io/v1 Ingress": "io.k8s.api.networking.v1.Ingress", "rbac.authorization.k8s.io/v1 ClusterRole": "io.k8s.api.rbac.v1.ClusterRole",
		"autoscaling/v2 HorizontalPodAutoscaler":                         "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
		"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration",
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy":      "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy",
		"flowcontrol.apiserver.k8s.io/v1 FlowSchema":                     "io.k8s.api.flowcontrol.v1.FlowSchema",
		"resource.k8s.io/v1 ResourceClaim":                               "io.k8s.api.resource.v1.ResourceClaim",
	} {
		apiVersion, kindName, _ := cut(kind)
		typ, ok := schemas.Lookup(apiVersion, kindName)
		if !ok {
			t.Errorf("no type for %s", kind)
			continue
		}
		w.walk(kind, typ, schema.TypeRef{NamedType: &name})
	}
	if len(w.seen) < 300 {
		t.Errorf("only %d types compared", len(w.seen))
	}
}

func cut(s string) (string, string, bool) {
	i := slices.Index([]byte(s), ' ')
	return s[:i], s[i+1:], true
}

type schemaWalk struct {
	t      *testing.T
	schema *schema.Schema
	seen   map[*typed.Type]bool
}

func (w *schemaWalk) walk(path string, typ *typed.Type, ref schema.TypeRef) {
	if w.seen[typ] || typ.Kind == typed.Any {
		return
	}
	w.seen[typ] = true
	atom, ok := w.schema.Resolve(ref)
	if !ok {
		w.t.Errorf("%s: the oracle has no type", path)
		return
	}
	switch typ.Kind {
	case typed.Scalar:
		if atom.Scalar == nil && atom.Map == nil {
			w.t.Errorf("%s: no scalar to the oracle", path)
		}
	case typed.List:
		if atom.List == nil {
			w.t.Errorf("%s: no list to the oracle", path)
			return
		}
		want := typed.AtomicList
		if atom.List.ElementRelationship == schema.Associative {
			want = typed.SetList
			if len(atom.List.Keys) > 0 {
				want = typed.KeyedList
			}
		}
		if typ.List != want || want == typed.KeyedList && !slices.Equal(typ.Keys, atom.List.Keys) {
			w.t.Errorf("%s: list %v by %v, the oracle says %v by %v", path, typ.List, typ.Keys, want, atom.List.Keys)
		}
		w.walk(path+"[]", typ.Elem, atom.List.ElementType)
	case typed.Map, typed.Struct:
		if atom.Map == nil {
			return // a quantity-like type that the oracle leaves untyped
		}
		if atomic := atom.Map.ElementRelationship == schema.Atomic; typ.Atomic != atomic {
			w.t.Errorf("%s: atomic is %v, the oracle says %v", path, typ.Atomic, atomic)
		}
		if typ.Kind == typed.Map {
			w.walk(path+"{}", typ.Elem, atom.Map.ElementType)
			return
		}
		for _, f := range atom.Map.Fields {
			inner := typ.Field(f.Name)
			if inner == nil {
				w.t.Errorf("%s.%s is not known", path, f.Name)
				continue
			}
			if f.Name != "status" {
				w.walk(path+"."+f.Name, inner.Type, f.Type)
			}
		}
	}
}

// TestOwnershipAgreesWithTheOracle takes each field out of the set of all fields in turn: that field, and
// nothing else, is then held by nobody.
func TestOwnershipAgreesWithTheOracle(t *testing.T) {
	data, err := os.ReadFile("testdata/observed.json")
	if err != nil {
		t.Fatal(err)
	}
	var observed []struct{ Stored map[string]any }
	if err := json.Unmarshal(data, &observed); err != nil {
		t.Fatal(err)
	}
	content := observed[2].Stored // the Deployment with everything
	deployment := builtin(t, "apps/v1", "Deployment")
	whole, err := oracle(t, content).ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	leaves := whole.Leaves()
	checked := 0
	leaves.Iterate(func(p fieldpath.Path) {
		path, ok := toPath(p, content)
		if !ok {
			return
		}
		checked++
		if got := holds(t, leaves, deployment, content, path); got == typed.NotHeld {
			t.Errorf("%s is held, Holds says not", path)
		}
		without := leaves.Difference(fieldpath.NewSet(p))
		if got := holds(t, without, deployment, content, path); got != typed.NotHeld {
			t.Errorf("%s is not held, Holds says %v", path, got)
		}
	})
	if checked < 150 {
		t.Errorf("only %d fields checked", checked)
	}
}

func holds(t *testing.T, set *fieldpath.Set, typ *typed.Type, content map[string]any, path gitops.Path) typed.Hold {
	t.Helper()
	text, err := set.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	entry := map[string]any{"manager": "m", "operation": "Update", "fieldsV1": value(t, string(text))}
	sets, err := typed.ParseManagedFields(map[string]any{"managedFields": []any{entry}})
	if err != nil {
		t.Fatal(err)
	}
	return sets[0].Holds(typ, content, path)
}

// toPath addresses the same value by fields and indexes.
func toPath(p fieldpath.Path, content map[string]any) (gitops.Path, bool) {
	var path gitops.Path
	at := any(content)
	for _, element := range p {
		switch {
		case element.FieldName != nil:
			path = append(path, gitops.Field(*element.FieldName))
			at = at.(map[string]any)[*element.FieldName]
		case element.Key != nil:
			list := at.([]any)
			i := slices.IndexFunc(list, func(entry any) bool {
				for _, key := range *element.Key {
					if !smdvalue.Equals(key.Value, smdvalue.NewValueInterface(entry.(map[string]any)[key.Name])) {
						return false
					}
				}
				return true
			})
			path = append(path, gitops.Index(i))
			at = list[i]
		default:
			return nil, false // entries of sets
		}
	}
	return path, true
}
