package gitops

import (
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// WithoutCredentials gives a repository's URL as it may be printed and compared: what stands before the host is
// dropped, but for the user name of an SSH URL, which is part of the address (ssh://git@host/…), and so are the query
// and the fragment, which no repository needs. A path and the scp form (git@host:path), which hold no password, stay
// as they are.
func WithoutCredentials(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	authority, behind := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, behind = rest[:i], rest[i:]
	}
	if i := strings.IndexAny(behind, "?#"); i >= 0 {
		behind = behind[:i]
	}
	at := strings.LastIndex(authority, "@")
	if at < 0 {
		return scheme + "://" + authority + behind
	}
	user, _, _ := strings.Cut(authority[:at], ":")
	host := authority[at+1:]
	if strings.Contains(strings.ToLower(scheme), "ssh") && user != "" {
		host = user + "@" + host
	}
	return scheme + "://" + host + behind
}

// IsRemote says whether a URL names another machine: it has a scheme other than file, or the scp form
// host:path.
func IsRemote(url string) bool {
	if scheme, _, ok := strings.Cut(url, "://"); ok {
		return !strings.EqualFold(scheme, "file")
	}
	host, _, ok := strings.Cut(url, ":")
	return ok && host != "" && !strings.Contains(host, "/")
}

// IsLinkLocal says whether a URL names a link-local address, where clouds keep their metadata service: nothing that a
// cluster's object may make anybody call.
func IsLinkLocal(raw string) bool {
	u := parseRepository(raw)
	if u == nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.Unmap().IsLinkLocalUnicast()
}

// SameRepository says whether two URLs name one repository: user, password, default port, a final slash
// and .git do not count, nor whether it is reached by https or ssh, in either form of ssh. http is not
// https, and a file is only itself.
func SameRepository(a, b string) bool {
	ca, cb := canonicalURL(a), canonicalURL(b)
	return ca != "" && ca == cb
}

func canonicalURL(raw string) string {
	u := parseRepository(raw)
	if u == nil {
		return ""
	}
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	switch {
	case scheme == "https" && (port == "" || port == "443"), strings.TrimPrefix(scheme, "git+") == "ssh" && (port == "" || port == "22"):
		scheme, port = "https", ""
	case scheme == "http" && port == "80":
		port = ""
	case scheme == "" || scheme == "file":
		return "file:" + path.Clean(u.Path)
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port + "/" +
		strings.TrimSuffix(strings.Trim(path.Clean("/"+u.Path), "/"), ".git")
}

// parseRepository also reads the user@host:path form of ssh.
func parseRepository(raw string) *url.URL {
	if raw == "" {
		return nil
	}
	if host, rest, ok := strings.Cut(raw, ":"); ok && !strings.Contains(host, "/") && !strings.HasPrefix(rest, "//") {
		return &url.URL{Scheme: "ssh", Host: host[strings.LastIndex(host, "@")+1:], Path: "/" + rest}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	return u
}
