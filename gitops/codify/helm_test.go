package codify

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatStandsWhereTheMarkDid(t *testing.T) {
	for _, test := range []struct {
		name, pattern, want string
		out                 []string
	}{
		{"a tag behind a name", "shop/web:" + markText, "shop/web:4.20", []string{"4.20"}},
		{"twice the same", markText + "-" + markText, "a-a", []string{"a"}},
		{"twice, and wanted to differ", markText + "-" + markText, markText + "-b", []string{"b"}},
		{"other text around it", "shop/web:" + markText, "store/web:4.20", nil},
		{"lines", "listen 80\nlevel " + markText + "\n", "listen 80\nlevel warn\n", []string{"warn"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.out, solved(test.pattern, markText, test.want)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestListsThatWereJoined(t *testing.T) {
	for _, test := range []struct {
		name          string
		now           []any
		pattern, want string
		out           []any
	}{
		{"one more", []any{"a", "b"}, "--zones=a,b," + markValue, "--zones=a,b,c", []any{"a", "b", "c"}},
		{"one less, two characters between", []any{"a", "b"}, "a, b, " + markValue, "b", []any{"b"}},
		{"numbers stay numbers", []any{int64(80)}, "80 " + markValue, "80 81", []any{int64(80), int64(81)}},
		{"other text in front", []any{"a"}, "x=a," + markValue, "y=a,b", nil},
		{"an empty list does not tell what stands between", nil, "x=" + markValue, "x=a", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := unjoined(test.now, test.pattern, test.want)
			if diff := cmp.Diff(test.out, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestValuesFilesThatAreMeantForMore(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"values/common/web.yaml", "values/prod/web.yaml", true},
		{"values/eu/web.yaml", "values/eu-1/web.yaml", true},
		{"chart/values.yaml", "chart/values-prod.yaml", true},
		{"values-prod.yaml", "values-images.yaml", false},
		{"envs/shared-limits.yaml", "envs/prod.yaml", true},
		{"envs/prod.yaml", "secrets/web.yaml", false},
	} {
		if got := widerThan(test.a, test.b); got != test.want {
			t.Errorf("%s before %s: %t, want %t", test.a, test.b, got, test.want)
		}
	}
}

func TestParameterNames(t *testing.T) {
	for name, want := range map[string]string{
		"image.tag": "image.tag", `annotations.example\.test/team`: `annotations["example.test/team"]`, "hosts[1].name": "hosts[1].name", "a[x]": "",
	} {
		if got := parameterPath(name).String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestTextsThatGoTogether(t *testing.T) {
	a, b, c := markText+"ax", markText+"bx", markText+"cx"
	for _, test := range []struct {
		name, pattern string
		names, now    []string
		want          string
		first         []string
	}{
		{"a repository and a tag", a + ":" + b, []string{a, b}, []string{"shop/web", "1"}, "mirror/web:2", []string{"mirror/web", "2"}},
		{"a port in the registry stays there", a + ":" + b, []string{a, b}, []string{"host:5000/web", "1"}, "other:5000/web:2", []string{"other:5000/web", "2"}},
		{"a registry without a slash", a + "/" + b + ":" + c, []string{a, b, c}, []string{"one.test", "shop/web", "1"}, "two.test/store/web:1", []string{"two.test", "store/web", "1"}},
		{"the same twice", a + "-" + a, []string{a}, []string{"x"}, "y-y", []string{"y"}},
		{"the same twice, and wanted to differ", a + "-" + a, []string{a}, []string{"x"}, "y-z", nil},
		{"other text between", a + ":" + b, []string{a, b}, []string{"x", "1"}, "x@1", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var first []string
			if all := divided(test.pattern, test.names, test.now, test.want); len(all) > 0 {
				first = all[0]
			}
			if diff := cmp.Diff(test.first, first); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordsAreFilledFromWhatTheChartMadeOfThem(t *testing.T) {
	form := stamped(map[string]any{"name": "http", "port": int64(80), "path": "/", "unused": "x"})
	made := map[string]any{"name": markKey, "containerPort": form["port"], "httpGet": map[string]any{"path": form["path"]}, "protocol": "TCP"}
	bound := map[string]any{}
	want := map[string]any{"name": "admin", "containerPort": int64(9090), "httpGet": map[string]any{"path": "/up"}}
	if !unify(made, want, bound) {
		t.Fatal("the wanted entry is not like the made one")
	}
	got, ok := filled(form, bound)
	if diff := cmp.Diff(map[string]any{"name": "admin", "port": int64(9090), "path": "/up"}, got); diff != "" || !ok {
		t.Errorf("%t (-want +got):\n%s", ok, diff)
	}
	if unify(made, map[string]any{"name": "admin", "hostPort": int64(1)}, map[string]any{}) {
		t.Error("a field that the template does not print passes")
	}
}
