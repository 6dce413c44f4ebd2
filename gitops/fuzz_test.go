package gitops

import (
	"strings"
	"testing"
)

func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"", "spec.replicas", `metadata.labels["a.b/c"]`, "spec.containers[name=web].env[0]", `a[x=1,y="2,]"]`, "[0]", "a..b", "[", `["`, "a[=]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := ParsePath(text)
		if err != nil {
			if path != nil {
				t.Errorf("%q: a path beside the error %v", text, err)
			}
			return
		}
		again, err := ParsePath(path.String())
		if err != nil || !again.Equal(path) {
			t.Errorf("%q reads as %q, which reads as %q: %v", text, path, again, err)
		}
	})
}

func FuzzWithoutCredentials(f *testing.F) {
	for _, url := range []string{"https://a:b@c.test/d@e", "ssh://git:p@c.test/x", "git@c.test:x", "", "://@", "https://@@/"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		out := WithoutCredentials(url)
		if again := WithoutCredentials(out); again != out {
			t.Errorf("%q gives %q, and that %q", url, out, again)
		}
		_, rest, ok := strings.Cut(out, "://")
		authority, _, _ := strings.Cut(rest, "/")
		if user, _, has := strings.Cut(authority, "@"); ok && has && !strings.ContainsAny(authority, "?#") && strings.Contains(user, ":") {
			t.Errorf("%q keeps a password: %q", url, out)
		}
	})
}
