package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"

	"holdfast/detect/audit"
	"holdfast/detect/scan"
)

// readAudits reads the audit logs that --audit names, as [CLUSTER=]FILE, and gives each target its own. A log without
// a cluster's name is for the only cluster: events do not say which cluster they are of.
func readAudits(given []string, targets []scan.Target) error {
	for _, text := range given {
		cluster, file, named := strings.Cut(text, "=")
		if _, err := os.Stat(text); err == nil || !named {
			cluster, file = "", text
		}
		if cluster == "" && len(targets) > 1 {
			return fmt.Errorf("--audit %s: which of the %d clusters is it of? Write --audit CLUSTER=FILE", text, len(targets))
		}
		log, err := readAudit(file)
		if err != nil {
			return fmt.Errorf("--audit %s: %w", file, err)
		}
		found := false
		for i := range targets {
			t := &targets[i]
			if cluster != "" && cluster != t.Name {
				continue
			}
			found = true
			if t.Audit == nil {
				t.Audit = audit.NewLog()
			}
			t.Audit.Merge(log)
		}
		if !found {
			return fmt.Errorf("--audit %s: no cluster %q is scanned", text, cluster)
		}
	}
	return nil
}

func readAudit(name string) (*audit.Log, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			return nil, err
		}
	}
	log, err := audit.Decode(in)
	if err != nil {
		return nil, err
	}
	log.Name = name
	return log, nil
}
