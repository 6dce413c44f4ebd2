package sign

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"golang.org/x/crypto/ssh"

	"holdfast/gitops/glob"
)

// Allowed are the keys whose signatures count, and when: the trust root of a verification. It comes from outside
// of what is verified. It is safe for concurrent use once it is built.
type Allowed struct {
	keys    []allowedKey
	ring    openpgp.EntityList
	revoked map[string]bool // by SSH fingerprint
}

// allowedKey is one line of an allowed-signers file.
type allowedKey struct {
	principals  []string
	fingerprint string
	namespaces  []string // patterns; none allows every namespace
	// after and before bound when the key may sign, both ends included; zero for open.
	after, before time.Time
}

// Empty says that no key is allowed.
func (a *Allowed) Empty() bool { return len(a.keys) == 0 && len(a.ring) == 0 }

// Add reads a file of keys: an allowed-signers file as ssh-keygen -Y verify takes it (ssh-keygen(1), ALLOWED
// SIGNERS), or armored OpenPGP public keys, which carry their own dates and revocations. Dates without a Z are in
// zone. Errors name file and line.
func (a *Allowed) Add(file string, data []byte, zone *time.Location) error {
	if bytes.Contains(data, []byte("-----BEGIN PGP ")) {
		return a.addOpenPGP(file, data)
	}
	var errs []error
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.Trim(line, " \t\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := parseAllowed(line, zone)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, n, err))
			continue
		}
		a.keys = append(a.keys, key)
	}
	if len(errs) == 0 && n == 0 {
		errs = append(errs, fmt.Errorf("%s: holds no key", file))
	}
	return errors.Join(errs...)
}

// Revoke reads a file of SSH public keys, one a line, whose signatures never count, as ssh-keygen -Y verify -r
// takes it.
func (a *Allowed) Revoke(file string, data []byte) error {
	if bytes.HasPrefix(data, []byte("SSHKRL\n")) {
		return fmt.Errorf("%s: is a binary key revocation list: list the revoked public keys, one a line", file)
	}
	if a.revoked == nil {
		a.revoked = map[string]bool{}
	}
	var errs []error
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: no SSH public key", file, n))
			continue
		}
		a.revoked[ssh.FingerprintSHA256(key)] = true
	}
	return errors.Join(errs...)
}

// Only keeps the keys of one principal.
func (a *Allowed) Only(principal string) *Allowed {
	out := &Allowed{revoked: a.revoked}
	for _, k := range a.keys {
		if anyPattern(k.principals, principal) {
			out.keys = append(out.keys, k)
		}
	}
	for _, e := range a.ring {
		for _, name := range principalsOf(e) {
			if name == principal {
				out.ring = append(out.ring, e)
				break
			}
		}
	}
	return out
}

// parseAllowed reads "principals [options] keytype key [comment]".
func parseAllowed(line string, zone *time.Location) (allowedKey, error) {
	principals, rest, err := field(line)
	if err != nil || rest == "" {
		return allowedKey{}, errors.New("want principals, options, key type and key")
	}
	k := allowedKey{principals: strings.Split(principals, ",")}
	if startsWithOptions(rest) {
		options, after := cutOptions(rest)
		if err := k.options(options, zone); err != nil {
			return k, err
		}
		rest = after
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil || startsWithOptions(rest) {
		return k, errors.New("no SSH public key: want options without blanks outside of quotes, then key type and key")
	}
	if _, certified := key.(*ssh.Certificate); certified {
		return k, errors.New("is a certificate: certificates are not supported; list the key itself")
	}
	if key.Type() == "ssh-dss" {
		return k, errors.New("is a DSA key, which is too weak")
	}
	k.fingerprint = ssh.FingerprintSHA256(key)
	return k, nil
}

// field takes the first word, or the first quoted text.
func field(line string) (first, rest string, err error) {
	if !strings.HasPrefix(line, `"`) {
		i := strings.IndexAny(line, " \t")
		if i < 0 {
			return line, "", nil
		}
		return line[:i], strings.TrimLeft(line[i:], " \t"), nil
	}
	first, rest, ok := strings.Cut(line[1:], `"`)
	if !ok {
		return "", "", errors.New("a quote is not closed")
	}
	return first, strings.TrimLeft(rest, " \t"), nil
}

// startsWithOptions says whether the first word is no key type: the parser of the ssh package skips options of
// another file's format silently.
func startsWithOptions(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return !strings.HasPrefix(first, "ssh-") && !strings.HasPrefix(first, "ecdsa-") && !strings.HasPrefix(first, "sk-")
}

// cutOptions ends options at the first blank outside of quotes.
func cutOptions(text string) (options, rest string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && (text[i] == ' ' || text[i] == '\t'):
			return text[:i], strings.TrimLeft(text[i:], " \t")
		}
	}
	return text, ""
}

func (k *allowedKey) options(text string, zone *time.Location) error {
	for text != "" {
		name, value, given := text, "", false
		end := strings.IndexAny(text, "=,")
		switch {
		case end < 0:
			text = ""
		case text[end] == ',':
			name, text = text[:end], text[end+1:]
		default:
			name, given = text[:end], true
			var err error
			if value, text, err = optionValue(text[end+1:]); err != nil {
				return fmt.Errorf("option %s: %w", name, err)
			}
		}
		if err := k.option(strings.ToLower(name), value, given, zone); err != nil {
			return err
		}
	}
	if !k.after.IsZero() && !k.before.IsZero() && !k.before.After(k.after) {
		return errors.New("valid-before is not after valid-after")
	}
	return nil
}

// optionValue takes a quoted value.
func optionValue(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", errors.New("its value needs quotes")
	}
	value, rest, ok := strings.Cut(text[1:], `"`)
	if !ok {
		return "", "", errors.New("a quote is not closed")
	}
	return value, strings.TrimPrefix(rest, ","), nil
}

func (k *allowedKey) option(name, value string, given bool, zone *time.Location) (err error) {
	switch {
	case name == "cert-authority":
		return errors.New("option cert-authority: signatures by certificates are not supported; list the signing key itself")
	case name == "namespaces" && given && value != "":
		k.namespaces = strings.Split(value, ",")
	case name == "valid-after" && given:
		k.after, err = parseStamp(value, zone)
	case name == "valid-before" && given:
		k.before, err = parseStamp(value, zone)
	default:
		return fmt.Errorf("option %q: want namespaces=, valid-after= or valid-before=", name)
	}
	if err != nil {
		return fmt.Errorf("option %s: %w", name, err)
	}
	return nil
}

// parseStamp reads YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, in UTC with a Z behind.
func parseStamp(text string, zone *time.Location) (time.Time, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	if utc {
		zone = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(layout) == len(digits) {
			if t, err := time.ParseInLocation(layout, digits, zone); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: want YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, and Z for UTC", text)
}

// anyPattern matches a pattern list: * and ? stand for any characters and any one, a ! in front refuses.
func anyPattern(patterns []string, text string) bool {
	found := false
	for _, p := range patterns {
		refused := strings.HasPrefix(p, "!")
		if !glob.Match(strings.TrimPrefix(p, "!"), text) {
			continue
		}
		if refused {
			return false
		}
		found = true
	}
	return found
}
