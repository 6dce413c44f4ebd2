package classify

import "testing"

func TestRulesLoad(t *testing.T) {
	if _, err := LoadRules(); err != nil {
		t.Fatal(err)
	}
}
