package audit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// line builds one line of a log. Keys with an empty value are left out.
func line(t *testing.T, change map[string]any) string {
	t.Helper()
	e := map[string]any{
		"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete",
		"requestURI": "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubectl-set", "verb": "patch",
		"user":           map[string]any{"username": "alice@example.test"},
		"userAgent":      "kubectl/v1.36.3 (linux/amd64)",
		"objectRef":      map[string]any{"resource": "deployments", "apiGroup": "apps", "namespace": "shop", "name": "web"},
		"responseStatus": map[string]any{"code": 200}, "stageTimestamp": "2026-11-02T09:00:01.5Z",
		"requestObject": map[string]any{"spec": map[string]any{"replicas": 6}},
	}
	for k, v := range change {
		if v == nil {
			delete(e, k)
			continue
		}
		e[k] = v
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func web() gitops.ObjectID {
	return gitops.ObjectID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
}

// application is an Application as Flux applies it.
func application() gitops.Application {
	return gitops.Application{Engine: gitops.Flux, Managers: []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}}}
}

// replicas is a drifted field that managedFields ascribe to a manager.
func replicas(manager, subresource string) *detect.Field {
	return &detect.Field{
		Path: gitops.Path{gitops.Field("spec"), gitops.Field("replicas")}, Git: gitops.Present(int64(4)), Live: gitops.Present(int64(6)),
		Drift: true, Differs: true,
		Writer: &detect.Writer{Manager: manager, Subresource: subresource, Operation: "Update", Time: time.Date(2026, 11, 2, 9, 0, 1, 0, time.UTC), Confidence: detect.ByManager},
	}
}

func TestField(t *testing.T) {
	path := func(text string) gitops.Path {
		p, err := gitops.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const alice = "alice@example.test"
	for _, c := range []struct {
		name       string
		change     map[string]any
		field      *detect.Field
		user       string
		confidence detect.Confidence
	}{
		{"a merge patch with the live value names its user", nil, replicas("kubectl-set", ""), alice, detect.ByAudit},
		{"another value is another write", map[string]any{"requestObject": map[string]any{"spec": map[string]any{"replicas": 5}}}, replicas("kubectl-set", ""), "", detect.Unresolved},
		{"another manager is another write", nil, replicas("kubectl-edit", ""), "", detect.Unresolved},
		{"without a manager the body decides", nil, func() *detect.Field { f := replicas("", ""); f.Writer = nil; return f }(), alice, detect.ByAudit},
		{"at level Metadata the writer of the object is named as such", map[string]any{"level": "Metadata", "requestObject": nil}, replicas("kubectl-set", ""), alice, detect.ByAuditMetadata},
		{"a write at another time is not taken at level Metadata", map[string]any{"requestObject": nil, "stageTimestamp": "2026-11-02T09:00:09Z"}, replicas("kubectl-set", ""), "", detect.ByManager},
		{"a refused write is passed over", map[string]any{"responseStatus": map[string]any{"code": 403}}, replicas("kubectl-set", ""), "", detect.Unresolved},
		{"a dry run is passed over", map[string]any{"requestURI": "/x?fieldManager=kubectl-set&dryRun=All"}, replicas("kubectl-set", ""), "", detect.Unresolved},
		{"a request that has only begun is passed over", map[string]any{"stage": "RequestReceived"}, replicas("kubectl-set", ""), "", detect.Unresolved},
		{"the scale subresource is told apart", map[string]any{"requestURI": "/x", "objectRef": map[string]any{"resource": "deployments", "apiGroup": "apps", "namespace": "shop", "name": "web", "subresource": "scale"}}, replicas("kubectl", "scale"), alice, detect.ByAudit},
		{"an impersonated user stands beside who impersonated", map[string]any{"impersonatedUser": map[string]any{"username": "system:admin"}}, replicas("kubectl-set", ""), alice + " as system:admin", detect.ByAudit},
		{"a JSON patch of the path names its user", map[string]any{"requestObject": []any{map[string]any{"op": "replace", "path": "/spec/replicas", "value": 6}}}, replicas("kubectl-set", ""), alice, detect.ByAudit},
		{"a JSON patch of another path does not", map[string]any{"requestObject": []any{map[string]any{"op": "replace", "path": "/spec/paused", "value": true}}}, replicas("kubectl-set", ""), "", detect.Unresolved},
		{"a JSON patch that only tests does not", map[string]any{"requestObject": []any{map[string]any{"op": "test", "path": "/spec/replicas", "value": 6}}}, replicas("kubectl-set", ""), "", detect.Unresolved},
		{"a removed list entry is known by its patch directive",
			map[string]any{"requestObject": map[string]any{"env": []any{map[string]any{"name": "REGION", "$patch": "delete"}}}},
			&detect.Field{Path: path("env[name=REGION]"), Git: gitops.Present(map[string]any{"name": "REGION"}), Drift: true}, alice, detect.ByAudit},
		{"a list entry that a JSON patch removed by its index",
			map[string]any{"requestObject": []any{map[string]any{"op": "remove", "path": "/spec/mounts/0"}}},
			&detect.Field{Path: path("spec.mounts[mountPath=/etc/web]"), Git: gitops.Present(map[string]any{"mountPath": "/etc/web"}), Drift: true}, alice, detect.ByAuditMetadata},
		{"a list entry whose key a JSON patch changed",
			map[string]any{"requestObject": []any{map[string]any{"op": "replace", "path": "/spec/mounts/0/mountPath", "value": "/srv"}}},
			&detect.Field{Path: path("spec.mounts[mountPath=/etc/web]"), Git: gitops.Present(map[string]any{"mountPath": "/etc/web"}), Drift: true}, alice, detect.ByAuditMetadata},
		{"another field of an entry says nothing of the entry that is gone",
			map[string]any{"requestObject": []any{map[string]any{"op": "replace", "path": "/spec/mounts/0/readOnly", "value": true}}},
			&detect.Field{Path: path("spec.mounts[mountPath=/etc/web]"), Git: gitops.Present(map[string]any{"mountPath": "/etc/web"}), Drift: true}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := Decode(strings.NewReader(line(t, c.change) + "\n\n"))
			if err != nil {
				t.Fatal(err)
			}
			log.Of(web(), application(), &gitops.Object{ID: web()}).Field(c.field)
			var got detect.Writer
			if c.field.Writer != nil {
				got = *c.field.Writer
			}
			if got.User == "" {
				got.Manager = "" // no user is named
			}
			if got.Name() != c.user || got.Confidence != c.confidence {
				t.Errorf("got %q by %s, want %q by %s", got.Name(), got.Confidence, c.user, c.confidence)
			}
		})
	}
}

func TestObject(t *testing.T) {
	created := line(t, map[string]any{"verb": "create", "requestURI": "/x", "objectRef": map[string]any{"resource": "deployments", "apiGroup": "apps", "namespace": "shop"}, "requestObject": map[string]any{"metadata": map[string]any{"name": "web"}}})
	deleted := line(t, map[string]any{"verb": "delete", "user": map[string]any{"username": "bob@example.test"}, "requestObject": nil})
	collection := line(t, map[string]any{"verb": "deletecollection", "objectRef": map[string]any{"resource": "deployments", "apiGroup": "apps", "namespace": "shop"}, "requestObject": nil})
	for _, c := range []struct {
		name, log string
		presence  detect.Presence
		user      string
	}{
		{"an object that is gone names who deleted it", created + "\n" + deleted, detect.GitOnly, "bob@example.test"},
		{"an object that is extra names who created it", created + "\n" + deleted, detect.LiveOnly, "alice@example.test"},
		{"a deletion of the whole collection counts", collection, detect.GitOnly, "alice@example.test"},
		{"a log without the deletion names nobody", created, detect.GitOnly, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := Decode(strings.NewReader(c.log))
			if err != nil {
				t.Fatal(err)
			}
			w, _ := log.Of(web(), application(), nil).Object(c.presence)
			user := ""
			if w != nil {
				user = w.User
			}
			if user != c.user {
				t.Errorf("got %q, want %q", user, c.user)
			}
		})
	}
}

func TestARemovalByIndexIsNobodysWhereTwoUsersMadeOne(t *testing.T) {
	removal := map[string]any{"requestObject": []any{map[string]any{"op": "remove", "path": "/spec/mounts/0"}}}
	first := line(t, removal)
	removal["user"] = map[string]any{"username": "bob@example.test"}
	log, err := Decode(strings.NewReader(first + "\n" + line(t, removal)))
	if err != nil {
		t.Fatal(err)
	}
	path, err := gitops.ParsePath("spec.mounts[mountPath=/etc/web]")
	if err != nil {
		t.Fatal(err)
	}
	field := &detect.Field{Path: path, Git: gitops.Present(map[string]any{}), Drift: true}
	log.Of(web(), application(), &gitops.Object{ID: web()}).Field(field)
	if field.Writer != nil {
		t.Errorf("got %+v", field.Writer)
	}
}
