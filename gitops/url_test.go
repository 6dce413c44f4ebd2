package gitops

import "testing"

func TestWithoutCredentials(t *testing.T) {
	for url, want := range map[string]string{
		"https://git.example.test/shop.git":                  "https://git.example.test/shop.git",
		"https://token@git.example.test/shop.git":            "https://git.example.test/shop.git",
		"https://bot:s3@cret@git.example.test:8443/a?b=c@d":  "https://git.example.test:8443/a",
		"https://bot:p%40ss@git.example.test":                "https://git.example.test",
		"ssh://git@git.example.test:22/shop.git":             "ssh://git@git.example.test:22/shop.git",
		"ssh://git:hunter2@git.example.test/shop.git":        "ssh://git@git.example.test/shop.git",
		"git@git.example.test:shop.git":                      "git@git.example.test:shop.git",
		"/srv/git/a@b.git":                                   "/srv/git/a@b.git",
		"https://git.example.test/people/alice@example/.git": "https://git.example.test/people/alice@example/.git",
		"https://git.example.test/shop.git?token=hunter2#x":  "https://git.example.test/shop.git",
		"https://git.example.test?token=hunter2":             "https://git.example.test",
		"":                                                   "",
	} {
		if got := WithoutCredentials(url); got != want {
			t.Errorf("%q gives %q, want %q", url, got, want)
		}
	}
}

func TestIsLinkLocal(t *testing.T) {
	for url, want := range map[string]bool{
		"http://169.254.169.254/latest": true, "https://[fe80::1]/x": true, "https://[::ffff:169.254.169.254]/x": true, "git@169.254.0.1:x": true,
		"http://127.0.0.1:3000/x": false, "https://git.example.test/169.254.169.254": false, "https://10.0.0.1/x": false, "/srv/git": false, "": false,
	} {
		if IsLinkLocal(url) != want {
			t.Errorf("%q: want %v", url, want)
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
