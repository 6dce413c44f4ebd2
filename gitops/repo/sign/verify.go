package sign

import (
	"bytes"
	"crypto"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// What can be wrong with a signature. Test with errors.Is.
var (
	ErrNotSigned = errors.New("it is not signed")
	// ErrBadSignature: the signature is not one of this content, or not readable.
	ErrBadSignature = errors.New("the signature is not valid")
	// ErrForeign: a signature by a key that is not allowed.
	ErrForeign = errors.New("the key is not among the allowed signers")
	// ErrNamespace: the key is allowed, but not for this purpose; or the signature is one of another purpose.
	ErrNamespace = errors.New("the signature is for another purpose")
	// ErrOutOfDate: the key was not valid yet, or not valid any more, at the time of signing.
	ErrOutOfDate = errors.New("the key was not valid at that time")
	// ErrKeyRevoked: the key was revoked.
	ErrKeyRevoked = errors.New("the key is revoked")
)

// Identity is whose signature it is.
type Identity struct {
	// Principals are the names that the allowed-signers file, or the OpenPGP key, gives the key.
	Principals []string
	// KeyID is as Signer.KeyID has it.
	KeyID string
	// Format is "ssh" or "openpgp".
	Format string
}

// String gives the first principal and the key.
func (i Identity) String() string {
	if len(i.Principals) == 0 {
		return i.KeyID
	}
	return i.Principals[0] + " " + i.KeyID
}

// Verify checks an armored detached signature over payload, made in namespace at a time. It gives the identity as
// far as it could be told, beside an error too.
func (a *Allowed) Verify(namespace string, payload []byte, armored string, at time.Time) (Identity, error) {
	switch {
	case strings.TrimSpace(armored) == "":
		return Identity{}, ErrNotSigned
	case strings.HasPrefix(armored, "-----BEGIN SSH SIGNATURE-----"):
		return a.verifySSH(namespace, payload, armored, at)
	case strings.HasPrefix(armored, "-----BEGIN PGP SIGNATURE-----"), strings.HasPrefix(armored, "-----BEGIN PGP MESSAGE-----"):
		return a.verifyOpenPGP(payload, armored, at)
	}
	return Identity{}, fmt.Errorf("%w: it is neither an SSH nor an OpenPGP signature", ErrBadSignature)
}

func (a *Allowed) verifySSH(namespace string, payload []byte, armored string, at time.Time) (Identity, error) {
	id := Identity{Format: "ssh"}
	block, rest := pem.Decode([]byte(armored))
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return id, fmt.Errorf("%w: its armor is not readable", ErrBadSignature)
	}
	signature, err := sshsig.ParseSignature(block.Bytes)
	if err != nil {
		return id, fmt.Errorf("%w: %w", ErrBadSignature, err)
	}
	id.KeyID = ssh.FingerprintSHA256(signature.PublicKey)
	if _, certified := signature.PublicKey.(*ssh.Certificate); certified {
		return id, fmt.Errorf("%w: it is made by a certificate, which is not supported", ErrForeign)
	}
	if signature.Namespace != namespace {
		return id, fmt.Errorf("%w: it is made for %q, want %q", ErrNamespace, signature.Namespace, namespace)
	}
	if err := sshsig.Verify(bytes.NewReader(payload), signature, signature.PublicKey, signature.HashAlgorithm, namespace); err != nil {
		return id, ErrBadSignature
	}
	if a.revoked[id.KeyID] {
		return id, ErrKeyRevoked
	}
	return a.admit(id, namespace, at)
}

// admit looks for a line that lists the key for this purpose at this time. Of several that do not, the one that
// fits best gives the reason.
func (a *Allowed) admit(id Identity, namespace string, at time.Time) (Identity, error) {
	reason := ErrForeign
	for _, k := range a.keys {
		if k.fingerprint != id.KeyID {
			continue
		}
		id.Principals = k.principals
		switch {
		case len(k.namespaces) > 0 && !anyPattern(k.namespaces, namespace):
			if errors.Is(reason, ErrForeign) {
				reason = fmt.Errorf("%w: the key is not allowed for %q", ErrNamespace, namespace)
			}
		case !k.after.IsZero() && at.Before(k.after):
			reason = fmt.Errorf("%w: it is valid from %s on", ErrOutOfDate, k.after.UTC().Format(time.RFC3339))
		case !k.before.IsZero() && at.After(k.before):
			reason = fmt.Errorf("%w: it was valid until %s", ErrOutOfDate, k.before.UTC().Format(time.RFC3339))
		default:
			return id, nil
		}
	}
	return id, reason
}

func (a *Allowed) addOpenPGP(file string, data []byte) error {
	if bytes.Contains(data, []byte("-----BEGIN PGP PRIVATE KEY BLOCK-----")) {
		return fmt.Errorf("%s: holds a private key: give the public one (gpg --export --armor)", file)
	}
	added := 0
	for {
		start := bytes.Index(data, []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----"))
		if start < 0 {
			break
		}
		end := bytes.Index(data[start:], []byte("-----END PGP PUBLIC KEY BLOCK-----"))
		if end < 0 {
			return fmt.Errorf("%s: a PGP PUBLIC KEY BLOCK has no end", file)
		}
		end += start + len("-----END PGP PUBLIC KEY BLOCK-----")
		ring, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(data[start:end]))
		if err != nil {
			return fmt.Errorf("%s: not readable as OpenPGP public keys: %w", file, err)
		}
		a.ring = append(a.ring, ring...)
		added += len(ring)
		data = data[end:]
	}
	if added == 0 {
		return fmt.Errorf("%s: holds no OpenPGP public key", file)
	}
	return nil
}

func (a *Allowed) verifyOpenPGP(payload []byte, armored string, at time.Time) (Identity, error) {
	id := Identity{Format: "openpgp"}
	block, err := armor.Decode(strings.NewReader(armored))
	if err != nil {
		return id, fmt.Errorf("%w: its armor is not readable", ErrBadSignature)
	}
	packets, err := io.ReadAll(io.LimitReader(block.Body, maxSignature))
	if err != nil {
		return id, fmt.Errorf("%w: its armor is not readable", ErrBadSignature)
	}
	only, err := onePacket(packets)
	if err != nil {
		return id, fmt.Errorf("%w: %w", ErrBadSignature, err)
	}
	made := only.CreationTime // when the key must have been valid
	id.KeyID = fmt.Sprintf("%X", *only.IssuerKeyId)
	config := &packet.Config{Time: func() time.Time { return made }}
	signature, entity, err := openpgp.VerifyDetachedSignature(a.ring, bytes.NewReader(payload), bytes.NewReader(packets), config)
	var key *openpgp.Key
	if entity != nil && signature != nil {
		id.Principals = principalsOf(entity)
		if key = keyOf(entity, *only.IssuerKeyId); key != nil {
			id.KeyID = fmt.Sprintf("%X", key.PublicKey.Fingerprint)
		}
	}
	switch {
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return id, ErrForeign
	case key == nil:
		return id, ErrBadSignature
	case revokedAt(entity.Revocations, at), revokedAt(key.Revocations, at), errors.Is(err, pgperrors.ErrKeyRevoked):
		return id, ErrKeyRevoked
	case errors.Is(err, pgperrors.ErrKeyExpired), errors.Is(err, pgperrors.ErrSignatureExpired):
		return id, ErrOutOfDate
	case made.Before(at.Add(-maxApart)), made.After(at.Add(maxApart)):
		return id, fmt.Errorf("%w: it was made at %s, which is not when the content says", ErrOutOfDate, made.UTC().Format(time.RFC3339))
	case err != nil:
		return id, fmt.Errorf("%w: %w", ErrBadSignature, err)
	case !slices.Contains([]crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512, crypto.SHA3_256, crypto.SHA3_512}, signature.Hash):
		return id, fmt.Errorf("%w: its hash %s is too weak", ErrBadSignature, signature.Hash)
	}
	return id, nil
}

// An OpenPGP signature carries its own time, a little after that of the content. Further apart than this, one of
// them is wrong.
const maxApart = 24 * time.Hour

// maxSignature bounds the packets of one signature, in bytes.
const maxSignature = 64 << 10

// onePacket reads the one signature that is given.
func onePacket(packets []byte) (*packet.Signature, error) {
	reader := bytes.NewReader(packets)
	first, err := packet.Read(reader)
	if err != nil {
		return nil, err
	}
	signature, ok := first.(*packet.Signature)
	if !ok || signature.IssuerKeyId == nil {
		return nil, errors.New("it is no signature that names its key")
	}
	if reader.Len() > 0 {
		return nil, errors.New("something follows it")
	}
	return signature, nil
}

func keyOf(e *openpgp.Entity, id uint64) *openpgp.Key {
	for _, k := range (openpgp.EntityList{e}).KeysById(id) {
		return &k
	}
	return nil
}

// revokedAt: a key that was replaced or given up was good before; any other reason, and none, spoils what it ever
// signed (RFC 9580, 5.2.3.31).
func revokedAt(revocations []*packet.Signature, at time.Time) bool {
	for _, r := range revocations {
		soft := r.RevocationReason != nil && (*r.RevocationReason == packet.KeySuperseded || *r.RevocationReason == packet.KeyRetired)
		if !soft || !r.CreationTime.After(at) {
			return true
		}
	}
	return false
}

// principalsOf gives the e-mail addresses of a key, or its names where there is none, sorted.
func principalsOf(e *openpgp.Entity) []string {
	var out []string
	for name, identity := range e.Identities {
		if identity.UserId != nil && identity.UserId.Email != "" {
			name = identity.UserId.Email
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
