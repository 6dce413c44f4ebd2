package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast/gitops"
)

func id(text string) gitops.ObjectID { // Kind[.group]/namespace/name; - for no namespace
	parts := strings.Split(text, "/")
	kind, group, _ := strings.Cut(parts[0], ".")
	if parts[1] == "-" {
		parts[1] = ""
	}
	return gitops.ObjectID{Group: group, Kind: kind, Namespace: parts[1], Name: parts[2]}
}

func ids(texts ...string) []gitops.ObjectID {
	var out []gitops.ObjectID
	for _, t := range texts {
		out = append(out, id(t))
	}
	return out
}

func names(s *Snapshot) []string {
	var out []string
	for _, id := range s.Objects.IDs() {
		out = append(out, id.String())
	}
	return out
}

func has(s *Snapshot, want gitops.ObjectID) bool { return s.Objects.Has(want) }

// contents gives the objects of a snapshot in the order of their identities.
func contents(s *Snapshot) []gitops.Object { return slices.Collect(s.Objects.All()) }

// state says what the snapshot knows of an object: present, absent or unread.
func state(s *Snapshot, of string) string {
	if has(s, id(of)) {
		return "present"
	}
	if _, unread := s.Why(id(of)); unread {
		return "unread"
	}
	return "absent"
}

func wantStates(t *testing.T, s *Snapshot, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for of := range want {
		got[of] = state(s, of)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is known of objects (-want +got):\n%s\nunread: %+v", diff, s.Unread)
	}
}

func TestAnObjectThatLostItsLabelIsFetchedByName(t *testing.T) {
	s := newAPIServer(t)
	s.put("deployments", "shop", "web", tracked)
	s.put("deployments", "shop", "unlabelled", nil)
	s.put("deployments", "shop", "not-ours", nil)
	s.put("namespaces", "", "shop", nil)
	got := s.read(Options{}, Wanted{
		IDs:       ids("Deployment.apps/shop/web", "Deployment.apps/shop/unlabelled", "Deployment.apps/shop/deleted"),
		Selectors: []string{trackedBy},
	})
	wantStates(t, got, map[string]string{
		"Deployment.apps/shop/web":        "present",
		"Deployment.apps/shop/unlabelled": "present",
		"Deployment.apps/shop/deleted":    "absent",
		"Namespace/-/shop":                "present",
	})
	if has(got, id("Deployment.apps/shop/not-ours")) {
		t.Error("an object that nobody asked for was kept")
	}
	if got.Version != "v1.36.3" || got.Cluster != "blue" {
		t.Errorf("cluster %q at version %q", got.Cluster, got.Version)
	}
}

func TestStraysOfEveryKindAreFoundByLabel(t *testing.T) {
	s := newAPIServer(t)
	s.put("deployments", "shop", "web", tracked)
	s.put("configmaps", "other", "stray", tracked)
	s.put("widgets", "shop", "stray", tracked)
	s.put("replicasets", "shop", "web-1", tracked)
	s.put("events", "shop", "e", tracked)
	s.put("secrets", "shop", "s", tracked)
	got := s.read(Options{}, Wanted{IDs: ids("Deployment.apps/shop/web"), Selectors: []string{trackedBy}, AllKinds: true})
	want := []string{"ConfigMap/other/stray", "Deployment.apps/shop/web", "Widget.example.test/shop/stray"}
	if diff := cmp.Diff(want, names(got)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if n := s.asked("/api/v1/secrets?" + trackedBy); n != 0 {
		t.Errorf("Secrets were requested %d times", n)
	}
}

func TestPagesAreReadToTheEnd(t *testing.T) {
	s := newAPIServer(t)
	s.pageLimit = 7
	for i := range 50 {
		s.put("configmaps", "shop", fmt.Sprintf("c%02d", i), tracked)
	}
	got := s.read(Options{}, Wanted{IDs: ids("ConfigMap/shop/c00"), Selectors: []string{trackedBy}})
	if got.Objects.Len() != 50 || s.asked("/api/v1/configmaps?"+trackedBy) != 8 {
		t.Errorf("%d objects in %d pages", got.Objects.Len(), s.asked("/api/v1/configmaps?"+trackedBy))
	}
}

func TestFaultsOfAListAreDataOrOvercome(t *testing.T) {
	const list = "/api/v1/configmaps"
	cut := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "5000")
		_, _ = w.Write([]byte(`{"kind":"ConfigMapList","items":[`))
	}
	cases := []struct {
		name   string
		fault  func(w http.ResponseWriter, r *http.Request, nth int) bool
		web    string // ConfigMap c00, which exists
		gone   string // ConfigMap deleted, which does not
		reason string
	}{
		{
			name: "a server that is busy twice answers the third time",
			fault: func(w http.ResponseWriter, r *http.Request, nth int) bool {
				if r.URL.Path == list && nth <= 2 {
					refuse(w, 429, "too many requests")
					return true
				}
				return false
			},
			web: "present", gone: "absent",
		},
		{
			name: "a server that is always busy leaves the kind unread",
			fault: func(w http.ResponseWriter, r *http.Request, nth int) bool {
				if r.URL.Path == list {
					refuse(w, 503, "etcd is away")
					return true
				}
				return false
			},
			web: "unread", gone: "unread", reason: "etcd is away (HTTP 503)",
		},
		{
			name: "a server that asks to wait an hour leaves the kind unread",
			fault: func(w http.ResponseWriter, r *http.Request, nth int) bool {
				if r.URL.Path == list {
					w.Header().Set("Retry-After", "3600")
					refuse(w, 429, "come back later")
					return true
				}
				return false
			},
			web: "unread", gone: "unread", reason: "come back later",
		},
		{
			name: "a connection cut in the middle of a page is tried again",
			fault: func(w http.ResponseWriter, r *http.Request, nth int) bool {
				if r.URL.Path == list && nth == 2 {
					cut(w)
					return true
				}
				return false
			},
			web: "present", gone: "absent",
		},
		{
			name: "a list that is always cut after its first page is never taken for whole",
			fault: func(w http.ResponseWriter, r *http.Request, nth int) bool {
				if r.URL.Path == list && nth >= 2 {
					cut(w)
					return true
				}
				return false
			},
			web: "present", gone: "unread", reason: "the list broke off after 5 objects",
		},
		{
			name: "a continue token that expired starts the list again",
			fault: func(w http.ResponseWriter, r *http.Request, nth int) bool {
				if r.URL.Path == list && nth == 2 {
					refuse(w, 410, "the provided continue parameter is too old")
					return true
				}
				return false
			},
			web: "present", gone: "absent",
		},
		{
			name: "a continue token that expires each time is given up",
			fault: func(w http.ResponseWriter, r *http.Request, nth int) bool {
				if r.URL.Path == list && r.URL.Query().Has("continue") {
					refuse(w, 410, "the provided continue parameter is too old")
					return true
				}
				return false
			},
			web: "present", gone: "unread", reason: "too old",
		},
		{
			name: "a login page in place of the API leaves the kind unread",
			fault: func(w http.ResponseWriter, r *http.Request, nth int) bool {
				if r.URL.Path == list {
					_, _ = w.Write([]byte("<html>please log in</html>"))
					return true
				}
				return false
			},
			web: "unread", gone: "unread", reason: "does not decode",
		},
		{
			name:  "a forbidden list falls back to the namespace",
			fault: forbidExactly(list),
			web:   "present", gone: "absent",
		},
		{
			name:  "lists forbidden everywhere fall back to the objects by name",
			fault: forbidExactly(list, "/api/v1/namespaces/shop/configmaps"),
			web:   "present", gone: "absent",
		},
		{
			name:  "a kind forbidden altogether is unread, with the verb and the resource",
			fault: forbid(list, "/api/v1/namespaces/shop/configmaps"),
			web:   "unread", gone: "unread", reason: "no access to",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newAPIServer(t)
			s.pageLimit = 5
			for i := range 12 {
				s.put("configmaps", "shop", fmt.Sprintf("c%02d", i), tracked)
			}
			s.put("services", "shop", "web", tracked)
			s.fault = c.fault
			got := s.read(Options{}, Wanted{
				IDs:       ids("ConfigMap/shop/c00", "ConfigMap/shop/deleted", "Service/shop/web"),
				Selectors: []string{trackedBy},
			})
			wantStates(t, got, map[string]string{
				"ConfigMap/shop/c00": c.web, "ConfigMap/shop/deleted": c.gone, "Service/shop/web": "present",
			})
			if why, unread := got.Why(id("ConfigMap/shop/deleted")); unread {
				if !strings.Contains(why.Reason, c.reason) || why.Resource != "configmaps" || why.Verb == "" {
					t.Errorf("unread is %+v, want a reason with %q", why, c.reason)
				}
			}
		})
	}
}

func forbidExactly(paths ...string) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, r *http.Request, _ int) bool {
		for _, p := range paths {
			if r.URL.Path == p {
				refuse(w, 403, "no access to "+p)
				return true
			}
		}
		return false
	}
}

func TestSecretsModes(t *testing.T) {
	const value = "aHVudGVyMg=="
	setup := func(t *testing.T) *apiServer {
		s := newAPIServer(t)
		s.put("secrets", "shop", "db", map[string]any{
			"data":   map[string]any{"password": value},
			"labels": tracked["labels"],
			"annotations": map[string]any{
				"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"password":"` + value + `"}}`,
			},
			"managedFields": []any{map[string]any{"manager": "alice", "operation": "Update"}},
		})
		s.put("secrets", "shop", "unlabelled", map[string]any{"data": map[string]any{"password": value}})
		return s
	}
	wanted := Wanted{IDs: ids("Secret/shop/db", "Secret/shop/unlabelled"), Selectors: []string{trackedBy}, AllKinds: true}

	t.Run("none requests no Secret and says that this is by choice", func(t *testing.T) {
		s := setup(t)
		got := s.read(Options{}, wanted)
		why, unread := got.Why(id("Secret/shop/db"))
		if !unread || !why.ByChoice {
			t.Errorf("unread %v: %+v", unread, why)
		}
		for _, path := range s.seen {
			if strings.Contains(path, "secrets") {
				t.Errorf("requested %s", path)
			}
		}
	})
	t.Run("metadata has owners and no values", func(t *testing.T) {
		got := setup(t).read(Options{Secrets: SecretsMetadata}, wanted)
		wantStates(t, got, map[string]string{"Secret/shop/db": "present", "Secret/shop/unlabelled": "present"})
		printed, err := json.Marshal(contents(got))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(printed), value) || !strings.Contains(string(printed), `"manager":"alice"`) {
			t.Errorf("got %s", printed)
		}
		for _, o := range contents(got) {
			if o.APIVersion != "v1" || o.ID.Kind != "Secret" {
				t.Errorf("identity of %s: %s", o.ID, o.APIVersion)
			}
		}
	})
	t.Run("metadata from a server that sends values anyway is refused", func(t *testing.T) {
		s := setup(t)
		s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if strings.Contains(r.URL.Path, "secrets") {
				r.Header.Set("Accept", "application/json")
			}
			return false
		}
		got := s.read(Options{Secrets: SecretsMetadata}, wanted)
		wantStates(t, got, map[string]string{"Secret/shop/db": "unread", "Secret/shop/unlabelled": "unread"})
	})
	t.Run("values has values", func(t *testing.T) {
		got := setup(t).read(Options{Secrets: SecretsValues}, wanted)
		wantStates(t, got, map[string]string{"Secret/shop/db": "present", "Secret/shop/unlabelled": "present"})
		if data := contents(got)[0].Content["data"]; !cmp.Equal(data, any(map[string]any{"password": value})) {
			t.Errorf("data %v", data)
		}
	})
}

func TestKindsThatTheAPIDoesNotServe(t *testing.T) {
	s := newAPIServer(t)
	got := s.read(Options{}, Wanted{IDs: ids("Gadget.example.test/shop/a", "Widget.example.test/shop/a", "ConfigMap/shop/..")})
	why, unread := got.Why(id("Gadget.example.test/shop/a"))
	if !unread || !why.NotServed || why.Reason != "not served" {
		t.Errorf("unread %v: %+v", unread, why)
	}
	wantStates(t, got, map[string]string{"Widget.example.test/shop/a": "absent", "ConfigMap/shop/..": "absent"})
}

func TestContextAroundWantedObjects(t *testing.T) {
	s := newAPIServer(t)
	s.put("deployments", "shop", "web", tracked)
	s.put("horizontalpodautoscalers", "shop", "web", map[string]any{"status": map[string]any{"desiredReplicas": 5}})
	s.put("widgets", "shop", "w", tracked)
	s.put("customresourcedefinitions", "", "widgets.example.test", map[string]any{
		"spec": map[string]any{"group": "example.test", "names": map[string]any{"kind": "Widget"}, "scope": "Namespaced"},
	})
	s.put("namespaces", "", "shop", nil)
	wanted := Wanted{IDs: ids("Deployment.apps/shop/web", "Widget.example.test/shop/w"), Selectors: []string{trackedBy}}
	got := s.read(Options{}, wanted)
	wantStates(t, got, map[string]string{
		"HorizontalPodAutoscaler.autoscaling/shop/web": "present",
		"Namespace/-/shop": "present",
		"CustomResourceDefinition.apiextensions.k8s.io/-/widgets.example.test": "present",
	})
	if len(got.CRDs) != 1 {
		t.Errorf("CRDs: %v", got.CRDs)
	}
	for _, o := range contents(got) {
		if o.ID.Kind == "HorizontalPodAutoscaler" && (o.Content["status"] == nil || o.APIVersion != "autoscaling/v2") {
			t.Errorf("autoscaler at %s without its status: %v", o.APIVersion, o.Content)
		}
	}

	s.fault = forbid("/apis/autoscaling", "/api/v1/namespaces/shop?", "/apis/apiextensions.k8s.io")
	got = s.read(Options{}, wanted)
	for _, u := range got.Unread {
		if !u.Optional {
			t.Errorf("context that is refused must be optional: %+v", u)
		}
	}
	if len(got.Unread) == 0 {
		t.Error("the refusal of context is not told")
	}

	wanted.Versions = map[gitops.GroupKind]string{{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: "v1"}
	s.fault = nil
	for _, o := range contents(s.read(Options{}, wanted)) {
		if o.ID.Kind == "HorizontalPodAutoscaler" && o.APIVersion != "autoscaling/v1" {
			t.Errorf("read at %s, Git declares autoscaling/v1", o.APIVersion)
		}
	}
}

func TestManyObjectsWithoutLabelsAreListedByNamespace(t *testing.T) {
	s := newAPIServer(t)
	var wanted []gitops.ObjectID
	for i := range 40 {
		name := fmt.Sprintf("c%02d", i)
		s.put("configmaps", "shop", name, nil)
		s.put("configmaps", "shop", "other-"+name, nil)
		wanted = append(wanted, gitops.ObjectID{Kind: "ConfigMap", Namespace: "shop", Name: name})
	}
	got := s.read(Options{}, Wanted{IDs: append(wanted, id("ConfigMap/few/one"))})
	if got.Objects.Len() != 40 {
		t.Errorf("%d objects, want the 40 that were asked for", got.Objects.Len())
	}
	if s.asked("/api/v1/namespaces/shop/configmaps") != 1 || s.asked("/api/v1/namespaces/few/configmaps/one") != 1 {
		t.Errorf("requests: %v", s.seen)
	}
}

func TestEngineObjects(t *testing.T) {
	s := newAPIServer(t)
	s.put("kustomizations", "flux-system", "shop", map[string]any{"status": map[string]any{"lastAppliedRevision": "main@sha1:1"}})
	got, err := s.connect(Options{}).EngineObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Objects.Len() != 1 || contents(got)[0].Content["status"] == nil || len(got.Unread) != 0 {
		t.Errorf("objects %v, unread %v", got.Objects, got.Unread)
	}

	s.fault = forbidExactly("/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations")
	got, err = s.connect(Options{}).EngineObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Unread) != 1 || got.Unread[0].Optional {
		t.Errorf("a refused list of engine objects leaves the scan open: %+v", got.Unread)
	}
	got, err = s.connect(Options{Namespaces: []string{"flux-system"}}).EngineObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Objects.Len() != 1 || len(got.Unread) != 1 || !got.Unread[0].Optional {
		t.Errorf("namespaces that the operator named are enough: %v, %+v", got.Objects, got.Unread)
	}
}

func TestStatusAndItsOwnersAreDropped(t *testing.T) {
	s := newAPIServer(t)
	s.put("deployments", "shop", "web", map[string]any{
		"labels": tracked["labels"],
		"spec":   map[string]any{"replicas": 3},
		"status": map[string]any{"replicas": 3},
		"managedFields": []any{map[string]any{
			"manager": "kube-controller-manager", "subresource": "status",
			"fieldsV1": map[string]any{"f:status": map[string]any{"f:replicas": map[string]any{}}, "f:metadata": map[string]any{}},
		}},
	})
	got := s.read(Options{}, Wanted{IDs: ids("Deployment.apps/shop/web"), Selectors: []string{trackedBy}})
	want := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "web", "namespace": "shop", "uid": "u-web", "labels": tracked["labels"],
			"managedFields": []any{map[string]any{
				"manager": "kube-controller-manager", "subresource": "status", "fieldsV1": map[string]any{"f:metadata": map[string]any{}},
			}},
		},
		"spec": map[string]any{"replicas": int64(3)},
	}
	if diff := cmp.Diff(want, contents(got)[0].Content); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

func TestRefusalsOfKindsThatNobodyWantsAreFew(t *testing.T) {
	s := newAPIServer(t)
	s.fault = forbid("/api/v1/services", "/api/v1/namespaces/a/services", "/api/v1/namespaces/b/services")
	got := s.read(Options{}, Wanted{
		IDs: ids("ConfigMap/a/x", "ConfigMap/b/x"), Selectors: []string{trackedBy}, AllKinds: true,
	})
	if a, b := s.asked("/api/v1/namespaces/a/services?"+trackedBy), s.asked("/api/v1/namespaces/b/services?"+trackedBy); a+b != 1 {
		t.Errorf("asked %d namespaces after the first refusal, want 1", a+b)
	}
	for _, u := range got.Unread {
		if u.Kind == "Service" && !u.Optional {
			t.Errorf("no verdict depends on %+v", u)
		}
	}
}

func TestAnAnswerWithAnotherObjectIsNotTaken(t *testing.T) {
	s := newAPIServer(t)
	s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if strings.HasSuffix(r.URL.Path, "/configmaps/mine") {
			answer(w, 200, map[string]any{"metadata": map[string]any{"name": "yours", "namespace": "shop"}})
			return true
		}
		return false
	}
	got := s.read(Options{}, Wanted{IDs: ids("ConfigMap/shop/mine")})
	wantStates(t, got, map[string]string{"ConfigMap/shop/mine": "unread", "ConfigMap/shop/yours": "absent"})
}

func TestTheServersPreferredVersionComesFirst(t *testing.T) {
	s := served{byKind: map[gitops.GroupKind][]resource{}}
	for _, version := range []string{"v1beta1", "v2", "v1"} {
		s.add(&metav1.APIResourceList{GroupVersion: "example.test/" + version, APIResources: []metav1.APIResource{
			{Name: "widgets", Kind: "Widget", Verbs: metav1.Verbs{"get", "list"}}, {Name: "widgets/status", Kind: "Widget"},
		}}, map[string]string{"example.test": "v2"})
	}
	for wanted, want := range map[string]string{"": "v2", "v1": "v1", "v3": "v2"} {
		if r, ok := s.find(gitops.GroupKind{Group: "example.test", Kind: "Widget"}, wanted); !ok || r.version != want || r.plural != "widgets" {
			t.Errorf("wanted %q: %+v, want %s", wanted, r, want)
		}
	}
}
