package repo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"holdfast/gitops"
)

// remote is where a repository is and how to reach it.
type remote struct {
	endpoint transport.Endpoint // without credentials
	client   transport.Transport
	auth     transport.AuthMethod
	name     string // for people, without credentials
	local    bool
	ssh      bool
}

func newRemote(raw string, auth Auth) (remote, error) {
	if raw == "" {
		return remote{}, errors.New("open repository: no URL given")
	}
	endpoint, err := transport.NewEndpoint(raw)
	if err != nil {
		// The parser's message quotes the URL, which may hold a password.
		return remote{}, fmt.Errorf("open repository %s: not a URL or path", gitops.WithoutCredentials(raw))
	}
	if auth.Username == "" && auth.Password == "" && auth.SSHKey == nil {
		auth.Username, auth.Password = endpoint.User, endpoint.Password
	}
	user := endpoint.User
	endpoint.User, endpoint.Password = "", ""
	out := remote{endpoint: *endpoint, name: endpoint.String()}
	switch strings.ToLower(endpoint.Protocol) {
	case "file":
		out.name, out.local = endpoint.Path, true
		if endpoint.Host != "" && endpoint.Host != "localhost" {
			return remote{}, fmt.Errorf("open repository file://%s%s: a file URL has three slashes and an absolute path", endpoint.Host, endpoint.Path)
		}
		out.client = file.DefaultClient
		err = lookLocally(endpoint.Path)
	case "http", "https":
		out.client = githttp.NewClient(&http.Client{})
		if auth.Password != "" || auth.Username != "" {
			out.auth = &githttp.BasicAuth{Username: cmp.Or(auth.Username, "x-access-token"), Password: auth.Password}
		}
	case "ssh":
		out.ssh, out.client = true, gitssh.NewClient(nil)
		out.auth, err = sshAuth(*endpoint, cmp.Or(user, "git"), auth)
	default:
		err = fmt.Errorf("scheme %q is not supported: use a path, file, http, https or ssh", endpoint.Protocol)
	}
	if err != nil {
		return remote{}, fmt.Errorf("open repository %s: %w", out.name, err)
	}
	return out, nil
}

func lookLocally(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: there is no such folder", ErrNotFound)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%w: it is a file; name the folder of the repository", ErrNotRepository)
	}
	return nil
}

// sshAuth demands the server's key: an unknown server is never trusted on first use.
func sshAuth(endpoint transport.Endpoint, user string, auth Auth) (transport.AuthMethod, error) {
	if len(auth.SSHKey) == 0 {
		return nil, fmt.Errorf("%w: ssh needs a private key", ErrDenied)
	}
	if len(auth.KnownHosts) == 0 {
		return nil, fmt.Errorf("%w: ssh needs the server's host keys (the output of ssh-keyscan, checked by a person)", ErrDenied)
	}
	keys, err := gitssh.NewPublicKeys(user, auth.SSHKey, auth.Password)
	if err != nil {
		return nil, fmt.Errorf("%w: the SSH key is not readable, or its passphrase is missing or wrong", ErrDenied)
	}
	// The parser of known_hosts reads files only.
	dir, err := os.MkdirTemp("", "holdfast-known-hosts-")
	if err != nil {
		return nil, fmt.Errorf("known hosts: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(path, auth.KnownHosts, 0o600); err != nil {
		return nil, fmt.Errorf("known hosts: %w", err)
	}
	hosts, err := gitssh.NewKnownHostsDb(path)
	if err != nil {
		return nil, fmt.Errorf("known hosts: %w", errors.Unwrap(err))
	}
	keys.HostKeyCallback = hosts.HostKeyCallback()
	// Without this the server may offer a key of a kind that known_hosts does not list, and be refused.
	keys.HostKeyAlgorithms = hosts.HostKeyAlgorithms(fmt.Sprintf("%s:%d", endpoint.Host, cmp.Or(endpoint.Port, 22)))
	return keys, nil
}

// explain turns a transport's error into one that says what to do.
func (r remote) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no complete answer within the time limit: %w", context.DeadlineExceeded)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, transport.ErrAuthenticationRequired):
		if r.auth == nil {
			return fmt.Errorf("%w: it asks for credentials; configure a user name and token", ErrDenied)
		}
		return fmt.Errorf("%w: the credentials are not accepted; check that the token is valid", ErrDenied)
	case errors.Is(err, transport.ErrAuthorizationFailed):
		return fmt.Errorf("%w: the credentials lack the right to this repository", ErrDenied)
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return ErrEmpty
	case errors.Is(err, transport.ErrRepositoryNotFound) && r.local:
		return fmt.Errorf("%w: run git init there, or scan it as a plain folder", ErrNotRepository)
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return fmt.Errorf("%w: check the URL, and that the credentials may see it", ErrNotFound)
	}
	var other *packp.ErrUnexpectedData
	if errors.As(err, &other) && bytes.Contains(other.Data, []byte("object-format=sha256")) {
		return errors.New("its objects are named by SHA-256, which is not supported")
	}
	if other != nil || errors.Is(err, pktline.ErrInvalidPktLen) {
		// The data is the server's, often a page of HTML: not for a message.
		return errors.New("the answer is not Git's protocol: check the URL")
	}
	var host *knownhosts.KeyError
	switch {
	case errors.As(err, &host) && len(host.Want) > 0:
		return fmt.Errorf("%w: the server's key is not the one in the known hosts: somebody may sit in between, or the key was changed", ErrDenied)
	case errors.As(err, &host):
		return fmt.Errorf("%w: the server is not among the known hosts: check its key and add it", ErrDenied)
	case r.ssh && strings.Contains(err.Error(), "unable to authenticate"):
		return fmt.Errorf("%w: the server does not accept the SSH key", ErrDenied)
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return fmt.Errorf("it cannot be reached; check the URL and the network: %w", network)
	}
	return err
}
