package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops/repo"
)

const head = "apiVersion: holdfast/v1\nkind: Config\n"

func TestTheExampleDecodesAndIsWhatItSays(t *testing.T) {
	c, err := Load("../../../deploy/holdfast.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if c.Tier != detect.Production || c.Clusters[1].Tier != detect.Dev || c.Clusters[0].Secrets != "metadata" {
		t.Errorf("tiers and clusters: %+v", c.Clusters)
	}
	if got := c.Clusters[0].Kubeconfig; got != filepath.Join("..", "..", "..", "deploy", "north.kubeconfig") {
		t.Errorf("a relative file is taken from the folder of the configuration; got %s", got)
	}
	shop := c.Repository("git@github.com:example/shop")
	if shop == nil || shop.Forge.Owner != "example" || shop.Forge.Name != "shop" || shop.Forge.App.ID != 12345 {
		t.Fatalf("the repository is found by another spelling, with owner and name from its URL: %+v", shop)
	}
	if north := c.Repository("git@git.example.com:gitlab/platform/clusters/north.git"); north == nil || north.Forge.Owner != "platform/clusters" || north.Forge.Name != "north" {
		t.Errorf("the project of a GitLab that is served under a path has all groups, and not that path: %+v", north)
	}
	if c.Repository("https://github.com/example/other") != nil {
		t.Error("a repository that is not configured is found")
	}
	if ok, why := c.Bindings().Allows("https://github.com/example/shop", "north", "flux-system"); !ok {
		t.Error(why)
	}
	if ok, _ := c.Bindings().Allows("https://github.com/example/shop", "lab", "flux-system"); ok {
		t.Error("a cluster that is not bound is allowed")
	}
	want := policy.Floor{
		Least: policy.Least{Medium: detect.Codify, High: detect.Revert, Critical: detect.AsIssue},
		Exceptions: policy.ExceptionFloor{
			Longest: policy.Duration(90 * 24 * time.Hour), Owners: []string{"alice", "team-*"}, UpTo: detect.Medium,
		},
		Codify: policy.CodifyFloor{Kinds: []string{}, Files: []string{}},
	}
	if diff := cmp.Diff(want, c.Floor); diff != "" {
		t.Error(diff)
	}
	options := c.Limits.Repository.Apply(repo.Options{URL: "x"})
	if options.URL != "x" || options.MaxBytes != 256<<20 || options.Timeout != 2*time.Minute {
		t.Errorf("limits: %+v", options)
	}
	if limits := c.Limits.Render.Limits(); limits.Objects != 20000 || limits.Timeout != 30*time.Second {
		t.Errorf("limits: %+v", limits)
	}
}

func TestAMinimalConfigurationDecodes(t *testing.T) {
	c, err := Decode("holdfast.yaml", []byte(head))
	if err != nil {
		t.Fatal(err)
	}
	if c.Tier != "" || c.Signing != nil || c.Repository("https://x.test/a/b") != nil || len(c.Bindings()) != 0 {
		t.Errorf("%+v", c)
	}
}

func TestDecodeRefuses(t *testing.T) {
	repository := "repositories:\n- url: https://github.com/example/shop\n  clusters: ['*']\n  namespaces: ['*']\n"
	github := repository + "  forge:\n    type: github\n"
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key":                        {"cluster: []", `holdfast.yaml:3: unknown key "cluster"; allowed are apiVersion, kind, tier, standards, clusters`},
		"a repeated key":                        {"tier: dev\ntier: dr", `holdfast.yaml:4: key "tier" repeats; it is already on line 3`},
		"a tier that does not exist":            {"tier: prod", `holdfast.yaml:3: tier: "prod" is not allowed; want dev, staging, production, regulated or dr`},
		"a cluster without a name":              {"clusters:\n- {context: a}", `holdfast.yaml:4: key "name" is missing in clusters`},
		"a cluster twice":                       {"clusters:\n- {name: a}\n- {name: a}", `holdfast.yaml:5: clusters: name "a" repeats; it is already on line 4`},
		"another mode for Secrets":              {"clusters:\n- {name: a, secrets: all}", `holdfast.yaml:4: secrets: "all" is not allowed; want none, metadata or values`},
		"a repository without bindings":         {"repositories:\n- url: https://github.com/example/shop", `key "clusters" is missing in repositories`},
		"a repository twice, spelled otherwise": {repository + "- url: git@github.com:example/shop.git\n  clusters: []\n  namespaces: []", `holdfast.yaml:7: repositories: url repeats; the same repository is already on line 4`},
		"a binding to no cluster":               {"clusters: [{name: north}]\nrepositories:\n- {url: https://x.test/a/b, clusters: [nroth], namespaces: [a]}", `holdfast.yaml:5: repositories: clusters: "nroth" is not the name of a cluster`},
		"a policy outside":                      {repository + "  policy: ../policy.yaml", `policy: "../policy.yaml": want a path inside the repository`},
		"a password in the URL":                 {"repositories:\n- {url: 'https://alice:hunter2@x.test/a/b', clusters: [a], namespaces: [a]}", `holdfast.yaml:4: repositories: url: holds a user or password; use auth`},
		"a token in the URL":                    {"repositories:\n- {url: 'https://hunter2@x.test/a/b', clusters: [a], namespaces: [a]}", `url: holds a user or password`},
		"an inline password":                    {repository + "  auth: {password: hunter2}", `holdfast.yaml:7: key "password" in auth: a secret is never written here; use passwordFile or passwordEnv`},
		"an inline token":                       {github + "    token: hunter2", `holdfast.yaml:9: key "token" in forge: a secret is never written here; use tokenFile or tokenEnv`},
		"an inline key":                         {"signing: {key: hunter2, name: a, email: a@x.test}", `key "key" in signing: a secret is never written here; use keyFile or keyEnv`},
		"a secret as the name of a variable":    {repository + "  auth: {passwordEnv: hunter2-really}", `auth: passwordEnv: is not the name of an environment variable`},
		"both a file and a variable":            {repository + "  auth: {passwordEnv: A, passwordFile: b}", `auth: has passwordFile and passwordEnv; want one of them`},
		"an SSH key without hosts":              {repository + "  auth: {sshKeyFile: a}", `an SSH key needs knownHostsFile`},
		"a user without a password":             {repository + "  auth: {username: alice}", `auth: username without passwordFile or passwordEnv`},
		"github without credentials":            {github, `forge: github needs either a token (tokenFile or tokenEnv) or an app`},
		"github with both":                      {github + "    tokenEnv: A\n    app: {id: 1, installationID: 2, privateKeyFile: a}", `forge: github needs either a token`},
		"an app without a key":                  {github + "    app: {id: 1, installationID: 2}", `app: needs privateKeyFile or privateKeyEnv`},
		"an app without a number":               {github + "    app: {id: 0, installationID: 2, privateKeyFile: a}", `id and installationID are the positive numbers`},
		"an app's number as a text":             {github + "    app: {id: '1', installationID: 2, privateKeyFile: a}", `id: want a whole number, not a text`},
		"a folder without a path":               {repository + "  forge: {type: folder}", `a folder forge needs path`},
		"a folder with a token":                 {repository + "  forge: {type: folder, path: x, tokenEnv: A}", `a folder forge has path alone`},
		"another forge":                         {repository + "  forge: {type: cvs}", `type: "cvs" is not allowed; want github, gitlab, gitea or folder`},
		"gitlab without a token":                {repository + "  forge: {type: gitlab, baseURL: 'https://git.example.com'}", `gitlab needs a token`},
		"gitlab with an app":                    {repository + "  forge: {type: gitlab, baseURL: 'https://git.example.com', tokenEnv: A, app: {id: 1, installationID: 2, privateKeyFile: a}}", `has no apps`},
		"a gitlab that would be guessed":        {repository + "  forge: {type: gitlab, tokenEnv: A}", `gitlab needs baseURL`},
		"a gitea that would be guessed":         {repository + "  forge: {type: gitea, tokenEnv: A}", `gitea needs baseURL`},
		"a kind of token for github":            {github + "    tokenEnv: A\n    tokenKind: oauth", `tokenKind belongs to gitlab`},
		"groups in groups on github":            {github + "    tokenEnv: A\n    owner: a/b\n    name: c", `only gitlab has groups in groups`},
		"signing without a key":                 {"signing: {name: a, email: a@x.test}", `holdfast.yaml:3: signing: needs keyFile or keyEnv`},
		"a forge that cannot sign":              {github + "    tokenEnv: A\nsigning: {keyFile: k, forge: true, name: a, email: a@x.test}", `signing: forge: GitHub signs what an App writes, and the repository on line`},
		"signing without an address":            {"signing: {keyFile: k, name: a, email: nobody}", `name and email are those of the commits' author`},
		"a floor with a typo":                   {"floor: {least: {critcal: issue}}", `unknown key "critcal" in least; allowed are low, medium, high, critical`},
		"an exception for ever":                 {"floor: {exceptions: {longest: forever}}", `longest: "forever": want a length of time such as 90d`},
		"a size without sense":                  {"limits: {render: {bytes: lots}}", `bytes: "lots": want a size such as`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("holdfast.yaml", []byte(head+c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds the secret: %v", err)
			}
		})
	}
}

func TestSecretsComeFromFilesAndVariables(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "password")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOLDFAST_TEST_TOKEN", "t0ken\n")
	auth, err := Auth{Username: "alice", PasswordFile: file}.Load()
	if err != nil || auth.Username != "alice" || auth.Password != "s3cret" {
		t.Errorf("got %q, %v", auth.Password, err)
	}
	if token, err := (Forge{TokenEnv: "HOLDFAST_TEST_TOKEN"}).Token(); err != nil || token != "t0ken" {
		t.Errorf("got %q, %v", token, err)
	}
	if token, err := (Forge{}).Token(); err != nil || token != "" {
		t.Errorf("without a token: %q, %v", token, err)
	}
	for name, load := range map[string]func() error{
		"auth.passwordFile: open": func() error { _, err := Auth{PasswordFile: filepath.Join(dir, "gone")}.Load(); return err },
		"the environment variable HOLDFAST_TEST_UNSET is not set": func() error {
			_, err := Forge{TokenEnv: "HOLDFAST_TEST_UNSET"}.Token()
			return err
		},
		"signing.key (" + file + ")": func() error { _, err := Signing{KeyFile: file}.Load(); return err },
	} {
		if err := load(); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("want an error about %q without the value, got %v", name, err)
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{"1": 1, "512Ki": 512 << 10, "64Mi": 64 << 20, "2Gi": 2 << 30} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want || s.String() != text {
			t.Errorf("%s: got %d (%s), %v", text, s, s, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "1MB", "1K", "1iM", "99999999999Gi", "x"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: no error, got %d", text, s)
		}
	}
}

func FuzzDecode(f *testing.F) {
	example, err := os.ReadFile("../../../deploy/holdfast.example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := Decode("fuzz.yaml", data); err == nil {
			c.Bindings()
		}
	})
}

func TestTheProjectOfAGitLabIsToldFromTheURL(t *testing.T) {
	for _, c := range []struct{ url, baseURL, owner, name string }{
		{"https://gitlab.com/platform/clusters/shop.git", "", "platform/clusters", "shop"},
		{"git@gitlab.com:platform/shop.git", "", "platform", "shop"},
		{"ssh://git@git.example.com:2222/platform/clusters/shop.git", "https://git.example.com/gitlab", "platform/clusters", "shop"},
		{"https://git.example.com/gitlab/platform/clusters/shop", "https://git.example.com/gitlab/", "platform/clusters", "shop"},
	} {
		text := "repositories:\n- url: " + c.url + "\n  clusters: ['*']\n  namespaces: ['*']\n  forge: {type: gitlab, tokenEnv: A"
		if c.baseURL != "" {
			text += ", baseURL: " + c.baseURL
		}
		got, err := Decode("holdfast.yaml", []byte(head+text+"}\n"))
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if f := got.Repositories[0].Forge; f.Owner != c.owner || f.Name != c.name {
			t.Errorf("%s is %q and %q, want %q and %q", c.url, f.Owner, f.Name, c.owner, c.name)
		}
	}
}
