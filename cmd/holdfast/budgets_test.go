package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot/publish"
	"holdfast/cmd/holdfast/config"
)

func TestRepositoriesOfOneAccountShareABudget(t *testing.T) {
	app := func(key string) *config.Forge {
		return &config.Forge{Type: "github", App: &config.App{PrivateKeyFile: key}}
	}
	limited := &config.Forge{Type: "gitea", BaseURL: "https://git.example.com", TokenEnv: "T", Limits: &config.ForgeLimits{Hour: 10}}
	c := &config.Config{Repositories: []config.Repository{
		{URL: "https://github.com/example/a", Forge: app("one")}, {URL: "https://github.com/example/b", Forge: app("one")},
		{URL: "https://github.com/example/c", Forge: app("two")},
		{URL: "https://git.example.com/x/d", Forge: limited},
		{URL: "https://git.example.com/x/e", Forge: &config.Forge{Type: "gitea", BaseURL: "https://git.example.com", TokenEnv: "U"}},
		{URL: "https://git.example.com/x/f"},
	}}
	b := newBudgets(time.Now, c)
	of := func(name string) *publish.Budget { return b.of("https://" + name) }
	if of("github.com/example/a") == nil || of("github.com/example/a") != of("github.com/example/b.git") {
		t.Error("two repositories with the same App have budgets of their own")
	}
	if of("github.com/example/c") == nil || of("github.com/example/c") == of("github.com/example/a") {
		t.Error("another App has no budget of its own")
	}
	if of("git.example.com/x/d") == nil {
		t.Error("limits of the configuration give no budget")
	}
	for _, none := range []string{"git.example.com/x/e", "git.example.com/x/f", "git.example.com/x/unknown"} {
		if of(none) != nil {
			t.Errorf("%s has a budget, though nobody named a limit", none)
		}
	}
	if diff := cmp.Diff([]publish.Limit{{Most: 10, Within: time.Hour}}, limitsOf(limited)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]publish.Limit{{Most: 80, Within: time.Minute}, {Most: 500, Within: time.Hour}}, limitsOf(app("one"))); diff != "" {
		t.Error(diff)
	}
}
