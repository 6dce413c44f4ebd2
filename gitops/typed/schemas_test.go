package typed_test

import (
	"testing"

	"holdfast/gitops/typed"
)

func TestBuiltinTextIsWhole(t *testing.T) {
	if _, err := typed.Builtin(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkBuiltin(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := typed.Builtin(); err != nil {
			b.Fatal(err)
		}
	}
}
