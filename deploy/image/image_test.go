package main

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// given makes programs for both architectures, and a certificate.
func given(t *testing.T) options {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("makes Linux programs")
	}
	dir := t.TempDir()
	o := options{
		out: filepath.Join(dir, "image"), certificates: filepath.Join(dir, "ca.crt"), binaries: map[string]string{}, version: "v1.2.3", revision: "0123abcd",
		created: time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("", 3600)),
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module program\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() { println(\"started\") }\n")
	for _, architecture := range []string{"amd64", "arm64"} {
		o.binaries[architecture] = filepath.Join(dir, architecture)
		build := exec.Command("go", "build", "-o", o.binaries[architecture], ".")
		build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOARCH="+architecture)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, &authority, &authority, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return o
}

// contents gives all files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		out[strings.TrimPrefix(name, dir)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheImage(t *testing.T) {
	o := given(t)
	first, err := assemble(o)
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, o.out)
	again, err := assemble(o)
	if err != nil {
		t.Fatal(err)
	}
	if after := contents(t, o.out); first != again || len(before) < 9 || cmp.Diff(before, after) != "" {
		t.Errorf("the second run gives %s after %s, %d files after %d", again, first, len(after), len(before))
	}
	o.created = o.created.Add(time.Second)
	if other, err := assemble(o); err != nil || other == first {
		t.Errorf("another commit gives %s, %v", other, err)
	}
	o.created = o.created.Add(-time.Second)
	if _, err := assemble(o); err != nil {
		t.Fatal(err)
	}

	top, err := layout.ImageIndexFromPath(o.out)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest.String() != first || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Fatalf("index.json: %+v", manifest.Manifests)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for i, architecture := range []string{"amd64", "arm64"} {
		if p := platforms.Manifests[i].Platform; p.OS != "linux" || p.Architecture != architecture {
			t.Errorf("platform %d is %v", i, p)
		}
		image, err := index.Image(platforms.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := config.Config
		if config.Architecture != architecture || c.User != "65532:65532" || fmt.Sprint(c.Entrypoint, c.Cmd) != "[/holdfast] []" || c.Labels["org.opencontainers.image.version"] != "v1.2.3" ||
			c.Labels["org.opencontainers.image.revision"] != "0123abcd" || c.Labels["org.opencontainers.image.created"] != "2026-11-20T11:00:00Z" {
			t.Errorf("config %+v", config)
		}
		program, err := os.ReadFile(o.binaries[architecture])
		if err != nil {
			t.Fatal(err)
		}
		files := unpacked(t, image)
		if got, want := listed(files), "etc/ 755, etc/ssl/ 755, etc/ssl/certs/ 755, etc/ssl/certs/ca-certificates.crt 644, holdfast 755"; got != want {
			t.Errorf("it holds %s, want %s", got, want)
		}
		if !bytes.Equal(files[len(files)-1].data, program) {
			t.Error("the program is another one")
		}
	}
}

// unpacked gives what the layers hold, in order.
func unpacked(t *testing.T, image v1.Image) (out []file) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers {
		stream, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for reader := tar.NewReader(stream); ; {
			header, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if header.Uid != 0 || header.Gid != 0 || !header.ModTime.Equal(time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)) {
				t.Errorf("%s: %d:%d, %v", header.Name, header.Uid, header.Gid, header.ModTime)
			}
			data, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, file{header.Name, data, header.Mode})
		}
		stream.Close()
	}
	return out
}

func listed(files []file) string {
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("%s %o", f.name, f.mode))
	}
	return strings.Join(out, ", ")
}

func TestWhatCannotBeAnImage(t *testing.T) {
	o := given(t)
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "a-thesis.txt"), []byte("the only copy"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*options)
		want   string
	}{
		"no certificates":           {func(o *options) { o.certificates = filepath.Join(full, "none") }, "install the package ca-certificates, or name a bundle with -ca"},
		"a bundle without any":      {func(o *options) { o.certificates = script }, "holds no certificate in PEM"},
		"no program":                {func(o *options) { o.binaries = nil }, "no -binary is named"},
		"a program that is missing": {func(o *options) { o.binaries = map[string]string{"amd64": filepath.Join(full, "none")} }, "binary for amd64"},
		"a script":                  {func(o *options) { o.binaries = map[string]string{"amd64": script} }, "is no Linux program"},
		"another architecture":      {func(o *options) { o.binaries = map[string]string{"arm64": o.binaries["amd64"]} }, "is for EM_X86_64"},
		"a program with a linker":   {func(o *options) { o.binaries = map[string]string{runtime.GOARCH: "/bin/sh"} }, "needs a dynamic linker: build it with CGO_ENABLED=0"},
		"a folder of other things":  {func(o *options) { o.out = full }, "is no OCI layout"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := o
			c.change(&changed)
			if _, err := assemble(changed); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(full, "a-thesis.txt")); err != nil {
		t.Error("a file that was there is gone")
	}
}

func TestTheDockerfileMakesTheSame(t *testing.T) {
	data, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			got = append(got, line)
		}
	}
	entry, err := json.Marshal([]string{program})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"FROM scratch",
		fmt.Sprintf("LABEL org.opencontainers.image.title=%q", labels()["org.opencontainers.image.title"]),
		fmt.Sprintf("LABEL org.opencontainers.image.description=%q", labels()["org.opencontainers.image.description"]),
		"COPY --chmod=644 ca-certificates.crt " + certificatePath, "COPY --chmod=755 holdfast " + program, "USER " + user,
		"EXPOSE " + regexp.MustCompile(`/tcp|[{}\[\]]`).ReplaceAllString("8080/tcp 8081/tcp", ""), "ENTRYPOINT " + string(entry),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, port := range []string{"8080/tcp", "8081/tcp"} {
		if _, open := ports()[port]; !open || len(ports()) != 2 {
			t.Errorf("the image opens %v", ports())
		}
	}
}
