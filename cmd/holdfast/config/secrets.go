package config

import (
	"fmt"
	"os"
	"strings"

	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// Auth is how a repository is read and pushed to: by name and password or token, or by an SSH key.
type Auth struct {
	// Username goes with the password. Default: what the forge takes with a token.
	Username string `json:"username,omitempty"`
	// PasswordFile is a file with the password or token; beside an SSH key, with its passphrase.
	PasswordFile string `json:"passwordFile,omitempty"`
	// PasswordEnv is an environment variable that holds it.
	PasswordEnv string `json:"passwordEnv,omitempty"`
	// SSHKeyFile is a file with a private SSH key.
	SSHKeyFile string `json:"sshKeyFile,omitempty"`
	// SSHKeyEnv is an environment variable that holds it.
	SSHKeyEnv string `json:"sshKeyEnv,omitempty"`
	// KnownHostsFile is a file with the server's host keys, needed with an SSH key.
	KnownHostsFile string `json:"knownHostsFile,omitempty"`
}

// Load reads the secrets.
func (a Auth) Load() (repo.Auth, error) {
	out := repo.Auth{Username: a.Username}
	password, err := secret("auth.password", a.PasswordFile, a.PasswordEnv)
	if err != nil {
		return out, err
	}
	out.Password = strings.TrimRight(string(password), "\r\n")
	if out.SSHKey, err = secret("auth.sshKey", a.SSHKeyFile, a.SSHKeyEnv); err != nil {
		return out, err
	}
	out.KnownHosts, err = secret("auth.knownHosts", a.KnownHostsFile, "")
	return out, err
}

// Signing is the key that signs commits, and the name that they carry.
type Signing struct {
	// KeyFile is a file with a private key: OpenSSH (ed25519, ecdsa, rsa) or armored OpenPGP.
	KeyFile string `json:"keyFile,omitempty"`
	// KeyEnv is an environment variable that holds it.
	KeyEnv string `json:"keyEnv,omitempty"`
	// PassphraseFile is a file with the key's passphrase.
	PassphraseFile string `json:"passphraseFile,omitempty"`
	// PassphraseEnv is an environment variable that holds it.
	PassphraseEnv string `json:"passphraseEnv,omitempty"`
	// Forge lets GitHub make and sign the commits of pull requests, as it does for Apps: they show as Verified there. The
	// key then signs the ledger alone.
	Forge bool `json:"forge,omitempty"`
	// Name and Email are those of the commits' author.
	Name  string `json:"name"`
	Email string `json:"email"`

	line int
}

// SetLine keeps where the section stands.
func (s *Signing) SetLine(line int) { s.line = line }

// Author gives who the commits are by.
func (s Signing) Author() repo.Person { return repo.Person{Name: s.Name, Email: s.Email} }

// Load reads the key and its passphrase.
func (s Signing) Load() (sign.Signer, error) {
	key, err := secret("signing.key", s.KeyFile, s.KeyEnv)
	if err != nil {
		return nil, err
	}
	passphrase, err := secret("signing.passphrase", s.PassphraseFile, s.PassphraseEnv)
	if err != nil {
		return nil, err
	}
	signer, err := sign.Load(key, []byte(strings.TrimRight(string(passphrase), "\r\n")))
	if err != nil {
		return nil, fmt.Errorf("signing.key (%s): %w", origin(s.KeyFile, s.KeyEnv), err)
	}
	return signer, nil
}

// secret reads a secret from its file or environment variable; nil where neither is configured. Errors
// name the place, never the value.
func secret(key, file, variable string) ([]byte, error) {
	switch {
	case file != "":
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("configuration: %sFile: %w", key, err)
		}
		if len(strings.TrimSpace(string(data))) == 0 {
			return nil, fmt.Errorf("configuration: %sFile: %s is empty", key, file)
		}
		return data, nil
	case variable != "":
		value := os.Getenv(variable)
		if strings.TrimSpace(value) == "" {
			return nil, fmt.Errorf("configuration: %sEnv: the environment variable %s is not set or empty", key, variable)
		}
		return []byte(value), nil
	}
	return nil, nil
}

func origin(file, variable string) string {
	if file != "" {
		return file
	}
	return "$" + variable
}

// auth refuses what contradicts itself.
func (k *checker) auth(r *Repository) {
	a := r.Auth
	k.oneOf(r.line, "repositories: auth", "passwordFile", a.PasswordFile, "passwordEnv", a.PasswordEnv)
	k.oneOf(r.line, "repositories: auth", "sshKeyFile", a.SSHKeyFile, "sshKeyEnv", a.SSHKeyEnv)
	k.variable(r.line, "repositories: auth: passwordEnv", a.PasswordEnv)
	k.variable(r.line, "repositories: auth: sshKeyEnv", a.SSHKeyEnv)
	key := a.SSHKeyFile != "" || a.SSHKeyEnv != ""
	if key && a.KnownHostsFile == "" {
		k.fail(r.line, "repositories: auth: an SSH key needs knownHostsFile, the file with the server's host keys (ssh-keyscan writes one)")
	}
	if a.Username != "" && !key && a.PasswordFile == "" && a.PasswordEnv == "" {
		k.fail(r.line, "repositories: auth: username without passwordFile or passwordEnv")
	}
}

func (k *checker) signing(s *Signing, repositories []Repository) {
	for _, r := range repositories {
		if s.Forge && r.Forge != nil && (r.Forge.Type != "github" || r.Forge.App == nil) {
			k.fail(s.line, "signing: forge: GitHub signs what an App writes, and the repository on line %d has no App on GitHub: leave it out to sign with the key", r.line)
		}
	}
	k.oneOf(s.line, "signing", "keyFile", s.KeyFile, "keyEnv", s.KeyEnv)
	k.oneOf(s.line, "signing", "passphraseFile", s.PassphraseFile, "passphraseEnv", s.PassphraseEnv)
	k.variable(s.line, "signing: keyEnv", s.KeyEnv)
	k.variable(s.line, "signing: passphraseEnv", s.PassphraseEnv)
	if s.KeyFile == "" && s.KeyEnv == "" {
		k.fail(s.line, "signing: needs keyFile or keyEnv, a private SSH or OpenPGP key")
	}
	if strings.TrimSpace(s.Name) == "" || !strings.Contains(s.Email, "@") {
		k.fail(s.line, "signing: name and email are those of the commits' author")
	}
}

func (k *checker) oneOf(line int, where, first, a, second, b string) {
	if a != "" && b != "" {
		k.fail(line, "%s: has %s and %s; want one of them", where, first, second)
	}
}

// variable refuses what is no name of an environment variable, which most likely is the secret itself:
// it is not printed.
func (k *checker) variable(line int, where, name string) {
	for i, r := range name {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			k.fail(line, "%s: is not the name of an environment variable; a secret is never written here", where)
			return
		}
	}
}
