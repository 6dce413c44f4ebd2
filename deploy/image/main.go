// Command image assembles Holdfast's container image as an OCI layout: the static binary and the certificates of public
// CAs, nothing else. The same input gives the same bytes. No registry and no container engine is needed.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	var o options
	binaries := map[string]string{}
	flag.StringVar(&o.out, "out", "bin/image", "`FOLDER` to write; a layout that is there is replaced")
	flag.StringVar(&o.certificates, "ca", "/etc/ssl/certs/ca-certificates.crt", "`FILE` with the CA certificates to put in, PEM")
	flag.StringVar(&o.version, "version", "dev", "version of the program")
	flag.StringVar(&o.revision, "revision", "", "commit that it was built of")
	flag.Func("created", "`TIME` of that commit, RFC 3339 (default: 1970)", func(text string) (err error) {
		o.created, err = time.Parse(time.RFC3339, text)
		return err
	})
	flag.Func("binary", "`ARCHITECTURE=FILE`, as amd64=bin/holdfast; once for each", func(text string) error {
		architecture, file, found := strings.Cut(text, "=")
		if !found {
			return fmt.Errorf("%q: want an architecture and a file, as amd64=bin/holdfast", text)
		}
		binaries[architecture] = file
		return nil
	})
	flag.Parse()
	o.binaries = binaries
	digest, err := assemble(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Printf("%s %s\n", o.out, digest)
}
