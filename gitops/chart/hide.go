package chart

import (
	"fmt"
	"regexp"
)

// shortSecret is the length below which hiding a value would garble a message more than it hides.
const shortSecret = 4

// secretName are keys of values whose text is taken for a secret, wherever it comes from.
var secretName = regexp.MustCompile(`(?i)passw|secret|token|credential|apikey|api_key|private|htpasswd|dsn|connectionstring`)

// namesSecret are keys that name a Secret instead of holding one.
var namesSecret = regexp.MustCompile(`(?i)^existing|name$|ref$`)

// hidden are the texts that no error may repeat: those of Secrets, and those whose key says that they are one.
func hidden(secrets []string, values ...map[string]any) []string {
	var out []string
	add := func(text string) {
		if len(text) >= shortSecret {
			out = append(out, text)
		}
	}
	for _, s := range secrets {
		add(s)
	}
	var look func(v any, secret bool)
	look = func(v any, secret bool) {
		switch v := v.(type) {
		case map[string]any:
			for key, e := range v {
				look(e, secretName.MatchString(key) && !namesSecret.MatchString(key))
			}
		case []any:
			for _, e := range v {
				look(e, secret)
			}
		case nil, bool:
		default:
			if secret {
				add(fmt.Sprint(v))
			}
		}
	}
	for _, v := range values {
		look(v, false)
	}
	return longestFirst(out)
}
