// Package sign makes and checks the signatures that Git commits and ledger records carry: SSH signatures, and
// OpenPGP signatures. `git verify-commit`, `ssh-keygen -Y verify` and gpg accept what it makes.
package sign

import (
	"bytes"
	"errors"
	"fmt"
)

// CommitNamespace keeps an SSH signature of a commit from being taken for one of another purpose; git asks for
// this one (gitformat-signature and ssh-keygen -Y).
const CommitNamespace = "git"

// Signer signs with one private key. It is safe for concurrent use.
type Signer interface {
	// Sign gives the armored detached signature of payload, which is a commit object without its signature.
	Sign(payload []byte) (armored string, err error)
	// SignIn is Sign for a payload of another purpose, which namespace names. OpenPGP signatures have no
	// namespace: such a payload must tell its purpose itself.
	SignIn(namespace string, payload []byte) (armored string, err error)
	// KeyID names the key: SHA256:... as ssh-keygen prints it, or the fingerprint of the OpenPGP key in hex.
	KeyID() string
	// Format is "ssh" or "openpgp", as git's gpg.format names them.
	Format() string
}

// What can be wrong with a key. Test with errors.Is; the message says what to do. No message quotes the
// key or the passphrase.
var (
	ErrEmptyKey        = errors.New("the signing key is empty: give an OpenSSH private key or an armored OpenPGP private key")
	ErrUnknownKey      = errors.New("the signing key is neither an OpenSSH private key nor an armored OpenPGP private key")
	ErrPublicKey       = errors.New("the signing key is a public key only: give the private key")
	ErrPassphraseUnset = errors.New("the signing key is encrypted: give its passphrase")
	ErrPassphrase      = errors.New("the passphrase does not open the signing key")
	ErrExpired         = errors.New("the signing key has expired: extend or replace it")
	ErrRevoked         = errors.New("the signing key is revoked: replace it")
)

// Load reads a private key: an OpenSSH or PEM private key (ed25519, ecdsa, rsa) or an armored OpenPGP
// private key. An empty passphrase means none; the passphrase of a key that is not encrypted is not looked at. The
// whole key is opened here, so that a bad key is told before anything is built with it.
func Load(key, passphrase []byte) (Signer, error) {
	key = bytes.TrimSpace(key)
	switch {
	case len(key) == 0:
		return nil, ErrEmptyKey
	case bytes.Contains(key, []byte("-----BEGIN PGP PRIVATE KEY BLOCK-----")):
		return loadOpenPGP(key, passphrase)
	case bytes.Contains(key, []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----")):
		return nil, fmt.Errorf("%w (export it with `gpg --export-secret-keys --armor`)", ErrPublicKey)
	case isPublicSSH(key):
		return nil, fmt.Errorf("%w (the file without .pub)", ErrPublicKey)
	case bytes.Contains(key, []byte("PRIVATE KEY-----")):
		return loadSSH(key, passphrase)
	}
	return nil, ErrUnknownKey
}
