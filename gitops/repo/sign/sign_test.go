package sign_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/gitops/repo/repotest"
	"holdfast/gitops/repo/sign"
)

const payload = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nmessage\n"

func TestSSHKeygenAcceptsTheSignature(t *testing.T) {
	for _, c := range []struct{ name, kind, passphrase string }{
		{"an ed25519 key", "ed25519", ""},
		{"an ecdsa key", "ecdsa", ""},
		{"an rsa key", "rsa", ""},
		{"an encrypted key with its passphrase", "ed25519", "correct horse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			private, public := repotest.SSHKey(t, c.kind, c.passphrase)
			signer := load(t, private, c.passphrase)
			if signer.Format() != "ssh" {
				t.Errorf("format is %s, want ssh", signer.Format())
			}
			if out, err := verifySSH(t, signer, public, payload); err != nil {
				t.Errorf("ssh-keygen refuses: %v\n%s", err, out)
			}
			if _, err := verifySSH(t, signer, public, payload+"x"); err == nil {
				t.Error("ssh-keygen accepts the signature for another payload")
			}
		})
	}
}

func TestAKeyFileWithWindowsLineEndsIsRead(t *testing.T) {
	private, public := repotest.SSHKey(t, "ed25519", "")
	crlf := strings.ReplaceAll("\n"+string(private)+"\n\n", "\n", "\r\n")
	if out, err := verifySSH(t, load(t, []byte(crlf), ""), public, payload); err != nil {
		t.Errorf("ssh-keygen refuses: %v\n%s", err, out)
	}
}

func TestGPGAcceptsTheSignature(t *testing.T) {
	ring := repotest.NewKeyring(t)
	for _, c := range []struct{ name, algorithm, passphrase string }{
		{"an ed25519 key", "ed25519", ""},
		{"an rsa key", "rsa2048", ""},
		{"an ecdsa key", "nistp256", ""},
		{"an encrypted key with its passphrase", "ed25519", "correct horse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := ring.Generate(t, strings.ReplaceAll(c.name, " ", "-"), c.algorithm, "0", c.passphrase)
			signer := load(t, ring.Private(t, id, c.passphrase), c.passphrase)
			if signer.Format() != "openpgp" {
				t.Errorf("format is %s, want openpgp", signer.Format())
			}
			armored, err := signer.Sign([]byte(payload))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			write(t, filepath.Join(dir, "payload"), payload)
			write(t, filepath.Join(dir, "payload.asc"), armored)
			ring.Run(t, "--verify", filepath.Join(dir, "payload.asc"), filepath.Join(dir, "payload"))
		})
	}
}

func TestASubkeySignsWhereThePrimaryKeyIsKeptOffline(t *testing.T) {
	ring := repotest.NewKeyring(t)
	id := ring.Generate(t, "offline", "ed25519", "0", "")
	ring.Run(t, "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-add-key", id, "ed25519", "sign", "0")
	subkeys := ring.Run(t, "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--armor", "--export-secret-subkeys", id)
	armored, err := load(t, []byte(subkeys), "").Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "payload"), payload)
	write(t, filepath.Join(dir, "payload.asc"), armored)
	ring.Run(t, "--verify", filepath.Join(dir, "payload.asc"), filepath.Join(dir, "payload"))
}

func TestABadKeyIsTold(t *testing.T) {
	sshPrivate, sshPublic := repotest.SSHKey(t, "ed25519", "")
	sshLocked, _ := repotest.SSHKey(t, "ecdsa", "correct horse")
	ring := repotest.NewKeyring(t)
	pgp := ring.Generate(t, "plain", "ed25519", "0", "")
	locked := ring.Generate(t, "locked", "rsa2048", "0", "correct horse")
	expired := ring.Generate(t, "expired", "ed25519", "seconds=10", "", "--faked-system-time", "20200101T000000")
	other := ring.Generate(t, "encrypting", "ed25519", "0", "")
	pkcs8 := "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGjMF8GCSqGSIb3DQEFDTBS\n-----END ENCRYPTED PRIVATE KEY-----\n"
	stub := ring.Run(t, "--batch", "--armor", "--export-secret-subkeys", other)

	for _, c := range []struct {
		name       string
		key        []byte
		passphrase string
		want       error
	}{
		{"nothing", nil, "", sign.ErrEmptyKey},
		{"white space", []byte(" \n\t\n"), "", sign.ErrEmptyKey},
		{"garbage", []byte("hello"), "", sign.ErrUnknownKey},
		{"binary garbage", []byte{0, 1, 2, 0xff}, "", sign.ErrUnknownKey},
		{"an SSH public key", []byte(sshPublic), "", sign.ErrPublicKey},
		{"an SSH private key cut short", sshPrivate[:len(sshPrivate)/2], "", sign.ErrUnknownKey},
		{"an SSH armor with garbage inside", []byte("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"), "", sign.ErrUnknownKey},
		{"an encrypted SSH key without a passphrase", sshLocked, "", sign.ErrPassphraseUnset},
		{"an encrypted SSH key with a wrong passphrase", sshLocked, "wrong horse", sign.ErrPassphrase},
		{"an encrypted PKCS#8 key", []byte(pkcs8), "x", sign.ErrUnknownKey},
		{"an OpenPGP public key", []byte(ring.Run(t, "--armor", "--export", pgp)), "", sign.ErrPublicKey},
		{"an OpenPGP key without its private half", []byte(stub), "", sign.ErrPublicKey},
		{"an OpenPGP armor with garbage inside", []byte("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nAAAA\n-----END PGP PRIVATE KEY BLOCK-----\n"), "", sign.ErrUnknownKey},
		{"an encrypted OpenPGP key without a passphrase", ring.Private(t, locked, "correct horse"), "", sign.ErrPassphraseUnset},
		{"an encrypted OpenPGP key with a wrong passphrase", ring.Private(t, locked, "correct horse"), "wrong horse", sign.ErrPassphrase},
		{"an expired OpenPGP key", ring.Private(t, expired, ""), "", sign.ErrExpired},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := sign.Load(c.key, []byte(c.passphrase))
			if !errors.Is(err, c.want) {
				t.Fatalf("error is %v, want %v", err, c.want)
			}
			if c.passphrase != "" && len(c.passphrase) > 3 && strings.Contains(err.Error(), c.passphrase) {
				t.Errorf("the error quotes the passphrase: %v", err)
			}
		})
	}
}

func TestARevokedKeyIsTold(t *testing.T) {
	ring := repotest.NewKeyring(t)
	id := ring.Generate(t, "revoked", "ed25519", "0", "")
	// gpg writes a revocation beside each new key, with a colon in front of its armor as a safety catch.
	home := strings.TrimSpace(ring.Run(t, "--version")) // also names the home
	_, home, _ = strings.Cut(home, "Home: ")
	home, _, _ = strings.Cut(home, "\n")
	data, err := os.ReadFile(filepath.Join(home, "openpgp-revocs.d", id+".rev"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "revocation")
	write(t, file, strings.Replace(string(data), ":-----BEGIN", "-----BEGIN", 1))
	ring.Run(t, "--batch", "--import", file)
	if _, err := sign.Load(ring.Private(t, id, ""), nil); !errors.Is(err, sign.ErrRevoked) {
		t.Errorf("error is %v, want %v", err, sign.ErrRevoked)
	}
}

func load(t *testing.T, key []byte, passphrase string) sign.Signer {
	t.Helper()
	signer, err := sign.Load(key, []byte(passphrase))
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func verifySSH(t *testing.T, signer sign.Signer, public, message string) (string, error) {
	t.Helper()
	armored, err := signer.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "allowed"), "bot "+public+"\n")
	write(t, filepath.Join(dir, "signature"), armored)
	cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", filepath.Join(dir, "allowed"), "-I", "bot", "-n", "git", "-s", filepath.Join(dir, "signature"))
	cmd.Stdin = strings.NewReader(message)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
