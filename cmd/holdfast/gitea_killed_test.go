package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/bot"
	"holdfast/bot/forge/gitea"
	"holdfast/deploy/lab"
)

// TestServeKilledAtEachEffectOnGitea does the same on a real forge, whose every effect is a request.
func TestServeKilledAtEachEffectOnGitea(t *testing.T) {
	g := lab.StartGitea(t)
	g.Organization(t, "shop")
	token := g.Token(t, lab.Bot, "read:user", "write:repository", "write:issue")
	shops := make(chan int, 3)
	for n := range 3 {
		shops <- n
	}
	killedAtEachEffect(t, func(t *testing.T, database string) *smallShop {
		t.Helper()
		return newSmallShopOnGitea(t, database, g, fmt.Sprintf("fleet%d", <-shops), token)
	})
}

// newSmallShopOnGitea is a small shop whose repository and forge are Gitea's.
func newSmallShopOnGitea(t *testing.T, database string, g *lab.Gitea, name, token string) *smallShop {
	t.Helper()
	s := newSmallShop(t, database)
	r := g.Create(t, "shop", name, smallShopFiles())
	for _, who := range []lab.User{lab.Bot, lab.Alice, lab.Bob} {
		r.Allow(t, who, "write")
	}
	r.Protect(t, "main", lab.GiteaProtection{Approvals: 1})
	var err error
	if s.forge, err = gitea.New(gitea.Options{BaseURL: g.URL(), Owner: r.Owner, Repo: r.Name, Token: token}); err != nil {
		t.Fatal(err)
	}
	s.url = r.URL()
	s.repository = func() string {
		dir := t.TempDir()
		git(t, dir, "clone", "--quiet", "--mirror", strings.Replace(s.url, "://", "://drift-bot:"+token+"@", 1), ".")
		return dir
	}
	s.merge = func(thread bot.Thread) {
		r.Approve(t, lab.Alice, thread.Number)
		if err := r.Merge(t, lab.Bob, thread.Number); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(s.dir, "holdfast.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(fleetURL, s.url, "forge: {type: folder, path: forge}",
		"auth: {username: drift-bot, passwordEnv: GITEA_TOKEN}\n    forge: {type: gitea, baseURL: \""+g.URL()+"\", tokenEnv: GITEA_TOKEN}").Replace(string(text))
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = []string{"--live", filepath.Join(s.dir, "live.yaml")}
	s.env = append(s.env, "GITEA_TOKEN="+token)
	s.live("30s", "fast")
	return s
}
