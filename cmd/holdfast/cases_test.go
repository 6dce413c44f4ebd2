package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCases runs every case of HOLDFAST_CASES, or of testdata/cases, through the whole command.
func TestCases(t *testing.T) {
	root := os.Getenv("HOLDFAST_CASES")
	if root == "" {
		root = filepath.Join("testdata", "cases")
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		found++
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			runCase(t, filepath.Join(root, e.Name()))
		})
	}
	if found == 0 {
		t.Fatalf("%s holds no case", root)
	}
}
