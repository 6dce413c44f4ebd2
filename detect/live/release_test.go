package live

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestStoredReleases(t *testing.T) {
	const secret, configMap = "/api/v1/namespaces/flux/secrets/sh.helm.release.v1.", "/api/v1/namespaces/flux/configmaps/sh.helm.release.v1."
	setup := func(t *testing.T) *apiServer {
		s := newAPIServer(t)
		s.put("secrets", "flux", "sh.helm.release.v1.shop.v3", nil)
		s.put("secrets", "flux", "sh.helm.release.v1.other.v1", nil)
		s.put("configmaps", "flux", "sh.helm.release.v1.old.v2", nil)
		return s
	}
	wanted := Wanted{Releases: []StoredRelease{
		{Namespace: "flux", Name: "shop", Revisions: []int{3, 4}}, {Namespace: "flux", Name: "old", Revisions: []int{2, 3}},
		{Namespace: "flux", Name: "../secrets", Revisions: []int{1}},
	}}
	for i := range manyMissing { // so many are listed, when they are no releases
		wanted.Releases = append(wanted.Releases, StoredRelease{Namespace: "flux", Name: fmt.Sprintf("none%d", i), Revisions: []int{1}})
	}
	t.Run("they are asked for by name, in Secrets, else in ConfigMaps", func(t *testing.T) {
		s := setup(t)
		got := s.read(Options{Secrets: SecretsValues}, wanted)
		wantStates(t, got, map[string]string{
			"Secret/flux/sh.helm.release.v1.shop.v3": "present", "Secret/flux/sh.helm.release.v1.shop.v4": "absent",
			"ConfigMap/flux/sh.helm.release.v1.old.v2": "present", "Secret/flux/sh.helm.release.v1.other.v1": "absent",
		})
		for path, want := range map[string]int{
			secret + "shop.v3": 1, secret + "shop.v4": 1, secret + "old.v2": 1, configMap + "old.v2": 1, configMap + "shop.v4": 0,
		} {
			if s.asked(path) != want {
				t.Errorf("%s: asked %d times, want %d", path, s.asked(path), want)
			}
		}
		for _, path := range s.seen {
			if strings.HasSuffix(path, "/secrets") || strings.Contains(path, "..") {
				t.Errorf("asked for %s", path)
			}
		}
	})
	for _, mode := range []Secrets{SecretsNone, SecretsMetadata} {
		t.Run("they are not asked for with Secrets "+string(mode), func(t *testing.T) {
			s := setup(t)
			s.read(Options{Secrets: mode}, wanted)
			for _, path := range s.seen {
				if strings.Contains(path, "sh.helm.release") {
					t.Errorf("asked for %s", path)
				}
			}
		})
	}
	t.Run("one refusal is enough, and nothing fails for it", func(t *testing.T) {
		s := setup(t)
		s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if strings.Contains(r.URL.Path, "/secrets/") {
				refuse(w, 403, "secrets is forbidden")
				return true
			}
			return false
		}
		got := s.read(Options{Secrets: SecretsValues}, wanted)
		if len(got.Unread) != 1 || !got.Unread[0].Optional || got.Unread[0].Verb != "get" || got.Unread[0].Namespace != "flux" {
			t.Errorf("unread %+v", got.Unread)
		}
		if s.asked(secret+"shop.v3")+s.asked(secret+"shop.v4")+s.asked(secret+"old.v2") != 1 {
			t.Errorf("asked for %v", s.seen)
		}
		for _, path := range s.seen {
			if strings.Contains(path, "/configmaps/") {
				t.Errorf("asked for %s, though it is not known whether a Secret has it", path)
			}
		}
	})
}
