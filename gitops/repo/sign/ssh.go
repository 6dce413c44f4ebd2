package sign

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

type sshSigner struct{ key ssh.Signer }

func (s sshSigner) Format() string { return "ssh" }

func (s sshSigner) KeyID() string { return ssh.FingerprintSHA256(s.key.PublicKey()) }

func (s sshSigner) Sign(payload []byte) (string, error) { return s.SignIn(CommitNamespace, payload) }

func (s sshSigner) SignIn(namespace string, payload []byte) (string, error) {
	signature, err := sshsig.Sign(bytes.NewReader(payload), s.key, sshsig.HashSHA512, namespace)
	if err != nil {
		return "", fmt.Errorf("sign with the SSH key: %w", err)
	}
	return string(sshsig.Armor(signature)), nil
}

func loadSSH(key, passphrase []byte) (Signer, error) {
	// pkcs#8 has an encrypted form of its own, which the ssh package does not read.
	if bytes.Contains(key, []byte("BEGIN ENCRYPTED PRIVATE KEY")) {
		return nil, fmt.Errorf("%w in encrypted PKCS#8: rewrite it with `ssh-keygen -p -f KEY`", ErrUnknownKey)
	}
	key = append(bytes.ReplaceAll(key, []byte("\r\n"), []byte("\n")), '\n')
	parsed, err := ssh.ParsePrivateKey(key)
	var missing *ssh.PassphraseMissingError
	if errors.As(err, &missing) {
		if len(passphrase) == 0 {
			return nil, ErrPassphraseUnset
		}
		parsed, err = ssh.ParsePrivateKeyWithPassphrase(key, passphrase)
		if errors.Is(err, x509.IncorrectPasswordError) {
			return nil, ErrPassphrase
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: not readable as an SSH private key: %v", ErrUnknownKey, err)
	}
	switch kind := parsed.PublicKey().Type(); kind {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoRSA, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521:
		return sshSigner{parsed}, nil
	default:
		return nil, fmt.Errorf("%w of a supported kind: it is %s, supported are ed25519, ecdsa and rsa", ErrUnknownKey, kind)
	}
}

func isPublicSSH(key []byte) bool {
	if bytes.HasPrefix(key, []byte("-----BEGIN PUBLIC KEY")) || bytes.HasPrefix(key, []byte("---- BEGIN SSH2 PUBLIC KEY")) {
		return true
	}
	_, _, _, _, err := ssh.ParseAuthorizedKey(key)
	return err == nil
}
