package lab

import (
	"context"
	"sync"
	"testing"
)

// Shared is one lab for all tests of a package: started by the first test that asks, stopped when the last is over.
//
//	var clusters = lab.Shared{Options: lab.Options{Audit: true}}
//
//	func TestMain(m *testing.M) { os.Exit(clusters.Run(m)) }
//
//	func TestX(t *testing.T) { c := clusters.Get(t).Clusters[0]; ... }
//
// Tests that share keep to namespaces of their own.
type Shared struct {
	Options Options

	once sync.Once
	lab  *Lab
	err  error
}

// Run runs the tests, stops the lab if one was started, and returns the exit code.
func (s *Shared) Run(m *testing.M) int {
	defer s.stop()
	return m.Run()
}

func (s *Shared) stop() {
	if s.lab != nil {
		s.lab.Stop()
	}
}

// Get returns the lab. It skips the test under -short and fails it when the lab cannot start.
func (s *Shared) Get(t testing.TB) *Lab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the lab; -short skips it")
	}
	s.once.Do(func() {
		// not the test's context: the lab outlives the test that asked first
		s.lab, s.err = New(context.Background(), s.Options)
	})
	if s.err != nil {
		t.Fatalf("start the lab: %v", s.err)
	}
	return s.lab
}
