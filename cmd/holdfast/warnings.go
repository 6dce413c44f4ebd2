package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
)

// withoutWarnings keeps Helm's log and kustomize's deprecation warnings off the terminal. Kustomize prints them to os.Stderr at every
// render, and codify renders often. Everything else that libraries and credential plugins print there passes.
// flush waits until it has.
func withoutWarnings() (flush func()) {
	// Helm logs what it passes over in values, values themselves among it, by the standard logger, which nothing
	// here uses.
	log.SetOutput(io.Discard)
	reader, writer, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	terminal := os.Stderr
	os.Stderr = writer
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			if !strings.HasPrefix(lines.Text(), "# Warning: '") {
				fmt.Fprintln(terminal, lines.Text())
			}
		}
	}()
	return func() {
		os.Stderr = terminal
		writer.Close()
		<-done
	}
}
