package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// What the image and the Dockerfile have in common; a test holds them together.
const (
	user            = "65532:65532"
	program         = "/holdfast"
	certificatePath = "/etc/ssl/certs/ca-certificates.crt"
)

func labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "Holdfast",
		"org.opencontainers.image.description": "Finds drift between Git and clusters, and answers it with signed pull requests and issues.",
	}
}

func ports() map[string]struct{} { return map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}} }

// options are what goes into an image.
type options struct {
	out, certificates string
	binaries          map[string]string // files, by architecture
	version, revision string
	created           time.Time // of everything in it; zero is 1970
}

// assemble writes the layout, and gives the digest of its index. An existing folder that is no layout is left alone.
func assemble(o options) (string, error) {
	if len(o.binaries) == 0 {
		return "", errors.New("no -binary is named")
	}
	if o.created.IsZero() {
		o.created = time.Unix(0, 0)
	}
	o.created = o.created.UTC()
	certificates, err := readCertificates(o.certificates)
	if err != nil {
		return "", err
	}
	base, err := layerOf(o.created, []file{{certificatePath, certificates, 0o644}})
	if err != nil {
		return "", err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range slices.Sorted(maps.Keys(o.binaries)) {
		image, err := o.image(architecture, base)
		if err != nil {
			return "", err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	if err := clear(o.out); err != nil {
		return "", err
	}
	path, err := layout.Write(o.out, empty.Index)
	if err != nil {
		return "", fmt.Errorf("%s: %w", o.out, err)
	}
	name := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": o.version})
	if err := path.AppendIndex(index, name); err != nil {
		return "", fmt.Errorf("%s: %w", o.out, err)
	}
	digest, err := index.Digest()
	return digest.String(), err
}

// clear removes an earlier layout, and nothing else.
func clear(out string) error {
	if _, err := os.Stat(out); errors.Is(err, os.ErrNotExist) {
		return os.MkdirAll(filepath.Dir(out), 0o755)
	}
	if _, err := os.Stat(filepath.Join(out, "oci-layout")); err != nil {
		return fmt.Errorf("%s is there and is no OCI layout: remove it, or name another folder", out)
	}
	return os.RemoveAll(out)
}

func (o options) image(architecture string, base v1.Layer) (v1.Image, error) {
	binary, err := readBinary(o.binaries[architecture], architecture)
	if err != nil {
		return nil, err
	}
	layer, err := layerOf(o.created, []file{{program, binary, 0o755}})
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: base, History: v1.History{Created: v1.Time{Time: o.created}, CreatedBy: "CA certificates"}},
		mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: o.created}, CreatedBy: "holdfast " + o.version}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", architecture, v1.Time{Time: o.created}
	config.Config = v1.Config{User: user, Entrypoint: []string{program}, Labels: labels(), ExposedPorts: ports()}
	config.Config.Labels["org.opencontainers.image.version"] = o.version
	config.Config.Labels["org.opencontainers.image.created"] = o.created.Format(time.RFC3339)
	if o.revision != "" {
		config.Config.Labels["org.opencontainers.image.revision"] = o.revision
	}
	return mutate.ConfigFile(image, config)
}

func readCertificates(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("CA certificates: %w: install the package ca-certificates, or name a bundle with -ca", err)
	}
	if block, _ := pem.Decode(data); block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("CA certificates: %s holds no certificate in PEM: name a bundle with -ca", name)
	}
	return data, nil
}

// readBinary refuses what would not start in an image that holds nothing else.
func readBinary(name, architecture string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("binary for %s: %w", architecture, err)
	}
	program, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("binary for %s: %s is no Linux program: %w", architecture, name, err)
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if machine, known := machines[architecture]; !known || program.Machine != machine {
		return nil, fmt.Errorf("binary for %s: %s is for %s", architecture, name, program.Machine)
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("binary for %s: %s needs a dynamic linker: build it with CGO_ENABLED=0", architecture, name)
		}
	}
	return data, nil
}

type file struct {
	name string
	data []byte
	mode int64
}

// layerOf makes a layer of files and the folders above them, all root's and of one time.
func layerOf(created time.Time, files []file) (v1.Layer, error) {
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	add := func(h tar.Header, data []byte) error {
		h.ModTime, h.Format = created, tar.FormatPAX
		if err := writer.WriteHeader(&h); err != nil {
			return err
		}
		_, err := writer.Write(data)
		return err
	}
	made := map[string]bool{"/": true}
	for _, f := range files {
		var above []string
		for dir := filepath.Dir(f.name); !made[dir]; dir = filepath.Dir(dir) {
			made[dir] = true
			above = append(above, dir)
		}
		for _, dir := range slices.Backward(above) {
			if err := add(tar.Header{Typeflag: tar.TypeDir, Name: dir[1:] + "/", Mode: 0o755}, nil); err != nil {
				return nil, err
			}
		}
		if err := add(tar.Header{Typeflag: tar.TypeReg, Name: f.name[1:], Mode: f.mode, Size: int64(len(f.data))}, f.data); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
}
