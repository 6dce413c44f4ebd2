package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// identity is what the API servers of a lab share: a serving certificate, the key that signs service account tokens,
// and the users' tokens. Making it here and once saves each API server the making of RSA keys at its start.
type identity struct {
	tokens map[User]string
	ca     []byte // PEM; the serving certificate is its own authority

	certFile, keyFile, signingKeyFile, tokenFile string
}

func newIdentity(dir string) (*identity, error) {
	id := &identity{
		certFile:       filepath.Join(dir, "serving.crt"),
		keyFile:        filepath.Join(dir, "serving.key"),
		signingKeyFile: filepath.Join(dir, "service-account.key"),
		tokenFile:      filepath.Join(dir, "tokens.csv"),
	}
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	_, signingPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: "holdfast-lab"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(48 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the serving certificate: %w", err)
	}
	id.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	var tokens string
	id.tokens, tokens = newTokens()
	for file, content := range map[string][]byte{
		id.certFile: id.ca, id.keyFile: keyPEM, id.signingKeyFile: signingPEM, id.tokenFile: []byte(tokens),
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return nil, err
		}
	}
	return id, nil
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
