package config

import (
	"cmp"
	"strings"

	"holdfast/bot/ledger"
)

// Ledger is where the evidence goes: what was found, decided, proposed and settled, as signed records in a branch.
// Without this section, each repository that is published to, with a signing key and a forge other than a folder,
// keeps its own in the branch holdfast/ledger.
type Ledger struct {
	// Repository is the URL of a repository for the ledger alone. Default: the one that the records are about.
	Repository string `json:"repository,omitempty"`
	// Branch is the ledger's branch. Default: holdfast/ledger.
	Branch string `json:"branch,omitempty"`
	// Auth is for Repository.
	Auth Auth `json:"auth,omitzero"`
	// Off keeps no ledger.
	Off bool `json:"off,omitempty"`

	line int
}

// SetLine keeps where the section stands.
func (l *Ledger) SetLine(line int) { l.line = line }

// LedgerPlace is a repository and branch that records go to.
type LedgerPlace struct {
	URL, Branch string
	Auth        Auth
	// Own says that the repository is for the ledger alone.
	Own bool
}

// LedgerOf gives where records about a repository go; ok is false where none are kept.
func (c *Config) LedgerOf(r Repository) (place LedgerPlace, ok bool) {
	given := c.Ledger
	if given == nil {
		if c.Signing == nil || r.Forge == nil || r.Forge.Type == "folder" {
			return place, false
		}
		given = &Ledger{}
	}
	if given.Off || c.Signing == nil {
		return place, false
	}
	place = LedgerPlace{URL: r.URL, Auth: r.Auth, Branch: cmp.Or(given.Branch, ledger.DefaultBranch)}
	if given.Repository != "" {
		place.URL, place.Auth, place.Own = given.Repository, given.Auth, true
	}
	return place, true
}

// ledger refuses what contradicts itself.
func (k *checker) ledger(c *Config) {
	l := c.Ledger
	if l == nil {
		return
	}
	if l.Off && (l.Repository != "" || l.Branch != "") {
		k.fail(l.line, "ledger: off, and a repository or branch beside it: leave one of them out")
	}
	if !l.Off && c.Signing == nil {
		k.fail(l.line, "ledger: records are signed: set signing")
	}
	if strings.HasPrefix(l.Branch, "refs/") || strings.ContainsAny(l.Branch, " ~^:?*[\\") {
		k.fail(l.line, "ledger: branch: %q: want the name of a branch, such as holdfast/ledger", l.Branch)
	}
	if l.Repository == "" && l.Auth != (Auth{}) {
		k.fail(l.line, "ledger: auth belongs to repository; that of the other repositories stands with them")
	}
	own := Repository{URL: l.Repository, Auth: l.Auth, line: l.line}
	if l.Repository != "" {
		k.repositoryURL(&own)
	}
	k.auth(&own)
}
