package sign

import (
	"bytes"
	"fmt"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"golang.org/x/crypto/ssh"
)

// Own gives the keys that a signer's signatures, and no others, pass by. principal is whose they are.
func Own(s Signer, principal string) (*Allowed, error) {
	var out Allowed
	switch s := s.(type) {
	case sshSigner:
		line := principal + " " + string(ssh.MarshalAuthorizedKey(s.key.PublicKey()))
		return &out, out.Add("the signing key", []byte(line), time.UTC)
	case pgpSigner:
		var public bytes.Buffer
		if err := s.entity.Serialize(&public); err != nil {
			return nil, fmt.Errorf("the signing key: %w", err)
		}
		ring, err := openpgp.ReadKeyRing(&public)
		if err != nil {
			return nil, fmt.Errorf("the signing key: %w", err)
		}
		out.ring = ring
		return &out, nil
	}
	return nil, fmt.Errorf("the signing key: %T does not tell its public key", s)
}
