package flux_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/flux"
	"holdfast/gitops/render"
)

func objects(t *testing.T, text string) []gitops.Object {
	t.Helper()
	declared, problems := render.File("objects.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var out []gitops.Object
	for _, d := range declared {
		out = append(out, d.Object)
	}
	return out
}

const full = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  interval: 10m
  path: ./clusters/../apps/prod
  prune: true
  suspend: true
  targetNamespace: shop
  namePrefix: p-
  nameSuffix: -s
  sourceRef: {kind: GitRepository, name: fleet, namespace: sources}
  components: [../c]
  ignoreMissingComponents: true
  commonMetadata: {labels: {team: shop}, annotations: {a: b}}
  buildMetadata: [originAnnotations]
  images: [{name: nginx, newName: mirror, newTag: "2"}]
  patches:
    - patch: "[]"
      target: {group: apps, version: v1, kind: Deployment, name: "web.*", labelSelector: a=b}
  ignore:
    - paths: [/spec/replicas]
      target: {kind: Deployment}
  postBuild:
    substituteStrategy: Always
    substitute: {SITE: north}
    substituteFrom:
      - {kind: ConfigMap, name: vars}
      - {kind: Secret, name: vars}
      - {kind: Secret, name: not-read, optional: true}
status:
  lastAppliedRevision: main@sha1:0123456789abcdef0123456789abcdef01234567
  conditions:
    - {type: Ready, status: "True", reason: ReconciliationSucceeded, message: "Applied revision: main@sha1:0123", lastTransitionTime: "2026-11-30T00:00:00Z"}
  inventory:
    entries:
      - {id: shop_p-web-s_apps_Deployment, v: v1}
      - {id: _shop__Namespace, v: v1}
      - {id: _system__web_rbac.authorization.k8s.io_ClusterRole, v: v1}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: sources}
spec:
  interval: 1m
  url: https://git.example.test/fleet.git
  ref: {branch: main}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: vars, namespace: flux-system}
data: {SIZE: "1"}
---
apiVersion: v1
kind: Secret
metadata: {name: vars, namespace: flux-system}
data: {TOKEN: bm90LWEtcmVhbC1vbmU=}
`

func TestDecode(t *testing.T) {
	got, problems := flux.Decode("north", objects(t, full))
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	want := []gitops.Application{{
		Cluster: "north", Namespace: "flux-system", Name: "apps", Engine: gitops.Flux, Kind: "Kustomization",
		Source: gitops.Source{
			Repo: "https://git.example.test/fleet.git", Path: "apps/prod", Branch: "main", Kind: "GitRepository",
			Applied: "0123456789abcdef0123456789abcdef01234567",
			Ref:     gitops.ObjectID{Group: flux.SourceGroup, Kind: "GitRepository", Namespace: "sources", Name: "fleet"},
		},
		Render: gitops.Render{Kustomize: &gitops.Kustomize{
			Generate: true, NamePrefix: "p-", NameSuffix: "-s", TargetNamespace: "shop",
			Components: []string{"../c"}, IgnoreMissingComponents: true,
			Patches: []gitops.Patch{{Patch: "[]", Target: &gitops.PatchTarget{
				Group: "apps", Version: "v1", Kind: "Deployment", Name: "web.*", LabelSelector: "a=b",
			}}},
			Images:       []gitops.Image{{Name: "nginx", NewName: "mirror", NewTag: "2"}},
			CommonLabels: map[string]string{"team": "shop"}, CommonAnnotations: map[string]string{"a": "b"},
			BuildMetadata: []string{"originAnnotations"},
			PostBuild: &gitops.PostBuild{Substitute: map[string]string{"SITE": "north"}, Always: true, SubstituteFrom: []gitops.SubstituteFrom{
				{Kind: "ConfigMap", Name: "vars", Known: true, Values: map[string]string{"SIZE": "1"}},
				{Kind: "Secret", Name: "vars", Known: true, Values: map[string]string{"TOKEN": "not-a-real-one"}},
				{Kind: "Secret", Name: "not-read", Optional: true},
			}},
		}},
		Managers: []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}, {Name: "kustomize-controller", Operation: "Update"}},
		Tracking: gitops.Tracking{
			Labels: map[string]string{
				"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
			},
			Selector: "kustomize.toolkit.fluxcd.io/name",
		},
		Inventory: []gitops.ObjectID{
			{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "p-web-s"},
			{Kind: "Namespace", Name: "shop"},
			{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:web"},
		},
		Interval: 10 * time.Minute, Suspended: true, Correction: gitops.Heals, Switches: []string{"spec.suspend"}, Prune: true, Ready: true, Message: "Applied revision: main@sha1:0123",
		Ignore: []gitops.IgnoreRule{{Name: "spec.ignore[0]", Paths: []string{"/spec/replicas"}, Target: &gitops.PatchTarget{Kind: "Deployment"}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// kustomization gives a minimal one with more lines of spec.
func kustomization(spec ...string) string {
	return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n" +
		"spec:\n  interval: 10m\n  prune: true\n  sourceRef: {kind: GitRepository, name: fleet}\n  " + strings.Join(spec, "\n  ") + "\n"
}

func source(kind, spec string) string {
	return "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: " + kind + "\nmetadata: {name: fleet, namespace: flux-system}\nspec: " + spec + "\n"
}

func TestSource(t *testing.T) {
	for _, row := range []struct {
		name, text   string
		repo, branch string
	}{
		{"a branch is followed", kustomization() + source("GitRepository", "{url: u, ref: {branch: b}}"), "u", "b"},
		{"without a ref it is master", kustomization() + source("GitRepository", "{url: u}"), "u", "master"},
		{"a tag is none", kustomization() + source("GitRepository", "{url: u, ref: {tag: v1}}"), "u", ""},
		{"a tag goes before a branch", kustomization() + source("GitRepository", "{url: u, ref: {tag: v1, branch: b}}"), "u", ""},
		{"a semver range is none", kustomization() + source("GitRepository", "{url: u, ref: {semver: '>=1'}}"), "u", ""},
		{"a pinned commit of a branch is none", kustomization() + source("GitRepository", "{url: u, ref: {branch: b, commit: c}}"), "u", ""},
		{"a ref name can be a branch", kustomization() + source("GitRepository", "{url: u, ref: {name: refs/heads/x/y}}"), "u", "x/y"},
		{"a ref name can be a tag", kustomization() + source("GitRepository", "{url: u, ref: {name: refs/tags/v1, branch: b}}"), "u", ""},
		{"an artifact has no branch", strings.Replace(kustomization(), "GitRepository", "OCIRepository", 1) + source("OCIRepository", "{url: 'oci://registry.example.test/x', ref: {tag: latest}}"), "oci://registry.example.test/x", ""},
		{"a bucket has no branch", strings.Replace(kustomization(), "GitRepository", "Bucket", 1) + source("Bucket", "{endpoint: s3.example.test, bucketName: fleet}"), "s3.example.test/fleet", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			apps, problems := flux.Decode("", objects(t, row.text))
			if len(apps) != 1 || len(problems) > 0 {
				t.Fatalf("%d applications, %v", len(apps), problems)
			}
			if s := apps[0].Source; s.Repo != row.repo || s.Branch != row.branch || s.Path != "." {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestPathStaysInTheRepository(t *testing.T) {
	for written, want := range map[string]string{
		"": ".", "./": ".", "/": ".", "./apps/prod/": "apps/prod", "/apps": "apps", "../../etc": "etc", "a/./b/../c": "a/c",
	} {
		apps, _ := flux.Decode("", objects(t, kustomization("path: "+quote(written))))
		if got := apps[0].Source.Path; got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
}

func quote(s string) string { return "'" + s + "'" }

func TestProblems(t *testing.T) {
	git := source("GitRepository", "{url: u}")
	for _, row := range []struct {
		name, text   string
		kind         gitops.EngineProblemKind
		blocks       bool
		applications int
	}{
		{"a source that was not read", kustomization(), gitops.NoSource, false, 1},
		{"a field of the wrong type", kustomization("force: 3") + git, gitops.Undecodable, true, 0},
		{"an interval that is none", strings.Replace(kustomization(), "10m", "often", 1) + git, gitops.Undecodable, true, 0},
		{"another cluster", kustomization("kubeConfig: {secretRef: {name: a}}") + git, gitops.OtherCluster, true, 1},
		{"encrypted files", kustomization("decryption: {provider: sops}") + git, gitops.Encrypted, false, 1},
		{"a source that includes others", kustomization() + source("GitRepository", "{url: u, include: [{repository: {name: x}}]}"), gitops.OutsideRepository, true, 1},
		{"a source that leaves files out", kustomization() + source("GitRepository", "{url: u, ignore: '/*'}"), gitops.OutsideRepository, false, 1},
		{"a broken source", kustomization() + source("GitRepository", "{url: [u]}"), gitops.Undecodable, false, 1},
		{"an inventory entry that is none", kustomization() + "status: {inventory: {entries: [{id: x, v: v1}]}}\n" + git, gitops.Undecodable, false, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			apps, problems := flux.Decode("", objects(t, row.text))
			if len(problems) != 1 || problems[0].Kind != row.kind || problems[0].Blocks != row.blocks || len(apps) != row.applications {
				t.Fatalf("%d applications, %+v", len(apps), problems)
			}
			if !strings.Contains(problems[0].String(), "flux-system") {
				t.Errorf("the object is not named: %s", problems[0])
			}
		})
	}
}

func TestOldVersion(t *testing.T) {
	text := strings.Replace(kustomization(
		"patchesStrategicMerge:", "- {apiVersion: v1, kind: Service, metadata: {name: web}}",
		"patches: [{patch: '[]', target: {kind: Service}}]",
		"patchesJson6902:", "- target: {kind: Deployment, name: web}", "  patch: [{op: remove, path: /spec/replicas}]",
	), "/v1\n", "/v1beta2\n", 1)
	apps, _ := flux.Decode("", objects(t, text))
	if len(apps) != 1 {
		t.Fatal("not decoded")
	}
	want := []gitops.Patch{
		{Patch: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}`},
		{Patch: "[]", Target: &gitops.PatchTarget{Kind: "Service"}},
		{Patch: `[{"op":"remove","path":"/spec/replicas"}]`, Target: &gitops.PatchTarget{Kind: "Deployment", Name: "web"}},
	}
	if diff := cmp.Diff(want, apps[0].Render.Kustomize.Patches); diff != "" {
		t.Error(diff)
	}
}

func TestCommit(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	for revision, want := range map[string]string{
		"main@sha1:" + hash: hash, "sha1:" + hash: hash, "v1.0.0@sha1:" + hash: hash, "feature/x@sha1:" + hash: hash,
		"refs/heads/main@sha1:" + hash: hash, "main/" + hash: hash, hash: hash, "": "", "main": "", "main@sha1:0123": "",
		"latest@sha256:" + hash + "0123456789abcdef01234567": hash + "0123456789abcdef01234567",
	} {
		if got := flux.Commit(revision); got != want {
			t.Errorf("%q: got %q, want %q", revision, got, want)
		}
	}
}

// FuzzParseInventory compares with the parser of Flux's own inventory.
func FuzzParseInventory(f *testing.F) {
	for _, id := range []string{
		"shop_web_apps_Deployment", "_shop__Namespace", "shop_web__Service", "_system__web_rbac.authorization.k8s.io_ClusterRole",
		"", "_", "__", "___", "____", "a_b", "a_b_c", "a_b_c_d_e", "a___b__c_d",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		got, err := flux.ParseInventory(id)
		want, wantErr := object.ParseObjMetadata(id)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got %v, want %v", err, wantErr)
		}
		same := gitops.ObjectID{Group: want.GroupKind.Group, Kind: want.GroupKind.Kind, Namespace: want.Namespace, Name: want.Name}
		if err == nil && got != same {
			t.Errorf("got %+v, want %+v", got, same)
		}
	})
}

func tree(files map[string]string) gitops.Tree {
	out := map[string]gitops.File{}
	for name := range maps.Keys(files) {
		out[name] = gitops.File{Data: []byte(files[name])}
	}
	return gitops.NewTree(out)
}

func TestInTree(t *testing.T) {
	apps, problems := flux.InTree(tree(map[string]string{
		"clusters/north/flux-system/sync.yaml": kustomization("path: ./clusters/north") + source("GitRepository", "{url: 'ssh://git@git.example.test/fleet', ref: {branch: north}}"),
		"clusters/south/flux-system/sync.yaml": source("GitRepository", "{url: 'ssh://git@git.example.test/fleet', ref: {branch: south}}"),
		"clusters/south/apps.yaml":             "# first\n---\n---\n" + kustomization("path: ./apps"),
		"elsewhere/other.yaml":                 strings.Replace(kustomization(), "name: fleet", "name: unknown", 1),
		"template/broken.yaml":                 "{{ if }}\nkind: kustomize.toolkit.fluxcd.io\n",
		"overlay/kustomization.yaml":           "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [x]\n",
		"readme.md":                            "kustomize.toolkit.fluxcd.io",
	}))
	var got []string
	for _, a := range apps {
		got = append(got, strings.Join([]string{a.Render.File, string(rune('0' + a.Render.Document)), a.Source.Path, a.Source.Branch, a.Source.Repo}, " "))
	}
	want := []string{
		"clusters/north/flux-system/sync.yaml 0 clusters/north north ssh://git@git.example.test/fleet",
		"clusters/south/apps.yaml 1 apps south ssh://git@git.example.test/fleet",
		"elsewhere/other.yaml 0 .  ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(problems) != 1 || problems[0].Kind != gitops.Syntax || problems[0].File != "template/broken.yaml" {
		t.Errorf("problems: %v", problems)
	}
}
