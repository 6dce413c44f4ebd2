package lab

import "testing"

// Outage kills the API server, as a machine that loses its power does, and starts it again, on the same address and
// with the same data, when during returns.
func (c *Cluster) Outage(t testing.TB, during func()) {
	t.Helper()
	c.apiserver.kill()
	during()
	if err := c.startAPIServer(t.Context()); err != nil {
		t.Fatalf("start the API server again: %v", err)
	}
}
