package sign

import "testing"

// FuzzLoad: whatever a key file holds, there is a signer or an error.
func FuzzLoad(f *testing.F) {
	for _, key := range []string{
		"", "garbage", "ssh-ed25519 AAAA bot",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n",
		"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nxVgEAAAA\n=AAAA\n-----END PGP PRIVATE KEY BLOCK-----\n",
	} {
		f.Add([]byte(key), []byte("passphrase"))
	}
	f.Fuzz(func(t *testing.T, key, passphrase []byte) {
		signer, err := Load(key, passphrase)
		if (signer == nil) == (err == nil) {
			t.Errorf("signer %v, error %v", signer, err)
		}
	})
}
