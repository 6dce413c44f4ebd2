package config

import (
	"net/url"
	"strings"
)

// Forge is where pull requests and issues are opened.
type Forge struct {
	// Type is github, gitlab, gitea (Forgejo too), or folder: a directory of Markdown files.
	Type string `json:"type" jsonschema:"enum=github,enum=gitlab,enum=gitea,enum=folder"`
	// BaseURL is the server, as https://git.example.com, with the path that it is served under. github and
	// gitlab may leave it out for github.com and gitlab.com.
	BaseURL string `json:"baseURL,omitempty"`
	// Owner and Name are the repository's; on GitLab, the owner is its group with all groups above, as
	// platform/clusters. Default: from the repository's URL.
	Owner string `json:"owner,omitempty"`
	Name  string `json:"name,omitempty"`
	// TokenFile is a file with a token. Either a token or an app is needed with github, a token with gitlab
	// and gitea.
	TokenFile string `json:"tokenFile,omitempty"`
	// TokenEnv is an environment variable that holds it.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// TokenKind says what a GitLab token is: access (personal, group or project), oauth or job. Default: access.
	TokenKind string `json:"tokenKind,omitempty" jsonschema:"enum=access,enum=oauth,enum=job"`
	// App is a GitHub App.
	App *App `json:"app,omitempty"`
	// Path is the directory of a folder forge.
	Path string `json:"path,omitempty"`
	// Limits bound what is created there: pull requests, issues, comments and their changes. Default with github: what
	// GitHub allows, 80 a minute and 500 an hour; with others none.
	Limits *ForgeLimits `json:"limits,omitempty"`
}

// ForgeLimits bound what is created on a forge with one account. 0 is no bound.
type ForgeLimits struct {
	Minute int `json:"minute,omitempty" jsonschema:"minimum=0"`
	Hour   int `json:"hour,omitempty" jsonschema:"minimum=0"`
}

// App is a GitHub App installation.
type App struct {
	ID             int64 `json:"id"`
	InstallationID int64 `json:"installationID"`
	// PrivateKeyFile is a file with the App's private key (PEM).
	PrivateKeyFile string `json:"privateKeyFile,omitempty"`
	// PrivateKeyEnv is an environment variable that holds it.
	PrivateKeyEnv string `json:"privateKeyEnv,omitempty"`
}

// Token reads the token; empty where none is configured.
func (f Forge) Token() (string, error) {
	token, err := secret("forge.token", f.TokenFile, f.TokenEnv)
	return strings.TrimSpace(string(token)), err
}

// PrivateKey reads the App's key.
func (a App) PrivateKey() ([]byte, error) {
	return secret("forge.app.privateKey", a.PrivateKeyFile, a.PrivateKeyEnv)
}

func (k *checker) forge(r *Repository) {
	f := r.Forge
	if l := f.Limits; l != nil && (l.Minute < 0 || l.Hour < 0) {
		k.fail(r.line, "repositories: forge: limits: want numbers of 0 or more, 0 for no bound")
	}
	if f.Type == "folder" {
		if f.Path == "" {
			k.fail(r.line, "repositories: forge: a folder forge needs path, the directory that it writes to")
		}
		if f.BaseURL != "" || f.Owner != "" || f.Name != "" || f.TokenFile != "" || f.TokenEnv != "" || f.TokenKind != "" || f.App != nil {
			k.fail(r.line, "repositories: forge: a folder forge has path alone; baseURL, owner, name, token, tokenKind and app belong to others")
		}
		return
	}
	if f.Path != "" {
		k.fail(r.line, "repositories: forge: path belongs to a folder forge; the type is %s", f.Type)
	}
	if f.TokenKind != "" && f.Type != "gitlab" {
		k.fail(r.line, "repositories: forge: tokenKind belongs to gitlab; the type is %s", f.Type)
	}
	k.baseURL(r)
	k.oneOf(r.line, "repositories: forge", "tokenFile", f.TokenFile, "tokenEnv", f.TokenEnv)
	k.variable(r.line, "repositories: forge: tokenEnv", f.TokenEnv)
	k.credentials(r)
	f.Owner, f.Name = ownerAndName(*f, r.URL)
	if f.Owner == "" || f.Name == "" {
		k.fail(r.line, "repositories: forge: owner and name cannot be told from the url; write them")
	}
	if f.Type != "gitlab" && strings.Contains(f.Owner, "/") {
		k.fail(r.line, "repositories: forge: owner %q: only gitlab has groups in groups", f.Owner)
	}
}

// baseURL also refuses to guess the server: a token that is meant for one must not go to another.
func (k *checker) baseURL(r *Repository) {
	f := r.Forge
	if f.BaseURL != "" {
		if u, err := url.Parse(f.BaseURL); err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http") || u.User != nil {
			k.fail(r.line, "repositories: forge: baseURL: want a URL such as https://git.example.com, without a user")
		}
		return
	}
	switch {
	case f.Type == "gitea":
		k.fail(r.line, "repositories: forge: gitea needs baseURL, the server's URL")
	case f.Type == "gitlab" && hostOf(r.URL) != "gitlab.com":
		k.fail(r.line, "repositories: forge: gitlab needs baseURL, the server's URL, where the repository is not on gitlab.com")
	}
}

// hostOf gives the host of a repository's URL, also of one as git@host:path.
func hostOf(repository string) string {
	if u, err := url.Parse(repository); err == nil && u.Host != "" {
		return u.Hostname()
	}
	host, _, _ := strings.Cut(repository, ":")
	return host[strings.LastIndex(host, "@")+1:]
}

func (k *checker) credentials(r *Repository) {
	f := r.Forge
	token := f.TokenFile != "" || f.TokenEnv != ""
	if f.Type != "github" {
		if !token || f.App != nil {
			k.fail(r.line, "repositories: forge: %s needs a token (tokenFile or tokenEnv), and has no apps", f.Type)
		}
		return
	}
	if token == (f.App != nil) {
		k.fail(r.line, "repositories: forge: github needs either a token (tokenFile or tokenEnv) or an app")
	}
	if f.App != nil {
		k.oneOf(r.line, "repositories: forge: app", "privateKeyFile", f.App.PrivateKeyFile, "privateKeyEnv", f.App.PrivateKeyEnv)
		k.variable(r.line, "repositories: forge: app: privateKeyEnv", f.App.PrivateKeyEnv)
		if f.App.PrivateKeyFile == "" && f.App.PrivateKeyEnv == "" {
			k.fail(r.line, "repositories: forge: app: needs privateKeyFile or privateKeyEnv")
		}
		if f.App.ID <= 0 || f.App.InstallationID <= 0 {
			k.fail(r.line, "repositories: forge: app: id and installationID are the positive numbers that GitHub shows")
		}
	}
}

// ownerAndName fills in what is not written from the URL: its last two parts, and on GitLab all of its path below that of
// the server.
func ownerAndName(f Forge, repository string) (owner, name string) {
	if f.Owner != "" || f.Name != "" {
		return f.Owner, f.Name
	}
	path := strings.TrimSuffix(strings.TrimRight(repository, "/"), ".git")
	if f.Type == "gitlab" {
		path = belowServer(f, path)
		at := strings.LastIndex(path, "/")
		if at < 0 {
			return "", ""
		}
		return path[:at], path[at+1:]
	}
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == ':' })
	if len(parts) < 3 {
		return "", ""
	}
	return parts[len(parts)-2], parts[len(parts)-1]
}

// belowServer takes the server and the path that it is served under from a repository's URL.
func belowServer(f Forge, repository string) string {
	u, err := url.Parse(repository)
	if err != nil || u.Host == "" { // git@host:path
		_, path, _ := strings.Cut(repository, ":")
		return strings.Trim(path, "/")
	}
	path := strings.Trim(u.Path, "/")
	if base, err := url.Parse(f.BaseURL); err == nil && strings.HasPrefix(u.Scheme, "http") {
		path = strings.TrimPrefix(path, strings.Trim(base.Path, "/")+"/")
	}
	return path
}
