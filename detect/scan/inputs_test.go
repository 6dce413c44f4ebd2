package scan

import (
	"testing"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/detect/live"
	"holdfast/gitops"
	"holdfast/gitops/packed"
	"holdfast/gitops/render"
)

func TestAnOptionalInputThatIsNotThereIsKnown(t *testing.T) {
	unread := []live.Unread{{Kind: "Secret", Namespace: "shop", ByChoice: true}}
	for _, c := range []struct {
		name, kind string
		optional   bool
		cluster    string
		unread     []live.Unread
		want       bool
	}{
		{"optional, and the cluster has none", "ConfigMap", true, "blue", nil, true},
		{"needed, and the cluster has none", "ConfigMap", false, "blue", nil, false},
		{"optional, and a dump has none", "ConfigMap", true, "", nil, false},
		{"optional, and not read", "Secret", true, "blue", unread, false},
	} {
		read := &live.Snapshot{Cluster: c.cluster, Objects: packed.New(), Unread: c.unread}
		app := gitops.Application{Namespace: "shop", Render: gitops.Render{
			Kustomize: &gitops.Kustomize{PostBuild: &gitops.PostBuild{SubstituteFrom: []gitops.SubstituteFrom{{Kind: c.kind, Name: "vars", Optional: c.optional}}}},
			Helm:      &gitops.Helm{Values: []gitops.Values{{From: &gitops.ValuesFrom{Kind: c.kind, Name: "vars"}, Optional: c.optional}}},
		}}
		withoutAbsent(&app, read)
		if got := app.Render.Kustomize.PostBuild.SubstituteFrom[0].Known; got != c.want {
			t.Errorf("%s: variables known %t, want %t", c.name, got, c.want)
		}
		if got := len(app.Render.Helm.Values) == 0; got != c.want {
			t.Errorf("%s: values left out %t, want %t", c.name, got, c.want)
		}
	}
}

// TestWhatAnUnreadInputCannotExplain: an engine owns what it applied, so what others alone own is not from the input.
func TestWhatAnUnreadInputCannotExplain(t *testing.T) {
	engine := detect.Writer{Manager: "kustomize-controller", Operation: "Apply"}
	person := detect.Writer{Manager: "kubectl-edit", Operation: "Update"}
	image := gitops.Path{gitops.Field("spec"), gitops.Field("image")}
	password := gitops.Path{gitops.Field("data"), gitops.Field("password")}
	sealed := gitops.NewObject(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "shop"},
		"stringData": map[string]any{"password": "ENC[AES256_GCM,data:x]"},
	})
	widget := gitops.NewObject(map[string]any{
		"apiVersion": "example.test/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "shop"},
		"spec": map[string]any{"image": "${image}"},
	})
	for _, c := range []struct {
		name   string
		object gitops.Object
		path   gitops.Path
		kind   detect.DifferenceKind
		owners []detect.Writer
		want   bool
	}{
		{"a person alone owns it", widget, image, detect.Changed, []detect.Writer{person}, true},
		{"the engine owns it", widget, image, detect.Changed, []detect.Writer{engine}, false},
		{"both own it, so they agree", widget, image, detect.Changed, []detect.Writer{person, engine}, false},
		{"nobody owns it", widget, image, detect.Changed, nil, false},
		{"it is gone, as the input may have it", widget, image, detect.Removed, []detect.Writer{person}, false},
		{"an encrypted value that a person owns", sealed, password, detect.Changed, []detect.Writer{person}, true},
		{"an encrypted value that the engine owns", sealed, password, detect.Changed, []detect.Writer{engine}, false},
		{"an encrypted value that nobody owns any more", sealed, password, detect.Changed, nil, true},
		{"an encrypted value that is gone", sealed, password, detect.Removed, []detect.Writer{engine}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := c.path
			if c.object.IsSecret() {
				at = gitops.Path{gitops.Field("stringData"), gitops.Field("password")}
			}
			m := &member{
				app:    gitops.Application{Managers: []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}}},
				result: &render.Result{Unsure: map[gitops.ObjectID][]gitops.Path{c.object.ID: {at}}},
			}
			j := &judge{snapshot: &live.Snapshot{}}
			var out detect.Scan
			differences := []detect.Difference{{Path: c.path, Kind: c.kind, Owners: c.owners}}
			fields := []detect.Field{
				{Path: c.path, Kind: c.kind, Drift: true, Git: gitops.Present("${image}"), Reason: "r."},
				{Path: gitops.Path{gitops.Field("metadata")}, Drift: true},
			}
			got := j.unsure(m, c.object, differences, fields, &out)
			if (len(got) == 2) != c.want || len(out.Unknown) != 1 {
				t.Fatalf("%d fields, %d unknown", len(got), len(out.Unknown))
			}
			if c.want && got[0].Git.V != unreadValue {
				t.Errorf("it shows %v as Git's value", got[0].Git.V)
			}
		})
	}
}

// TestWhichMarksKeepFluxFromCorrecting: Flux looks at the live object and at Git's.
func TestWhichMarksKeepFluxFromCorrecting(t *testing.T) {
	marked := func(annotations map[string]any) gitops.Object {
		return gitops.NewObject(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop", "annotations": annotations}})
	}
	ssa := func(value string) gitops.Object {
		return marked(map[string]any{"kustomize.toolkit.fluxcd.io/ssa": value})
	}
	none := marked(nil)
	for _, c := range []struct {
		name      string
		git, live gitops.Object
		kind      detect.DifferenceKind
		want      string
	}{
		{"no mark", none, none, detect.Changed, ""},
		{"Git says to ignore it", ssa("Ignore"), ssa("Ignore"), detect.Changed, "the cluster has kustomize.toolkit.fluxcd.io/ssa: Ignore"},
		{"Git alone says so", ssa("ignore"), none, detect.Changed, "Git has kustomize.toolkit.fluxcd.io/ssa: ignore"},
		{"only when it is absent", ssa("IfNotPresent"), none, detect.Removed, "Git has kustomize.toolkit.fluxcd.io/ssa: IfNotPresent"},
		{"reconciliation is disabled by hand", none, marked(map[string]any{"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}), detect.Changed, "the cluster has kustomize.toolkit.fluxcd.io/reconcile: disabled"},
		{"a merge corrects what Git has", ssa("Merge"), ssa("Merge"), detect.Changed, ""},
		{"a merge keeps what others added", ssa("Merge"), none, detect.Added, "Git has kustomize.toolkit.fluxcd.io/ssa: Merge"},
		{"the default, written out", ssa("Override"), ssa("Override"), detect.Changed, ""},
	} {
		got := correctionOff(c.kind, classify.Subject{Declared: &gitops.Declared{Object: c.git}, Live: &c.live})
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
