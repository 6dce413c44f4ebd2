package sign

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

type pgpSigner struct {
	entity      *openpgp.Entity
	keyID       uint64
	fingerprint []byte
}

func (s pgpSigner) Format() string { return "openpgp" }

func (s pgpSigner) KeyID() string { return fmt.Sprintf("%X", s.fingerprint) }

func (s pgpSigner) SignIn(_ string, payload []byte) (string, error) { return s.Sign(payload) }

func (s pgpSigner) Sign(payload []byte) (string, error) {
	var out bytes.Buffer
	// The key is named, so that another one of the entity, which may be locked, is never picked.
	config := &packet.Config{SigningKeyId: s.keyID}
	if err := openpgp.ArmoredDetachSign(&out, s.entity, bytes.NewReader(payload), config); err != nil {
		if _, ok := s.entity.SigningKeyById(time.Now(), s.keyID); !ok {
			return "", ErrExpired
		}
		return "", fmt.Errorf("sign with the OpenPGP key: %w", err)
	}
	return out.String(), nil
}

// loadOpenPGP takes the first key of the block that can sign; where none can, the error is about the
// first one.
func loadOpenPGP(key, passphrase []byte) (Signer, error) {
	ring, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(key))
	if err != nil {
		return nil, fmt.Errorf("%w: not readable as an OpenPGP private key: %v", ErrUnknownKey, err)
	}
	var first error
	for _, entity := range ring {
		signer, err := openEntity(entity, passphrase)
		if err == nil {
			return signer, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = ErrUnknownKey
	}
	return nil, first
}

func openEntity(entity *openpgp.Entity, passphrase []byte) (Signer, error) {
	id, err := signingKey(entity, time.Now())
	if err != nil {
		return nil, fmt.Errorf("OpenPGP key %X: %w", entity.PrimaryKey.Fingerprint, err)
	}
	key, _ := entity.SigningKeyById(time.Now(), id)
	if key.PrivateKey.Encrypted {
		if len(passphrase) == 0 {
			return nil, ErrPassphraseUnset
		}
		if err := key.PrivateKey.Decrypt(passphrase); err != nil {
			return nil, ErrPassphrase
		}
	}
	return pgpSigner{entity: entity, keyID: id, fingerprint: key.PublicKey.Fingerprint}, nil
}

// signingKey picks a key that may sign now and whose private half is there: the entity's own choice
// first, then, where that half was left out (a primary key kept offline), any subkey.
func signingKey(entity *openpgp.Entity, now time.Time) (uint64, error) {
	if key, ok := entity.SigningKey(now); ok && present(key.PrivateKey) {
		return key.PublicKey.KeyId, nil
	}
	for _, sub := range entity.Subkeys {
		if key, ok := entity.SigningKeyById(now, sub.PublicKey.KeyId); ok && present(key.PrivateKey) {
			return key.PublicKey.KeyId, nil
		}
	}
	if key, ok := entity.SigningKeyById(now, entity.PrimaryKey.KeyId); ok && present(key.PrivateKey) {
		return key.PublicKey.KeyId, nil
	}
	return 0, whyNot(entity, now)
}

func present(key *packet.PrivateKey) bool { return key != nil && !key.Dummy() }

func whyNot(entity *openpgp.Entity, now time.Time) error {
	if entity.Revoked(now) {
		return ErrRevoked
	}
	if self, _ := entity.PrimarySelfSignature(); self != nil && entity.PrimaryKey.KeyExpired(self, now) {
		return ErrExpired
	}
	if _, ok := entity.SigningKey(now); ok {
		return fmt.Errorf("%w: the block leaves the private half of the signing key out", ErrPublicKey)
	}
	for _, sub := range entity.Subkeys {
		if sub.Sig != nil && sub.Sig.FlagsValid && sub.Sig.FlagSign && sub.PublicKey.KeyExpired(sub.Sig, now) {
			return ErrExpired
		}
	}
	return errors.New("no key of the block may sign: add a signing subkey")
}
