// Command gen writes ../../builtin.txt, the types of Kubernetes' built-in kinds in the form that package
// typed reads: names, merge semantics, formats and zero values of fields, each taken from its source.
//
//   - Fields, Go pointers and scalar formats come from the Go types of k8s.io/api and
//     k8s.io/apiextensions-apiserver by reflection.
//   - Merge semantics (keyed, set, atomic) and the few published defaults come from the
//     structured-merge-diff schema embedded in client-go.
//
// Run it with `go run ./gitops/typed/internal/gen` at the root of the repository; -check compares only.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "gitops/typed/builtin.txt", "the file to write")
	check := flag.Bool("check", false, "write nothing; fail when the file is not what would be written")
	flag.Parse()
	if err := run(*out, *check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(out string, check bool) error {
	merge, err := embeddedSchema()
	if err != nil {
		return err
	}
	g := newGenerator(merge)
	g.addBuiltins()
	g.addExtensions()
	text := g.text()
	if check {
		old, err := os.ReadFile(out)
		if err != nil {
			return err
		}
		if !bytes.Equal(old, text) {
			return errors.New(out + " is stale: run go run ./gitops/typed/internal/gen")
		}
		return nil
	}
	return os.WriteFile(out, text, 0o644)
}
