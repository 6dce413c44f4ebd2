package config

import (
	"strings"
	"testing"
)

const withLedger = `apiVersion: holdfast/v1
kind: Config
repositories:
  - url: https://git.example.com/shop.git
    clusters: ["*"]
    namespaces: ["*"]
    forge: {FORGE}
LEDGER
`

const signed = "signing: {keyFile: key, name: Holdfast, email: holdfast@example.com}\n"

func TestWhereALedgerIsKept(t *testing.T) {
	const github, folder = "type: github, tokenEnv: TOKEN", "type: folder, path: forge"
	for _, c := range []struct{ name, forge, ledger, want string }{
		{"a forge and a key", github, signed, "https://git.example.com/shop.git holdfast/ledger"},
		{"a forge without a key", github, "", ""},
		{"a folder", folder, signed, ""},
		{"a folder, asked for", folder, signed + "ledger: {branch: evidence}", "https://git.example.com/shop.git evidence"},
		{"switched off", github, signed + "ledger: {off: true}", ""},
		{"a repository of its own", github, signed + "ledger: {repository: https://git.example.com/ledger.git}", "https://git.example.com/ledger.git holdfast/ledger"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.NewReplacer("FORGE", c.forge, "LEDGER", c.ledger).Replace(withLedger)
			config, err := Decode("holdfast.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if place, ok := config.LedgerOf(config.Repositories[0]); ok {
				got = place.URL + " " + place.Branch
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	for ledger, want := range map[string]string{
		"ledger: {branch: x}":                                                                       "records are signed",
		signed + "ledger: {off: true, branch: x}":                                                   "leave one of them out",
		signed + "ledger: {branch: refs/heads/x}":                                                   "want the name of a branch",
		signed + "ledger: {auth: {passwordEnv: P}}":                                                 "auth belongs to repository",
		signed + "ledger: {repository: \"https://a:b@git.example.com/l.git\"}":                      "holds a user or password",
		signed + "ledger: {repository: \"ssh://git@git.example.com/l.git\", auth: {sshKeyFile: k}}": "knownHostsFile",
		signed + "ledger: {where: x}":                                                               "where",
	} {
		text := strings.NewReplacer("FORGE", github, "LEDGER", ledger).Replace(withLedger)
		if _, err := Decode("holdfast.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "a:b") {
			t.Errorf("%s: error %v, want it to say %q", ledger, err, want)
		}
	}
}
