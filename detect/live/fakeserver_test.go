package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// apiServer answers GET requests as an API server does: discovery, paged lists by label, single objects,
// metadata only. faults decide, before anything else, about a request.
type apiServer struct {
	t         *testing.T
	resources []metav1.APIResource // Group and Version set
	objects   map[string][]map[string]any
	pageLimit int
	// fault answers a request itself and says so; nil for none.
	fault func(w http.ResponseWriter, r *http.Request, nth int) bool

	mu    sync.Mutex
	seen  []string // path and query of each request, discovery left out
	count map[string]int
	url   string
}

func res(group, version, plural, kind string, namespaced bool) metav1.APIResource {
	return metav1.APIResource{
		Group: group, Version: version, Name: plural, Kind: kind, Namespaced: namespaced,
		Verbs: metav1.Verbs{"get", "list", "watch", "create", "delete"},
	}
}

func newAPIServer(t *testing.T) *apiServer {
	s := &apiServer{
		t: t, objects: map[string][]map[string]any{}, count: map[string]int{}, pageLimit: pageSize,
		resources: []metav1.APIResource{
			res("", "v1", "configmaps", "ConfigMap", true),
			res("", "v1", "secrets", "Secret", true),
			res("", "v1", "services", "Service", true),
			res("", "v1", "namespaces", "Namespace", false),
			res("", "v1", "events", "Event", true),
			res("apps", "v1", "deployments", "Deployment", true),
			res("apps", "v1", "replicasets", "ReplicaSet", true),
			res("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true),
			res("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true),
			res("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false),
			res("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false),
			res("kustomize.toolkit.fluxcd.io", "v1", "kustomizations", "Kustomization", true),
			res("example.test", "v1", "widgets", "Widget", true),
		},
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// put stores an object under its path's resource.
func (s *apiServer) put(plural, namespace, name string, more map[string]any) {
	o := map[string]any{"metadata": map[string]any{"name": name, "uid": "u-" + name}}
	metadata := o["metadata"].(map[string]any)
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	for k, v := range more {
		if k == "labels" || k == "annotations" || k == "managedFields" {
			metadata[k] = v
		} else {
			o[k] = v
		}
	}
	s.objects[plural] = append(s.objects[plural], o)
}

var tracked = map[string]any{"labels": map[string]any{"team.test/app": "shop"}}

const trackedBy = "team.test/app"

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		s.t.Errorf("%s %s: only GET is expected", r.Method, r.URL)
	}
	switch r.URL.Path {
	case "/version":
		s.mu.Lock()
		s.count[r.URL.Path]++
		nth := s.count[r.URL.Path]
		s.mu.Unlock()
		if s.fault != nil && s.fault(w, r, nth) {
			return
		}
		answer(w, 200, map[string]any{"gitVersion": "v1.36.3"})
		return
	case "/api", "/apis":
		s.discovery(w, r)
		return
	}
	s.mu.Lock()
	s.count[r.URL.Path]++
	nth := s.count[r.URL.Path]
	s.seen = append(s.seen, strings.TrimSuffix(r.URL.Path+"?"+r.URL.Query().Get("labelSelector"), "?"))
	s.mu.Unlock()
	if s.fault != nil && s.fault(w, r, nth) {
		return
	}
	s.serve(w, r)
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "api" {
		parts = append([]string{""}, parts[1:]...) // group, version, …
	} else {
		parts = parts[1:]
	}
	group, version, rest := parts[0], parts[1], parts[2:]
	namespace := ""
	if len(rest) > 2 && rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	i := slices.IndexFunc(s.resources, func(a metav1.APIResource) bool {
		return a.Group == group && a.Version == version && a.Name == rest[0]
	})
	if i < 0 {
		refuse(w, 404, "the server could not find the requested resource")
		return
	}
	kind, apiVersion := s.resources[i].Kind, strings.TrimPrefix(group+"/"+version, "/")
	metadataOnly := strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		refuse(w, 400, err.Error())
		return
	}
	items := []any{}
	for _, o := range s.objects[rest[0]] {
		metadata := o["metadata"].(map[string]any)
		set := labels.Set{}
		if m, ok := metadata["labels"].(map[string]any); ok {
			for k, v := range m {
				set[k] = v.(string)
			}
		}
		if namespace != "" && metadata["namespace"] != namespace || !selector.Matches(set) {
			continue
		}
		if metadataOnly {
			o = map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata}
		}
		if len(rest) > 1 && metadata["name"] == rest[1] {
			if !metadataOnly {
				o["apiVersion"], o["kind"] = apiVersion, kind
			}
			answer(w, 200, o)
			return
		}
		items = append(items, o)
	}
	if len(rest) > 1 {
		refuse(w, 404, fmt.Sprintf("%s %q not found", rest[0], rest[1]))
		return
	}
	listKind := kind + "List"
	if metadataOnly {
		listKind, apiVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	to := min(len(items), from+min(limit, s.pageLimit))
	metadata := map[string]any{"resourceVersion": "7"}
	if to < len(items) {
		metadata["continue"] = strconv.Itoa(to)
	}
	answer(w, 200, map[string]any{"kind": listKind, "apiVersion": apiVersion, "metadata": metadata, "items": items[from:to]})
}

// discovery answers in the old form, group by group, which every client understands.
func (s *apiServer) discovery(w http.ResponseWriter, r *http.Request) {
	type group struct {
		Metadata map[string]any   `json:"metadata"`
		Versions []map[string]any `json:"versions"`
	}
	var groups []*group
	for _, a := range s.resources {
		if (r.URL.Path == "/api") != (a.Group == "") {
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.Metadata["name"] == a.Group })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{Metadata: map[string]any{"name": a.Group}})
		}
		g := groups[i]
		j := slices.IndexFunc(g.Versions, func(v map[string]any) bool { return v["version"] == a.Version })
		if j < 0 {
			j = len(g.Versions)
			g.Versions = append(g.Versions, map[string]any{"version": a.Version, "freshness": "Current", "resources": []any{}})
		}
		scope := "Cluster"
		if a.Namespaced {
			scope = "Namespaced"
		}
		g.Versions[j]["resources"] = append(g.Versions[j]["resources"].([]any), map[string]any{
			"resource": a.Name, "scope": scope, "verbs": a.Verbs,
			"responseKind": map[string]any{"group": a.Group, "version": a.Version, "kind": a.Kind},
		})
	}
	w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": map[string]any{}, "items": groups,
	})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, code int, message string) {
	answer(w, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code})
}

// forbid refuses requests whose path has one of these prefixes.
func forbid(paths ...string) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, r *http.Request, _ int) bool {
		for _, p := range paths {
			if strings.HasPrefix(r.URL.Path, p) {
				refuse(w, 403, "no access to "+p)
				return true
			}
		}
		return false
	}
}

func (s *apiServer) kubeconfig() string {
	file := filepath.Join(s.t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: blue
contexts:
- {name: blue, context: {cluster: blue, user: bot}}
- {name: green, context: {cluster: blue, user: bot}}
clusters:
- {name: blue, cluster: {server: %q}}
users:
- {name: bot, user: {token: secret-token}}
`, s.url)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

func (s *apiServer) connect(o Options) *Cluster {
	s.t.Helper()
	o.Kubeconfig = s.kubeconfig()
	c, err := Connect(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	c.requester.pause = time.Millisecond
	return c
}

func (s *apiServer) read(o Options, w Wanted) *Snapshot {
	s.t.Helper()
	snapshot, err := s.connect(o).Read(s.t.Context(), w)
	if err != nil {
		s.t.Fatal(err)
	}
	return snapshot
}

// asked counts the requests for a path, query by label included.
func (s *apiServer) asked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, p := range s.seen {
		if p == path {
			n++
		}
	}
	return n
}
