package main

import (
	"cmp"
	"time"

	"holdfast/bot/publish"
	"holdfast/cmd/holdfast/config"
)

// budgets are what may be created on the forges of a configuration. Repositories whose forges have one account share
// one, since forges count by accounts.
type budgets struct {
	config    *config.Config
	byAccount map[string]*publish.Budget
}

func newBudgets(now func() time.Time, c *config.Config) *budgets {
	b := &budgets{config: c, byAccount: map[string]*publish.Budget{}}
	claimants := map[string]int{}
	for _, r := range c.Repositories {
		claimants[accountOf(r.Forge)]++
	}
	for _, r := range c.Repositories {
		account := accountOf(r.Forge)
		if limits := limitsOf(r.Forge); len(limits) > 0 && b.byAccount[account] == nil {
			b.byAccount[account] = publish.NewBudget(now, claimants[account] > 1, limits...)
		}
	}
	return b
}

// of gives the budget of a repository; nil where its forge has none.
func (b *budgets) of(repository string) *publish.Budget {
	if r := b.config.Repository(repository); r != nil {
		return b.byAccount[accountOf(r.Forge)]
	}
	return nil
}

// limitsOf gives the limits that are configured, else those that the forge is known to have.
func limitsOf(f *config.Forge) []publish.Limit {
	if f == nil {
		return nil
	}
	if l := f.Limits; l != nil {
		var out []publish.Limit
		if l.Minute > 0 {
			out = append(out, publish.Limit{Most: l.Minute, Within: time.Minute})
		}
		if l.Hour > 0 {
			out = append(out, publish.Limit{Most: l.Hour, Within: time.Hour})
		}
		return out
	}
	if f.Type == "github" {
		return publish.GitHubLimits()
	}
	return nil
}

// accountOf names the account that a forge is written to with, by where its secret comes from.
func accountOf(f *config.Forge) string {
	if f == nil {
		return ""
	}
	secret := cmp.Or(f.TokenFile, f.TokenEnv)
	if f.App != nil {
		secret = cmp.Or(f.App.PrivateKeyFile, f.App.PrivateKeyEnv)
	}
	return f.Type + "\x00" + f.BaseURL + "\x00" + secret
}
