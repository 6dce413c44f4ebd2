package assess

import "testing"

func TestTablesLoad(t *testing.T) {
	if _, err := New(); err != nil {
		t.Fatal(err)
	}
}
