package repotest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// SSHKey makes a key with ssh-keygen. kind is ed25519, ecdsa or rsa; public is one line.
func SSHKey(t testing.TB, kind, passphrase string) (private []byte, public string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	run(t, "ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "bot", "-f", file)
	return read(t, file), strings.TrimSpace(string(read(t, file+".pub")))
}

// VerifySSH lets `git verify-commit` judge a commit's SSH signature, with public as the only allowed signer.
func VerifySSH(t testing.TB, dir, commit, public string) (string, error) {
	t.Helper()
	allowed := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(allowed, []byte("bot@example.com namespaces=\"git\" "+public+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return TryGit(dir, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+allowed, "verify-commit", "-v", commit)
}

// Keyring is a gpg home of its own.
type Keyring struct{ home string }

// NewKeyring makes an empty one.
func NewKeyring(t testing.TB) Keyring {
	t.Helper()
	// The agent's socket lies in it, and a socket's path is at most 107 bytes: too short for t.TempDir.
	home, err := os.MkdirTemp("/tmp", "gpg")
	if err != nil {
		t.Fatal(err)
	}
	k := Keyring{home}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	return k
}

// Generate makes a key and gives its fingerprint. algorithm is as gpg names it (ed25519, rsa2048, nistp256), expire
// as its --quick-generate-key takes it ("0" is never).
func (k Keyring) Generate(t testing.TB, name, algorithm, expire, passphrase string, more ...string) string {
	t.Helper()
	args := append([]string{"--batch", "--pinentry-mode", "loopback", "--passphrase", passphrase}, more...)
	k.run(t, append(args, "--quick-generate-key", name+" <"+name+"@example.com>", algorithm, "sign", expire)...)
	out := k.run(t, "--with-colons", "--list-keys", name)
	for line := range strings.Lines(out) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" {
			return fields[9]
		}
	}
	t.Fatalf("gpg made no key:\n%s", out)
	return ""
}

// Private exports the private key, armored.
func (k Keyring) Private(t testing.TB, key, passphrase string) []byte {
	t.Helper()
	return []byte(k.run(t, "--batch", "--pinentry-mode", "loopback", "--passphrase", passphrase, "--armor", "--export-secret-keys", key))
}

// Run runs gpg on this keyring and gives its output; a failure ends the test.
func (k Keyring) Run(t testing.TB, args ...string) string {
	t.Helper()
	return k.run(t, args...)
}

// Answer runs gpg with answers to what it asks.
func (k Keyring) Answer(t testing.TB, answers string, args ...string) {
	t.Helper()
	cmd := exec.Command("gpg", append([]string{"--homedir", k.home, "--no-tty", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...)
	cmd.Stdin = strings.NewReader(answers)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gpg %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Verify lets `git verify-commit` judge a commit's OpenPGP signature by the keys of this keyring.
func (k Keyring) Verify(t testing.TB, dir, commit string) (string, error) {
	t.Helper()
	wrapper := filepath.Join(t.TempDir(), "gpg")
	script := "#!/bin/sh\nexec gpg --homedir " + k.home + " \"$@\"\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return TryGit(dir, "-c", "gpg.program="+wrapper, "verify-commit", "-v", commit)
}

func (k Keyring) run(t testing.TB, args ...string) string {
	t.Helper()
	return run(t, "gpg", append([]string{"--homedir", k.home, "--no-tty"}, args...)...)
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
