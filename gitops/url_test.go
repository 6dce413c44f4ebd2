package gitops

import "testing"

func TestWithoutCredentials(t *testing.T) {
	for url, want := range map[string]string{
		"https://git.example.test/shop.git":                  "https://git.example.test/shop.git",
		"https://token@git.example.test/shop.git":            "https://git.example.test/shop.git",
		"https://bot:s3@cret@git.example.test:8443/a?b=c@d":  "https://git.example.test:8443/a?b=c@d",
		"https://bot:p%40ss@git.example.test":                "https://git.example.test",
		"ssh://git@git.example.test:22/shop.git":             "ssh://git@git.example.test:22/shop.git",
		"ssh://git:hunter2@git.example.test/shop.git":        "ssh://git@git.example.test/shop.git",
		"git@git.example.test:shop.git":                      "git@git.example.test:shop.git",
		"/srv/git/a@b.git":                                   "/srv/git/a@b.git",
		"https://git.example.test/people/alice@example/.git": "https://git.example.test/people/alice@example/.git",
		"": "",
	} {
		if got := WithoutCredentials(url); got != want {
			t.Errorf("%q gives %q, want %q", url, got, want)
		}
	}
}

func TestIsRemote(t *testing.T) {
	for url, want := range map[string]bool{
		"https://git.example.test/shop.git": true, "git@git.example.test:shop.git": true, "ssh://git@git.example.test/x": true,
		"file:///etc": false, "FILE:///etc": false, "/etc": false, "../shop": false, "shop": false, "": false, "./a:b/c": false,
	} {
		if IsRemote(url) != want {
			t.Errorf("%q: want %v", url, want)
		}
	}
}
