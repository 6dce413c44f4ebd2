package config

import (
	"net/url"
	"strings"

	"holdfast/gitops/charts"
)

// ChartAuth is how a chart repository is read.
type ChartAuth struct {
	Username string `json:"username,omitempty"`
	// PasswordFile is a file with the password or token, PasswordEnv an environment variable that holds it.
	PasswordFile string `json:"passwordFile,omitempty"`
	PasswordEnv  string `json:"passwordEnv,omitempty"`
}

// Options gives how charts are fetched from the repository, its secret read.
func (r ChartRepository) Options() (charts.Options, error) {
	password, err := secret("auth.password", r.Auth.PasswordFile, r.Auth.PasswordEnv)
	return charts.Options{
		Username: r.Auth.Username, Password: strings.TrimRight(string(password), "\r\n"),
		Hosts: r.Hosts, PlainHTTP: r.PlainHTTP,
	}, err
}

func (k *checker) chartRepositories(all []ChartRepository) {
	for i, r := range all {
		u, err := url.Parse(r.URL)
		switch {
		case err != nil || u.Host == "":
			k.fail(r.line, "chartRepositories: url: want a URL such as https://charts.example.com or oci://registry.example.com/charts")
		case u.User != nil:
			k.fail(r.line, "chartRepositories: url: holds a user or password; use auth with username and passwordFile or passwordEnv")
		case u.Scheme == "http" && !r.PlainHTTP:
			k.fail(r.line, "chartRepositories: url: http needs plainHTTP: true")
		case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci":
			k.fail(r.line, "chartRepositories: url: scheme %q: want https or oci", u.Scheme)
		}
		for _, earlier := range all[:i] {
			if strings.TrimSuffix(earlier.URL, "/") == strings.TrimSuffix(r.URL, "/") {
				k.fail(r.line, "chartRepositories: url repeats; it is already on line %d", earlier.line)
			}
		}
		for _, host := range r.Hosts {
			if host == "" || strings.ContainsAny(host, "/*? ") {
				k.fail(r.line, "chartRepositories: hosts: %q: want a host, with a port where it has one", host)
			}
		}
		k.oneOf(r.line, "chartRepositories: auth", "passwordFile", r.Auth.PasswordFile, "passwordEnv", r.Auth.PasswordEnv)
		k.variable(r.line, "chartRepositories: auth: passwordEnv", r.Auth.PasswordEnv)
		if r.Auth.Username != "" && r.Auth.PasswordFile == "" && r.Auth.PasswordEnv == "" {
			k.fail(r.line, "chartRepositories: auth: username without passwordFile or passwordEnv")
		}
	}
}
