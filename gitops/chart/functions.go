package chart

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// Pass is one of two renders of the same chart. In both, chance and the clock are stand-ins, and the two differ in
// all that a template can see of them: every letter of a random text, year to second of the time, the order of
// what has none. So a field that is the same in both passes does not hang on them, and nothing depends on luck or
// on the second in which the renders are made.
type Pass int

// The passes.
const (
	First Pass = iota
	Second
)

// The most that one render may write, and one random text may hold.
const (
	maxOutput = 128 << 20
	maxRandom = 1 << 20
)

// session is one run of the engine: what it may still write, and what it asked of chance, clock and cluster.
type session struct {
	ctx     context.Context
	pass    Pass
	release Release
	left    int64
	counter int
	// varies says that a template asked for what the other pass answers in another way.
	varies bool
	// stopped is the limit that was passed; the engine keeps only the text of an error.
	stopped error
}

// clock is the time of a pass. The two have no part in common, the day of the week included.
func (s *session) clock() time.Time {
	s.varies = true
	if s.pass == First {
		return time.Date(2001, 2, 3, 4, 5, 6, 123456789, time.UTC)
	}
	return time.Date(2098, 11, 27, 17, 48, 39, 987654321, time.UTC)
}

// functions are Helm's template functions that are replaced. The list of what is unstable is that of sprig
// (functions.go, nonhermeticFunctions, and all that generates keys or salts), and what lists a mapping.
func (s *session) functions() template.FuncMap {
	own := template.FuncMap{stepName: s.step, outName: s.out, textName: s.text, "lookup": s.lookup}
	own["now"] = s.clock
	own["ago"] = func(date any) string { return s.clock().Sub(s.time(date)).Round(time.Second).String() }
	s.dates(own)
	s.random(own)
	s.keys(own)
	s.order(own)
	s.limits(own)
	s.encoders(own)
	return own
}

// step is called in each turn of a loop, with the length of the text that the turn writes.
func (s *session) step(text int) (string, error) { return "", s.spend(int64(text)) }

// spend counts bytes that a template writes or makes.
func (s *session) spend(n int64) error {
	if n < 0 || n > s.left {
		s.stopped = cmp.Or(s.stopped, fmt.Errorf("%w: the templates write more than %d MiB", ErrLimit, maxOutput>>20))
		return s.stopped
	}
	s.left -= n
	if s.stopped == nil && s.ctx.Err() != nil {
		s.stopped = fmt.Errorf("%w: the chart's templates: %w", ErrLimit, s.ctx.Err())
	}
	return s.stopped
}

// out looks at what an action writes, and gives it on.
func (s *session) out(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, int, int64, float64:
		return value, s.spend(8)
	case string:
		return value, s.spend(int64(len(v)))
	}
	// A struct whose pointer knows how to print itself is printed so where the engine can take its address.
	if t := reflect.TypeOf(value); t.Kind() == reflect.Struct && !t.Implements(stringer) && reflect.PointerTo(t).Implements(stringer) {
		p := reflect.New(t)
		p.Elem().Set(reflect.ValueOf(value))
		value = p.Interface()
	}
	if n := s.size(plainly(), reflect.ValueOf(value)); n > s.left {
		return value, s.spend(n)
	}
	return value, s.spend(int64(len(fmt.Sprint(value))))
}

var stringer = reflect.TypeFor[fmt.Stringer]()

// text treats what tpl evaluates like a template of the chart.
func (s *session) text(value any) (any, error) {
	if tooDeep() {
		s.stopped = cmp.Or(s.stopped, fmt.Errorf("%w: tpl evaluates texts that call tpl again, without end", ErrLimit))
		return nil, s.stopped
	}
	if text, ok := value.(string); ok {
		return guarded(text), nil
	}
	return value, nil
}

// lookup finds nothing in the first pass. In the second one, and where the engine does ask the cluster, it finds an
// object without content: what a chart does then differs from what it does without.
func (s *session) lookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	if !s.release.Lookup {
		return map[string]any{}, nil
	}
	s.varies = true
	if s.pass == First || name == "" {
		return map[string]any{}, nil
	}
	return map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace},
		"data": map[string]any{}, "spec": map[string]any{}, "status": map[string]any{},
	}, nil
}

// time reads a date as sprig does: what is none is the present.
func (s *session) time(date any) time.Time {
	switch date := date.(type) {
	case time.Time:
		return date
	case *time.Time:
		return *date
	case int64:
		return time.Unix(date, 0)
	case int:
		return time.Unix(int64(date), 0)
	case int32:
		return time.Unix(int64(date), 0)
	}
	return s.clock()
}

// dates take the place of functions that read the clock for what is no date, and the time zone of the machine.
func (s *session) dates(own template.FuncMap) {
	in := func(layout string, date any, zone string) string {
		location, err := time.LoadLocation(zone)
		if err != nil || zone == "Local" {
			location = time.UTC
		}
		return s.time(date).In(location).Format(layout)
	}
	own["date"] = func(layout string, date any) string { return in(layout, date, "UTC") }
	own["dateInZone"], own["date_in_zone"] = in, in
	own["htmlDate"] = func(date any) string { return in(time.DateOnly, date, "UTC") }
	own["htmlDateInZone"] = func(date any, zone string) string { return in(time.DateOnly, date, zone) }
	own["toDate"] = func(layout, text string) time.Time { t, _ := time.Parse(layout, text); return t }
	own["mustToDate"] = time.Parse
	round, _ := sprig.TxtFuncMap()["durationRound"].(func(any) string)
	own["durationRound"] = func(value any) string {
		if t, ok := value.(time.Time); ok {
			value = int64(s.clock().Sub(t))
		}
		return round(value)
	}
}

// The letters of random texts: the two passes share none.
func alphabet(letters string, pass Pass) string {
	var out strings.Builder
	for i, r := range letters {
		if i%2 == int(pass) {
			out.WriteRune(r)
		}
	}
	return out.String()
}

const (
	digits = "0123456789"
	alphas = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	signs  = "!#$%&()*+,-./:;<=>?@[]^_{|}~"
)

// chance gives n letters that no other call of this pass gives.
func (s *session) chance(letters string, n int) (string, error) {
	if n <= 0 {
		return "", nil
	}
	if n > maxRandom {
		return "", s.spend(-1)
	}
	s.varies = true
	s.counter++
	letters = alphabet(letters, s.pass)
	base := big.NewInt(int64(len(letters)))
	out := make([]byte, 0, n)
	for block := 0; len(out) < n; block++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d", s.pass, s.counter, block))
		number := new(big.Int).SetBytes(sum[:])
		for range min(n-len(out), 32) {
			digit := new(big.Int)
			number.DivMod(number, base, digit)
			out = append(out, letters[digit.Int64()])
		}
	}
	return string(out), nil
}

func (s *session) random(own template.FuncMap) {
	of := func(letters string) func(int) (string, error) {
		return func(n int) (string, error) { return s.chance(letters, n) }
	}
	own["randAlphaNum"], own["randAlpha"], own["randNumeric"] = of(digits+alphas), of(alphas), of(digits)
	own["randAscii"] = of(digits + alphas + signs)
	own["randBytes"] = func(n int) (string, error) {
		text, err := s.chance(digits+alphas, n)
		return base64.StdEncoding.EncodeToString([]byte(text)), err
	}
	own["randInt"] = func(low, high int) (int, error) {
		switch {
		case high <= low:
			return 0, errors.New("randInt: the second number must be the larger one")
		case high-low == 1:
			return low, nil
		}
		s.varies = true
		return [2]int{low, high - 1}[s.pass], nil
	}
	own["uuidv4"] = func() string {
		s.varies = true
		s.counter++
		sum := sha256.Sum256(fmt.Appendf(nil, "uuid %d %d", s.pass, s.counter))
		h := hex.EncodeToString(sum[:16])
		return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-" + [2]string{"8", "b"}[s.pass] + h[17:20] + "-" + h[20:]
	}
	own["shuffle"] = func(text string) string {
		s.varies = true
		letters := []rune(text)
		slices.Sort(letters)
		if s.pass == Second {
			slices.Reverse(letters)
		}
		return string(letters)
	}
}

// certificate has the fields that templates read.
type certificate struct{ Cert, Key string }

// keys are never made: what they would be is compared with nothing, and making them is slow.
func (s *session) keys(own template.FuncMap) {
	block := func(kind string) string {
		text, _ := s.chance(digits+alphas, 48)
		return "-----BEGIN " + kind + "-----\n" + base64.StdEncoding.EncodeToString([]byte(text)) + "\n-----END " + kind + "-----\n"
	}
	issue := func() certificate { return certificate{Cert: block("CERTIFICATE"), Key: block("RSA PRIVATE KEY")} }
	withKey := func(key string) certificate { return certificate{Cert: block("CERTIFICATE"), Key: key} }
	own["genPrivateKey"] = func(kind string) string {
		switch kind {
		case "", "rsa":
			return block("RSA PRIVATE KEY")
		case "dsa":
			return block("DSA PRIVATE KEY")
		case "ecdsa":
			return block("EC PRIVATE KEY")
		case "ed25519":
			return block("PRIVATE KEY")
		}
		return "Unknown type " + kind
	}
	own["genCA"] = func(string, int) certificate { return issue() }
	own["genCAWithKey"] = func(_ string, _ int, key string) certificate { return withKey(key) }
	own["genSelfSignedCert"] = func(string, []any, []any, int) certificate { return issue() }
	own["genSelfSignedCertWithKey"] = func(_ string, _, _ []any, _ int, key string) certificate { return withKey(key) }
	own["genSignedCert"] = func(string, []any, []any, int, certificate) certificate { return issue() }
	own["genSignedCertWithKey"] = func(_ string, _, _ []any, _ int, _ certificate, key string) certificate { return withKey(key) }
	own["buildCustomCert"] = func(cert, key string) (certificate, error) {
		c, errCert := base64.StdEncoding.DecodeString(cert)
		k, errKey := base64.StdEncoding.DecodeString(key)
		if errCert != nil || errKey != nil {
			return certificate{}, errors.New("buildCustomCert: certificate and key must be base64")
		}
		return certificate{string(c), string(k)}, nil
	}
	hash := func(string) (string, error) {
		text, err := s.chance(digits+alphas, 53)
		return "$2a$10$" + text, err
	}
	own["bcrypt"] = hash
	own["htpasswd"] = func(user, password string) (string, error) {
		if strings.Contains(user, ":") {
			return "invalid username: " + user, nil
		}
		text, err := hash(password)
		return user + ":" + text, err
	}
	encrypt, _ := sprig.TxtFuncMap()["encryptAES"].(func(string, string) (string, error))
	own["encryptAES"] = func(password, text string) (string, error) {
		s.varies = true // its salt is random, and decryptAES must be able to read it
		return encrypt(password, text)
	}
}

// order: Go lists the keys of a mapping in no order.
func (s *session) order(own template.FuncMap) {
	sorted := func(m map[string]any) []string {
		names := slices.Sorted(maps.Keys(m))
		if s.pass == Second {
			slices.Reverse(names)
		}
		s.varies = s.varies || len(names) > 1
		return names
	}
	own["keys"] = func(all ...map[string]any) []string {
		out := []string{}
		for _, m := range all {
			out = append(out, sorted(m)...)
		}
		return out
	}
	own["values"] = func(m map[string]any) []any {
		out := []any{}
		for _, name := range sorted(m) {
			out = append(out, m[name])
		}
		return out
	}
}
