package policy

import (
	"testing"

	"holdfast/detect"
)

func BenchmarkDecode(b *testing.B) {
	_, plain := BuiltinSource(detect.Production)
	conditional := []byte("apiVersion: holdfast/v1\nkind: Policy\nrules: [{name: a, when: field.riskLevel > 3, disposition: issue}]\n")
	for name, data := range map[string][]byte{"plain": plain, "with a condition": conditional} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Decode("policy.yaml", data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	conditional, err := Decode("policy.yaml", []byte(`{apiVersion: holdfast/v1, kind: Policy, rules: [
  {name: a, when: "field.riskLevel > 3 && object.namespace.startsWith('shop')", disposition: issue},
  {name: b, when: "field.writer.manager.startsWith('kubectl') && !has(field.git)", disposition: revert}]}`))
	if err != nil {
		b.Fatal(err)
	}
	for name, p := range map[string]*Policy{"built-in": Builtin(detect.Production), "two conditions": conditional} {
		b.Run(name, func(b *testing.B) {
			in := Input{Finding: deployment(), Field: &detect.Field{Drift: true, Cause: detect.CauseAPI, Risk: detect.Low}, Now: now}
			for b.Loop() {
				p.Decide(in)
			}
		})
	}
}
