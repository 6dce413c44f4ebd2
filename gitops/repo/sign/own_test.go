package sign_test

import (
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"holdfast/gitops/repo/sign"
)

func newSigner(t *testing.T) sign.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	return load(t, pem.EncodeToMemory(block), "")
}

func TestOnlyTheOwnKeyPasses(t *testing.T) {
	own, other := newSigner(t), newSigner(t)
	keys, err := sign.Own(own, "holdfast@example.com")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by   sign.Signer
		said string
		want error
	}{
		"its own":         {own, "text", nil},
		"another's":       {other, "text", sign.ErrForeign},
		"of another text": {own, "other", sign.ErrBadSignature},
	} {
		armored, err := c.by.Sign([]byte("text"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Verify(sign.CommitNamespace, []byte(c.said), armored, time.Now()); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
