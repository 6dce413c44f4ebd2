package sign_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/gitops/repo/repotest"
	"holdfast/gitops/repo/sign"
)

func allowed(t *testing.T, files ...string) *sign.Allowed {
	t.Helper()
	var a sign.Allowed
	for _, text := range files {
		if err := a.Add("allowed_signers", []byte(text), time.UTC); err != nil {
			t.Fatal(err)
		}
	}
	return &a
}

// TestSSHKeygenAgreesAboutAllowedSigners lets ssh-keygen judge the same signature by the same file at the same time.
func TestSSHKeygenAgreesAboutAllowedSigners(t *testing.T) {
	private, public := repotest.SSHKey(t, "ed25519", "")
	_, other := repotest.SSHKey(t, "ed25519", "")
	armored, err := load(t, private, "").SignIn("holdfast-ledger", []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, line string
		want       error
	}{
		{"a plain line", "bot " + public, nil},
		{"a comment and an empty line before", "# keys\n\nbot " + public, nil},
		{"the namespace is listed", `bot namespaces="git,holdfast-ledger" ` + public, nil},
		{"the namespace matches a pattern", `bot namespaces="holdfast-*" ` + public, nil},
		{"the namespace is refused by a pattern", `bot namespaces="*,!holdfast-ledger" ` + public, sign.ErrNamespace},
		{"another namespace is listed", `bot namespaces="git" ` + public, sign.ErrNamespace},
		{"within its dates", `bot valid-after="20260101Z",valid-before="20261231Z" ` + public, nil},
		{"a keyword in capitals", `bot VALID-AFTER="20260101Z" ` + public, nil},
		{"not valid yet", `bot valid-after="20260701Z" ` + public, sign.ErrOutOfDate},
		{"not valid any more", `bot valid-before="20260601Z" ` + public, sign.ErrOutOfDate},
		{"valid from this very second on", `bot valid-after="20260615120000Z" ` + public, nil},
		{"valid until this very second", `bot valid-before="20260615120000Z" ` + public, nil},
		{"valid until the second before", `bot valid-before="20260615115959Z" ` + public, sign.ErrOutOfDate},
		{"times to the minute", `bot valid-after="202606151200Z" ` + public, nil},
		{"two lines, the second in date", "bot valid-before=\"20250101Z\" " + public + "\nbot valid-after=\"20260101Z\" " + public, nil},
		{"another key", "bot " + other, sign.ErrForeign},
		{"principals in quotes", `"bot" ` + public, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := allowed(t, c.line+"\n").Verify("holdfast-ledger", []byte(payload), armored, at)
			if !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
			dir := t.TempDir()
			write(t, filepath.Join(dir, "allowed"), c.line+"\n")
			write(t, filepath.Join(dir, "signature"), armored)
			cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", filepath.Join(dir, "allowed"), "-I", "bot", "-n", "holdfast-ledger",
				"-s", filepath.Join(dir, "signature"), "-Overify-time="+at.Format("20060102150405"))
			cmd.Env = append(os.Environ(), "TZ=UTC")
			cmd.Stdin = strings.NewReader(payload)
			out, judged := cmd.CombinedOutput()
			if (judged == nil) != (c.want == nil) {
				t.Errorf("ssh-keygen says %v: %s", judged, out)
			}
		})
	}
}

func TestASignatureCountsForWhatItWasMadeOnly(t *testing.T) {
	private, public := repotest.SSHKey(t, "ecdsa", "")
	signer := load(t, private, "")
	keys := allowed(t, "bot@example.com "+public+"\n")
	commit, err := signer.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	who, err := keys.Verify(sign.CommitNamespace, []byte(payload), commit, now)
	if err != nil || who.KeyID != signer.KeyID() || who.String() != "bot@example.com "+signer.KeyID() || who.Format != "ssh" {
		t.Errorf("%v, error %v", who, err)
	}
	for _, c := range []struct {
		name, namespace, payload, armored string
		want                              error
	}{
		{"as a record", "holdfast-ledger", payload, commit, sign.ErrNamespace},
		{"of other content", "git", payload + "x", commit, sign.ErrBadSignature},
		{"none", "git", payload, "", sign.ErrNotSigned},
		{"blank", "git", payload, " \n", sign.ErrNotSigned},
		{"garbage", "git", payload, "garbage", sign.ErrBadSignature},
		{"an armor with garbage", "git", payload, "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n", sign.ErrBadSignature},
		{"cut short", "git", payload, commit[:len(commit)/2], sign.ErrBadSignature},
		{"with something behind", "git", payload, commit + commit, sign.ErrBadSignature},
		{"of a kind that nobody knows", "git", payload, "-----BEGIN SIGNED MESSAGE-----\nAAAA\n-----END SIGNED MESSAGE-----\n", sign.ErrBadSignature},
		{"an OpenPGP armor with garbage", "git", payload, "-----BEGIN PGP SIGNATURE-----\n\nwnUEAAAA\n-----END PGP SIGNATURE-----\n", sign.ErrBadSignature},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := keys.Verify(c.namespace, []byte(c.payload), c.armored, now); !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
		})
	}
	if err := keys.Revoke("revoked", []byte("# given away\n"+public+"\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Verify("git", []byte(payload), commit, now); !errors.Is(err, sign.ErrKeyRevoked) {
		t.Errorf("after its revocation: %v", err)
	}
}

func TestOnlyOnePrincipalCounts(t *testing.T) {
	private, public := repotest.SSHKey(t, "ed25519", "")
	_, other := repotest.SSHKey(t, "ed25519", "")
	armored, err := load(t, private, "").Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	keys := allowed(t, "alice@example.com "+public+"\nbot@example.com "+other+"\n")
	if _, err := keys.Only("alice@example.com").Verify("git", []byte(payload), armored, time.Now()); err != nil {
		t.Error(err)
	}
	if _, err := keys.Only("bot@example.com").Verify("git", []byte(payload), armored, time.Now()); !errors.Is(err, sign.ErrForeign) {
		t.Errorf("alice's signature counts as the bot's: %v", err)
	}
	if !keys.Only("bob@example.com").Empty() {
		t.Error("bob has a key")
	}
}

func TestABadAllowedSignersFileIsTold(t *testing.T) {
	_, public := repotest.SSHKey(t, "ed25519", "")
	for _, c := range []struct{ name, text, want string }{
		{"an authority of certificates", "*@example.com cert-authority " + public, "f:1: option cert-authority"},
		{"an unknown option", "bot magic " + public, `f:1: option "magic"`},
		{"an option of authorized_keys", `bot command="true" ` + public, `f:1: option "command"`},
		{"no key", "# x\nbot\n", "f:2: want principals"},
		{"a key that is none", "bot ssh-ed25519 AAAA", "f:1: no SSH public key"},
		{"a date that is none", `bot valid-after="yesterday" ` + public, `"yesterday" is no time`},
		{"a date that does not exist", `bot valid-after="20260231" ` + public, "is no time"},
		{"a value without quotes", `bot valid-after=20260101Z ` + public, "its value needs quotes"},
		{"dates the wrong way round", `bot valid-after="20260201",valid-before="20260101" ` + public, "valid-before is not after"},
		{"a quote that is open", `bot namespaces="git ` + public, "quote"},
		{"nothing", "", "holds no key"},
		{"a private OpenPGP key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n", "private"},
		{"an OpenPGP armor with garbage", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n", "not readable"},
		{"an OpenPGP armor cut short", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n", "no end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := new(sign.Allowed).Add("f", []byte(c.text), time.UTC)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want it to say %q", err, c.want)
			}
		})
	}
	if err := new(sign.Allowed).Revoke("f", []byte("SSHKRL\n\x00")); err == nil {
		t.Error("a binary list is taken")
	}
}

func TestGPGSignaturesAreJudgedAtTheirTime(t *testing.T) {
	ring := repotest.NewKeyring(t)
	good := ring.Generate(t, "good", "ed25519", "0", "")
	old := ring.Generate(t, "old", "ed25519", "seconds=86400", "", "--faked-system-time", "20250101T000000")
	other := ring.Generate(t, "other", "rsa2048", "0", "")
	signed := func(key string, more ...string) string {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "payload"), payload)
		args := append([]string{"--batch", "--yes", "--pinentry-mode", "loopback", "--passphrase", "", "--armor", "-u", key, "--detach-sign"}, more...)
		ring.Run(t, append(args, filepath.Join(dir, "payload"))...)
		data, err := os.ReadFile(filepath.Join(dir, "payload.asc"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	export := func(key string) string { return ring.Run(t, "--armor", "--export", key) }
	now := time.Now()
	then := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

	keys := allowed(t, export(good)+"\n"+export(old))
	who, err := keys.Verify("git", []byte(payload), signed(good), now)
	if err != nil || who.KeyID != good || who.Principals[0] != "good@example.com" {
		t.Errorf("%v, error %v", who, err)
	}
	if _, err := keys.Verify("git", []byte(payload+"x"), signed(good), now); !errors.Is(err, sign.ErrBadSignature) {
		t.Errorf("of other content: %v", err)
	}
	if _, err := keys.Verify("git", []byte(payload), signed(other), now); !errors.Is(err, sign.ErrForeign) {
		t.Errorf("of a key that is not listed: %v", err)
	}
	// A key that has expired since was good then.
	inTime := signed(old, "--faked-system-time", "20250101T120000")
	if _, err := keys.Verify("git", []byte(payload), inTime, then); err != nil {
		t.Errorf("of a key that expired later: %v", err)
	}
	if _, err := keys.Verify("git", []byte(payload), inTime, now); !errors.Is(err, sign.ErrOutOfDate) {
		t.Errorf("made long before the content says: %v", err)
	}
	if _, err := keys.Verify("git", []byte(payload), signed(good), then); !errors.Is(err, sign.ErrOutOfDate) {
		t.Errorf("made long after the content says: %v", err)
	}
	// gpg does not sign with a key that has expired, whatever it is told: the clock must say otherwise.
	late := signed(old, "--faked-system-time", "20250101T235900")
	if _, err := keys.Verify("git", []byte(payload), late, then); err != nil {
		t.Errorf("in the last minute: %v", err)
	}
}

func TestARevokedOpenPGPKeyCountsNoMore(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		want         error
	}{
		// gpg asks: 0 no reason, 1 compromised, 2 superseded, 3 no longer used.
		{"without a reason", "0", sign.ErrKeyRevoked},
		{"since it was stolen", "1", sign.ErrKeyRevoked},
		{"since it was replaced later", "2", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ring := repotest.NewKeyring(t)
			id := ring.Generate(t, "bot", "ed25519", "0", "", "--faked-system-time", "20250101T000000")
			armored, err := load(t, ring.Private(t, id, ""), "").Sign([]byte(payload))
			if err != nil {
				t.Fatal(err)
			}
			at := time.Now()
			revocation := filepath.Join(t.TempDir(), "revocation")
			// Two days later, so that the signature is older than the revocation.
			later := at.Add(48 * time.Hour).UTC().Format("20060102T150405")
			ring.Answer(t, fmt.Sprintf("y\n%s\n\ny\n", c.reason), "--faked-system-time", later, "--command-fd", "0", "--output", revocation, "--gen-revoke", id)
			ring.Run(t, "--batch", "--faked-system-time", later, "--import", revocation)
			keys := allowed(t, ring.Run(t, "--armor", "--export", id))
			if _, err := keys.Verify("git", []byte(payload), armored, at); !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
		})
	}
}

// FuzzAllowed: whatever a file holds, it is read or refused, and no signature counts by it that nobody made.
func FuzzAllowed(f *testing.F) {
	for _, text := range []string{"", "a", "* cert-authority x", `"a b" namespaces="x",valid-after=20260101 ssh-ed25519 AAAA`, `a namespaces="\"" k`, "a ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINNwMHM8lLcve+HMdKmjaanRnkdOE0Sm3ZUxkjv5LTgg"} {
		f.Add([]byte(text), []byte("-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"))
	}
	f.Fuzz(func(t *testing.T, file, signature []byte) {
		var a sign.Allowed
		if a.Add("f", file, time.UTC) != nil {
			return
		}
		if _, err := a.Verify("git", []byte(payload), string(signature), time.Unix(1, 0)); err == nil {
			t.Error("a signature counts")
		}
	})
}
