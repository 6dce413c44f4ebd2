package live

import (
	"net/http"
	"strings"
	"testing"
)

// TestOpenAPIIsNeverAskedFor holds that a server whose OpenAPI endpoint is down or talks nonsense makes no difference:
// types are shipped or come from CustomResourceDefinitions.
func TestOpenAPIIsNeverAskedFor(t *testing.T) {
	s := newAPIServer(t)
	s.put("widgets", "shop", "w", tracked)
	s.put("customresourcedefinitions", "", "widgets.example.test", nil)
	s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if strings.HasPrefix(r.URL.Path, "/openapi") {
			t.Errorf("asked for %s", r.URL.Path)
		}
		return false
	}
	got := s.read(Options{}, Wanted{IDs: ids("Widget.example.test/shop/w"), Selectors: []string{trackedBy}, AllKinds: true})
	wantStates(t, got, map[string]string{"Widget.example.test/shop/w": "present"})
	if len(got.CRDs) != 1 {
		t.Errorf("definitions %v", got.CRDs)
	}
}

func TestDefinitionsThatCannotBeReadLeaveTheirObjects(t *testing.T) {
	garbage := func(text string) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if !strings.Contains(r.URL.Path, "customresourcedefinitions") {
				return false
			}
			_, _ = w.Write([]byte(text))
			return true
		}
	}
	for _, c := range []struct {
		name   string
		fault  func(http.ResponseWriter, *http.Request, int) bool
		reason string
	}{
		{"a refusal", func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if strings.Contains(r.URL.Path, "customresourcedefinitions") {
				refuse(w, 403, "no access to definitions")
				return true
			}
			return false
		}, "no access to definitions"},
		{"text in place of JSON", garbage("<html>"), "does not decode"},
		{"JSON that breaks off", garbage(`{"kind":"CustomResourceDefinition","metadata":{"name":"wid`), "does not decode"},
		{"another kind of answer", garbage(`[]`), "does not decode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newAPIServer(t)
			s.put("widgets", "shop", "w", tracked)
			s.fault = c.fault
			got := s.read(Options{}, Wanted{IDs: ids("Widget.example.test/shop/w"), Selectors: []string{trackedBy}})
			wantStates(t, got, map[string]string{"Widget.example.test/shop/w": "present"})
			reasons := ""
			for _, u := range got.Unread {
				if u.Kind == "CustomResourceDefinition" && u.Optional {
					reasons += u.Reason
				}
			}
			if len(got.CRDs) != 0 || !strings.Contains(reasons, c.reason) {
				t.Errorf("definitions %v, reasons %q, want %q", got.CRDs, reasons, c.reason)
			}
		})
	}
}

// TestHalfAListIsNeverAWholeOne gives answers that are JSON, and less than was asked for.
func TestHalfAListIsNeverAWholeOne(t *testing.T) {
	for _, c := range []struct{ name, body string }{
		{"a page without its kind", `{"items":[]}`},
		{"a page without items", `{"kind":"ConfigMapList","apiVersion":"v1"}`},
		{"null in place of items", `{"kind":"ConfigMapList","apiVersion":"v1","items":null}`},
		{"a list of another kind", `{"kind":"SecretList","apiVersion":"v1","items":[]}`},
		{"items that are no objects", `{"kind":"ConfigMapList","apiVersion":"v1","items":[1,null,"a"]}`},
		{"items without names", `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{}}]}`},
		{"a refusal as a success", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newAPIServer(t)
			s.put("configmaps", "shop", "a", tracked)
			s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if !strings.HasSuffix(r.URL.Path, "/configmaps") {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(c.body))
				return true
			}
			got := s.read(Options{}, Wanted{IDs: ids("ConfigMap/shop/a"), Selectors: []string{trackedBy}})
			if state(got, "ConfigMap/shop/a") == "absent" {
				t.Errorf("an object that exists counts as absent; unread %+v", got.Unread)
			}
		})
	}
}
