package main

import (
	"strings"
	"testing"
)

func TestPolicyShowStandard(t *testing.T) {
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"policy", "show", "--standard", "PCI DSS", "--standard", "FedRAMP moderate"}, testStreams(&stdout, &stderr))
	out := stdout.String()
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	for _, want := range []string{"pci-dss-4.0.1: PCI DSS, version 4.0.1", "11.5.2", "fedramp-moderate: ", "CM-8(3)", "at most five minutes", "twelve months"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "CM-3(7)") {
		t.Error("CM-3(7) is listed, and no baseline of FedRAMP has it")
	}
	stderr.Reset()
	code = run(t.Context(), []string{"policy", "show", "--standard", "ISO 9001"}, testStreams(&stdout, &stderr))
	if code != 2 || !strings.Contains(stderr.String(), `"ISO 9001"`) || !strings.Contains(stderr.String(), "iso27001-2022") {
		t.Errorf("exit %d, %q: want 2, and what is known", code, stderr.String())
	}
}
