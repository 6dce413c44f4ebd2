package scan

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/classify"
	"holdfast/detect/live"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/release/releasetest"
	"holdfast/gitops/typed"
)

var update = flag.Bool("update", false, "write what the scans say into the scenarios")

// TestScenarios runs each file of testdata: git/N/… is commit N of the only repository, the greatest N its
// head; live.yaml is what the cluster holds, helm/… are Helm's records in it, scan.yaml is what else is so, want what the
// scan says.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := readScenario(t, archive)
			result, err := Run(t.Context(), s.input(t))
			if err != nil {
				t.Fatal(err)
			}
			got := describe(result)
			if *update {
				setWant(archive, got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(s.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func setWant(archive *txtar.Archive, got string) {
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
	archive.Files = append(archive.Files, txtar.File{Name: "want", Data: []byte(got)})
}

// scenario is one file of testdata.
type scenario struct {
	settings
	commits fakeRepository
	live    *live.Snapshot
	want    string
}

type settings struct {
	Secrets  live.Secrets  `json:"secrets"`
	Unread   []live.Unread `json:"unread"`
	Revision string        `json:"revision"`
	Unbound  string        `json:"unbound"`
	// Plain is a folder that no engine object describes.
	Plain string `json:"plain"`
	All   bool   `json:"all"`
}

func readScenario(t *testing.T, archive *txtar.Archive) scenario {
	t.Helper()
	s := scenario{commits: fakeRepository{}}
	var dumped []string
	trees := map[string]map[string]gitops.File{}
	for _, f := range archive.Files {
		switch {
		case f.Name == "want":
			s.want = string(f.Data)
		case f.Name == "live.yaml":
			dumped = append(dumped, writeFile(t, string(f.Data)))
		case strings.HasPrefix(f.Name, "helm/"):
			dumped = append(dumped, writeFile(t, releasetest.Object(t, f.Data)))
		case f.Name == "scan.yaml":
			if err := yaml.UnmarshalStrict(f.Data, &s.settings); err != nil {
				t.Fatal(err)
			}
		default:
			number, name, ok := strings.Cut(strings.TrimPrefix(f.Name, "git/"), "/")
			if !ok {
				t.Fatalf("%s: want git/N/…, helm/…, live.yaml, scan.yaml or want", f.Name)
			}
			if trees[number] == nil {
				trees[number] = map[string]gitops.File{}
			}
			trees[number][name] = gitops.File{Data: f.Data}
		}
	}
	var err error
	if s.live, err = live.Dump(dumped); err != nil {
		t.Fatal(err)
	}
	for number, files := range trees {
		s.commits[strings.Repeat(number, 40)] = gitops.NewTree(files)
	}
	return s
}

func (s scenario) input(t *testing.T) Input {
	t.Helper()
	in := testInput(t)
	s.live.Cluster, s.live.Secrets, s.live.Unread = "one", s.Secrets, append(s.live.Unread, s.Unread...)
	target := Target{Tier: detect.Production, Cluster: fakeCluster{s.live}}
	if s.Plain != "" {
		target.Applications = []gitops.Application{{
			Name: s.Plain, Namespace: "default", Kind: "Application", Engine: gitops.None, Ready: true,
			Managers: []gitops.Manager{{Name: "kustomize-controller"}},
			Source:   gitops.Source{Repo: "https://git.example/shop", Path: s.Plain}, Render: gitops.Render{Detect: true},
			Tracking: gitops.Tracking{Labels: map[string]string{"app": s.Plain}},
		}}
	}
	in.Targets = []Target{target}
	in.Open = func(_ context.Context, url string) (Repository, error) {
		if url != "https://git.example/shop" {
			return nil, fmt.Errorf("%s cannot be cloned", url)
		}
		return s.commits, nil
	}
	if s.Unbound != "" {
		in.Bound = func(gitops.Application) (bool, string) { return false, s.Unbound }
	}
	in.Revision, in.All = s.Revision, s.All
	return in
}

// testInput is an Input without targets and repositories.
func testInput(t *testing.T) Input {
	t.Helper()
	in := Input{Now: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}
	var err error
	if in.Schemas, err = typed.Builtin(); err != nil {
		t.Fatal(err)
	}
	if in.Rules, err = classify.LoadRules(); err != nil {
		t.Fatal(err)
	}
	if in.Assessor, err = assess.New(); err != nil {
		t.Fatal(err)
	}
	in.Policy = func(_ gitops.Application, tier detect.Tier, tree gitops.Tree) (*policy.Policy, error) {
		if data, ok := tree.Read(".holdfast.yaml"); ok {
			return policy.Decode(".holdfast.yaml", data)
		}
		return policy.Builtin(tier), nil
	}
	return in
}

type fakeCluster struct{ snapshot *live.Snapshot }

func (c fakeCluster) EngineObjects(context.Context) (*live.Snapshot, error) {
	engines := *c.snapshot
	engines.Unread = nil // it is of what is wanted later
	return &engines, nil
}

func (c fakeCluster) Read(context.Context, live.Wanted) (*live.Snapshot, error) {
	return c.snapshot, nil
}

// fakeRepository holds trees by commit; the greatest is the head of its only branch, main.
type fakeRepository map[string]gitops.Tree

func (r fakeRepository) sorted() []string {
	var out []string
	for commit := range r {
		out = append(out, commit)
	}
	slices.Sort(out)
	return out
}

func (r fakeRepository) Resolve(revision string) (string, error) {
	if _, ok := r[revision]; !ok {
		return "", fmt.Errorf("no revision %s", revision)
	}
	return revision, nil
}

func (r fakeRepository) Head(branch string) (string, error) {
	if branch != "" && branch != "main" {
		return "", fmt.Errorf("no branch %s", branch)
	}
	return r.sorted()[len(r)-1], nil
}

func (r fakeRepository) Tree(commit string) (gitops.Tree, error) { return r[commit], nil }

func (r fakeRepository) History(from string, _ func(string) bool, limit int) ([]string, error) {
	older := slices.DeleteFunc(r.sorted(), func(c string) bool { return c >= from })
	slices.Reverse(older)
	return older[:min(limit, len(older))], nil
}

// describe prints what a scan says, a line a fact.
func describe(s detect.Scan) string {
	var b strings.Builder
	for _, a := range s.Applications {
		fmt.Fprintf(&b, "application %s %s", a.Application.ID(), a.State)
		if a.Reason != "" {
			fmt.Fprintf(&b, ": %s", a.Reason)
		}
		b.WriteByte('\n')
	}
	for _, f := range s.Findings {
		fmt.Fprintf(&b, "%s %s %s %s\n", f.Application, f.Object.ID(), f.Presence, verdict(f.Drift, f.Cause, f.Risk, f.Disposition, f.Writer))
		if len(f.Fields) == 0 {
			fmt.Fprintf(&b, "  %s\n", f.Reason)
		}
		for _, field := range f.Fields {
			fmt.Fprintf(&b, "  %s %v -> %v %s\n", field.Path, field.Git.V, field.Live.V,
				verdict(field.Drift, field.Cause, field.Risk, field.Disposition, field.Writer))
		}
	}
	for _, u := range s.Unknown {
		choice := ""
		if u.ByChoice {
			choice = " by choice"
		}
		fmt.Fprintf(&b, "unknown%s %s %s: %s\n", choice, u.Application, u.Object.ID(), u.Reason)
	}
	fmt.Fprintf(&b, "%d objects\n", s.Objects)
	return b.String()
}

func verdict(drift bool, cause detect.Cause, risk detect.Risk, d detect.Disposition, w *detect.Writer) string {
	parts := []string{"in sync", string(cause), risk.String(), string(d)}
	if drift {
		parts[0] = "drift"
	}
	if w != nil {
		parts = append(parts, "by "+w.Manager)
	}
	return "(" + strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ") + ")"
}

func TestOneClusterDoesNotHideAnother(t *testing.T) {
	in := testInput(t)
	broken := brokenCluster{errors.New("the server does not answer")}
	empty, err := live.Dump([]string{writeFile(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")})
	if err != nil {
		t.Fatal(err)
	}
	in.Targets = []Target{
		{Name: "one", Cluster: broken},
		{Name: "two", Cluster: fakeCluster{empty}, Applications: []gitops.Application{{Namespace: "a", Name: "shop", Source: gitops.Source{Repo: "r"}}}},
	}
	in.Open = func(context.Context, string) (Repository, error) { return nil, errors.New("no such repository") }
	result, err := Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := []detect.UnknownObject{{Cluster: "one", Reason: "the server does not answer"}}
	if diff := cmp.Diff(want, result.Unknown); diff != "" {
		t.Error(diff)
	}
	if len(result.Applications) != 1 || result.Applications[0].Application.ID() != "two/a/shop" || result.Applications[0].State != detect.Unknown {
		t.Errorf("the other cluster's Application is not told: %+v", result.Applications)
	}
}

type brokenCluster struct{ err error }

func (c brokenCluster) EngineObjects(context.Context) (*live.Snapshot, error)     { return nil, c.err }
func (c brokenCluster) Read(context.Context, live.Wanted) (*live.Snapshot, error) { return nil, c.err }

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "live.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestNoClusterIsAnError(t *testing.T) {
	in := testInput(t)
	in.Targets = []Target{{Name: "one", Cluster: brokenCluster{errors.New("the server does not answer")}}}
	if _, err := Run(t.Context(), in); err == nil || err.Error() != "cluster one: the server does not answer" {
		t.Errorf("got %v", err)
	}
}

func TestACancelledScanIsAnError(t *testing.T) {
	in := testInput(t)
	empty, err := live.Dump([]string{writeFile(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")})
	if err != nil {
		t.Fatal(err)
	}
	in.Targets = []Target{{Name: "one", Cluster: fakeCluster{empty}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestIdentitiesStayAndFingerprintsFollowTheContent(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/two-applications-one-object.txtar")
	if err != nil {
		t.Fatal(err)
	}
	scanAt := func(now time.Time, value string) detect.Scan {
		changed := *archive
		changed.Files = slices.Clone(archive.Files)
		for i, f := range changed.Files {
			if f.Name == "live.yaml" {
				changed.Files[i].Data = []byte(strings.ReplaceAll(string(f.Data), "live-value", value))
			}
		}
		in := readScenario(t, &changed).input(t)
		in.Now = now
		result, err := Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	first := scanAt(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), "live-value")
	later := scanAt(time.Date(2026, 4, 10, 12, 0, 0, 0, time.UTC), "live-value")
	other := scanAt(time.Date(2026, 4, 10, 12, 0, 0, 0, time.UTC), "other-value")
	ids := map[string]bool{}
	for i, f := range first.Findings {
		ids[f.ID] = true
		if f.ID != later.Findings[i].ID || f.Fingerprint != later.Findings[i].Fingerprint {
			t.Errorf("%s: time alone changed the identity or the fingerprint", f.Application)
		}
		if f.ID != other.Findings[i].ID || f.Fingerprint == other.Findings[i].Fingerprint {
			t.Errorf("%s: another value keeps the identity and changes the fingerprint; got %s %s, %s %s",
				f.Application, f.ID, f.Fingerprint, other.Findings[i].ID, other.Findings[i].Fingerprint)
		}
	}
	if len(ids) != 2 {
		t.Errorf("two Applications' findings have %d identities", len(ids))
	}
}
