package audit

import (
	"strings"
	"testing"

	"holdfast/detect"
)

// TestWhoIsBehindASharedUser: EKS puts many people behind one user, and says who in what the authenticator knows beside it.
func TestWhoIsBehindASharedUser(t *testing.T) {
	const arn = "arn:aws:sts::1:assumed-role/Admin/alice"
	for _, c := range []struct {
		name  string
		extra any
		want  string
	}{
		{"nothing more is known", nil, "kubernetes-admin"},
		{"a role and its session", map[string]any{"arn": []string{arn}, "sessionName": []string{"alice@example.test"}}, "kubernetes-admin (" + arn + ", session alice@example.test)"},
		{"a session that the role's name has already", map[string]any{"arn": []string{arn}, "sessionName": []string{"alice"}}, "kubernetes-admin (" + arn + ")"},
		{"something else", map[string]any{"scopes": []string{"x"}}, "kubernetes-admin"},
		{"another form", []string{"x"}, "kubernetes-admin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			user := map[string]any{"username": "kubernetes-admin"}
			if c.extra != nil {
				user["extra"] = c.extra
			}
			log, err := Decode(strings.NewReader(line(t, map[string]any{"user": user})))
			if err != nil {
				t.Fatal(err)
			}
			f := replicas("kubectl-set", "")
			if !log.Of(web(), application(), nil).Field(f) || f.Writer.Name() != c.want || f.Writer.Confidence != detect.ByAudit {
				t.Errorf("got %q by %s, want %q", f.Writer.Name(), f.Writer.Confidence, c.want)
			}
		})
	}
}

// TestAnEventWithoutAUserNamesNobody: some clouds leave out whom they do not know.
func TestAnEventWithoutAUserNamesNobody(t *testing.T) {
	log, err := Decode(strings.NewReader(line(t, map[string]any{"user": map[string]any{}})))
	if err != nil {
		t.Fatal(err)
	}
	f := replicas("kubectl-set", "")
	if log.Of(web(), application(), nil).Field(f) || f.Writer.Confidence != detect.Unresolved {
		t.Errorf("got %q by %s, want nobody", f.Writer.Name(), f.Writer.Confidence)
	}
	gone, err := Decode(strings.NewReader(line(t, map[string]any{"user": map[string]any{}, "verb": "delete"})))
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := gone.Of(web(), application(), nil).Object(detect.GitOnly); ok {
		t.Errorf("got %v, want nobody", w)
	}
}
