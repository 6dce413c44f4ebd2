package repo_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/repotest"
)

func TestARepositoryOverSSH(t *testing.T) {
	bare := repotest.Bare(t, map[string]string{"a": "1"})
	user, userPublic := repotest.SSHKey(t, "ed25519", "")
	locked, _ := repotest.SSHKey(t, "ed25519", "correct horse")
	ecdsa, ecdsaPublic := repotest.SSHKey(t, "ecdsa", "")
	ed25519, ed25519Public := repotest.SSHKey(t, "ed25519", "")
	address := serveSSH(t, userPublic, ecdsa, ed25519)
	host, port, _ := net.SplitHostPort(address)
	url := "ssh://git@" + address + bare
	known := func(public string) []byte { return []byte("[" + host + "]:" + port + " " + public + "\n") }

	// The server has two keys and only one is known: the client must ask for that kind.
	for _, public := range []string{ecdsaPublic, ed25519Public} {
		r := open(t, repo.Options{URL: url, Auth: repo.Auth{SSHKey: user, KnownHosts: known(public)}})
		made := commit(t, r, repo.Commit{Edits: []gitops.Edit{{Path: "b", After: []byte(public)}}})
		branch := strings.Fields(public)[0]
		push(t, r, branch, made, "")
		if got := repotest.Git(t, bare, "rev-parse", branch); got != made {
			t.Errorf("the branch is at %s, want %s", got, made)
		}
		if err := r.Push(context.Background(), "main", made, made); !errors.Is(err, repo.ErrMoved) {
			t.Errorf("push of a moved branch: %v, want ErrMoved", err)
		}
	}
	for _, c := range []struct {
		name string
		auth repo.Auth
		says string
	}{
		{"no host keys", repo.Auth{SSHKey: user}, "host keys"},
		{"another server's host key", repo.Auth{SSHKey: user, KnownHosts: known(userPublic)}, "not the one in the known hosts"},
		{"an unknown server", repo.Auth{SSHKey: user, KnownHosts: []byte("example.com " + ecdsaPublic + "\n")}, "not among the known hosts"},
		{"host keys that are garbage", repo.Auth{SSHKey: user, KnownHosts: []byte("garbage\n")}, "known hosts"},
		{"a key that the server does not take", repo.Auth{SSHKey: ecdsa, KnownHosts: known(ecdsaPublic)}, "does not accept the SSH key"},
		{"an encrypted key without its passphrase", repo.Auth{SSHKey: locked, KnownHosts: known(ecdsaPublic)}, "passphrase"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := repo.Open(context.Background(), repo.Options{URL: url, Auth: c.auth})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want one that says %q", err, c.says)
			}
		})
	}
}

// serveSSH is an SSH server on loopback that runs git's two services for one user key.
func serveSSH(t *testing.T, userPublic string, hostKeys ...[]byte) (address string) {
	t.Helper()
	allowed, _, _, _, err := ssh.ParseAuthorizedKey([]byte(userPublic))
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), allowed.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	for _, pem := range hostKeys {
		key, err := ssh.ParsePrivateKey(pem)
		if err != nil {
			t.Fatal(err)
		}
		config.AddHostKey(key)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveConnection(conn, config)
		}
	}()
	return listener.Addr().String()
}

func serveConnection(conn net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for wanted := range channels {
		channel, requests, err := wanted.Accept()
		if err != nil {
			return
		}
		for request := range requests {
			// The payload of an exec request is a length and the command: git-upload-pack '/path'.
			if request.Type != "exec" {
				_ = request.Reply(false, nil)
				continue
			}
			_ = request.Reply(true, nil)
			service, path, _ := strings.Cut(string(request.Payload[4:]), " ")
			cmd := exec.Command("git", strings.TrimPrefix(service, "git-"), strings.Trim(path, "'"))
			cmd.Stdin, cmd.Stdout, cmd.Stderr = channel, channel, channel.Stderr()
			status := make([]byte, 4)
			if cmd.Run() != nil {
				status[3] = 128
			}
			_, _ = channel.SendRequest("exit-status", false, status)
			_ = channel.Close()
		}
	}
}
