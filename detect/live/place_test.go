package live

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
)

// placedWanted asks for Deployments and, by metadata first, ReplicaSets of some namespaces; what has the name child is
// not wanted.
func placedWanted(places ...string) Wanted {
	return Wanted{
		IDs: ids("Deployment.apps/shop/web"), Selectors: []string{trackedBy}, AllKinds: true, Places: places,
		PlacedKinds: []PlacedKind{
			{Kind: gitops.GroupKind{Group: "apps", Kind: "Deployment"}},
			{Kind: gitops.GroupKind{Group: "apps", Kind: "ReplicaSet"}, Crowded: true},
		},
		Keep: func(o gitops.Object) bool { return !strings.HasPrefix(o.ID.Name, "child") },
	}
}

func placedServer(t *testing.T) *apiServer {
	s := newAPIServer(t)
	for _, namespace := range []string{"shop", "elsewhere"} {
		s.put("deployments", namespace, "web", tracked)
		s.put("deployments", namespace, "hand", nil)
		s.put("deployments", namespace, "child", nil)
		s.put("replicasets", namespace, "hand", map[string]any{"spec": map[string]any{"replicas": 1}})
		s.put("replicasets", namespace, "child-1", nil)
		s.put("replicasets", namespace, "child-2", nil)
	}
	return s
}

func TestWhatStandsInAPlaceIsReadWhole(t *testing.T) {
	s := placedServer(t)
	got := s.read(Options{}, placedWanted("shop"))
	want := []string{"Deployment.apps/elsewhere/web", "Deployment.apps/shop/hand", "Deployment.apps/shop/web", "ReplicaSet.apps/shop/hand"}
	if diff := cmp.Diff(want, names(got)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if o, _ := got.Objects.Get(id("ReplicaSet.apps/shop/hand")); o.Content["spec"] == nil {
		t.Error("of a crowded kind only metadata was read")
	}
	for path, times := range map[string]int{
		"/apis/apps/v1/namespaces/shop/deployments?!" + trackedBy: 1, // the engine's own are not listed twice
		"/apis/apps/v1/namespaces/shop/replicasets":               1, // no list by label is made of these
		"/apis/apps/v1/namespaces/shop/replicasets/hand":          1,
		"/apis/apps/v1/namespaces/shop/replicasets/child-1":       0,
		"/apis/apps/v1/namespaces/elsewhere/deployments":          0,
	} {
		if n := s.asked(path); n != times {
			t.Errorf("%s was asked for %d times, want %d: %v", path, n, times, s.seen)
		}
	}
}

func TestManyPlacesAreOneList(t *testing.T) {
	s := placedServer(t)
	places := []string{"shop"}
	for i := range manyPlaces {
		places = append(places, fmt.Sprintf("empty-%d", i))
	}
	got := s.read(Options{}, placedWanted(places...))
	want := []string{"Deployment.apps/elsewhere/web", "Deployment.apps/shop/hand", "Deployment.apps/shop/web", "ReplicaSet.apps/shop/hand"}
	if diff := cmp.Diff(want, names(got)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if n := s.asked("/apis/apps/v1/replicasets"); n != 1 {
		t.Errorf("%d lists of the cluster, want 1: %v", n, s.seen)
	}
}

func TestAPlaceThatMayNotBeReadIsNoVerdict(t *testing.T) {
	s := placedServer(t)
	s.fault = func(w http.ResponseWriter, r *http.Request, n int) bool {
		return strings.Contains(r.URL.Path, "replicasets") && forbid(r.URL.Path)(w, r, n)
	}
	got := s.read(Options{}, placedWanted("shop"))
	said := false
	for _, u := range got.Unread {
		if u.Kind == "ReplicaSet" {
			said = true
			if !u.Optional || u.Verb != "list" {
				t.Errorf("no verdict depends on %+v", u)
			}
		}
	}
	if !said {
		t.Errorf("the refusal is not told: %+v", got.Unread)
	}
}
