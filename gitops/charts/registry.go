package charts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"holdfast/gitops"
)

// chartLayer is the media type of a chart's archive in an OCI artifact
// (https://helm.sh/docs/topics/registries/#helm-chart-manifest).
const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// maxManifest bounds a manifest; the registry specification lets registries refuse those over 4 MiB.
const maxManifest = 4 << 20

// fromRegistry fetches from an OCI registry. The repository's name ends in the chart's, whether chart.Repo
// holds it already or not.
func fromRegistry(ctx context.Context, client *http.Client, repo url.URL, chart gitops.Chart, options Options) (Fetched, error) {
	name := repo.Host + strings.TrimSuffix(repo.Path, "/")
	if chart.Name != "" && !strings.HasSuffix(name, "/"+chart.Name) {
		name += "/" + chart.Name
	}
	registry, err := remote.NewRepository(name)
	if err != nil {
		return Fetched{}, fmt.Errorf("%s is not the name of a repository in a registry", name)
	}
	registry.PlainHTTP = options.PlainHTTP
	login := &auth.Client{Client: client, Cache: auth.NewCache()}
	login.SetUserAgent("holdfast")
	if options.Password != "" {
		login.Credential = auth.StaticCredential(registry.Reference.Registry, auth.Credential{Username: options.Username, Password: options.Password})
	}
	registry.Client = login

	tag, descriptor, err := resolve(ctx, registry, chart)
	if err != nil {
		return Fetched{}, err
	}
	if descriptor.Size > maxManifest {
		return Fetched{}, fmt.Errorf("version %s: its manifest: %w", tag, ErrTooLarge)
	}
	data, err := content.FetchAll(ctx, registry, descriptor)
	if err != nil {
		return Fetched{}, fmt.Errorf("version %s: %w", tag, explain(err))
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(data, &manifest); err != nil {
		return Fetched{}, fmt.Errorf("version %s: %w: its manifest is no image manifest", tag, ErrArchive)
	}
	i := slices.IndexFunc(manifest.Layers, func(l ocispec.Descriptor) bool { return l.MediaType == chartLayer })
	if i < 0 {
		return Fetched{}, fmt.Errorf("version %s: %w: the artifact has no layer of type %s", tag, ErrArchive, chartLayer)
	}
	layer := manifest.Layers[i]
	if layer.Size > options.Bytes {
		return Fetched{}, fmt.Errorf("version %s: %w: over the limit of %d MiB", tag, ErrTooLarge, options.Bytes>>20)
	}
	// Engines call the manifest's digest the chart's, index files the archive's.
	if want := chart.Digest; want != "" && want != string(layer.Digest) && want != string(descriptor.Digest) {
		return Fetched{}, fmt.Errorf("version %s: %w: the registry has %s, and %s is expected", tag, ErrDigest, descriptor.Digest, want)
	}
	archive, err := content.FetchAll(ctx, registry, layer) // checks size and digest
	if err != nil {
		return Fetched{}, fmt.Errorf("version %s: %w", tag, explain(err))
	}
	tree, err := unpack(ctx, archive, options.Bytes)
	if err != nil {
		return Fetched{}, fmt.Errorf("version %s: %w", tag, err)
	}
	return Fetched{Tree: tree, Version: strings.ReplaceAll(tag, "_", "+"), Digest: string(layer.Digest)}, nil
}

// resolve gives the manifest to fetch, and the tag that names it. A manifest's digest goes before every tag, as in
// Flux (https://fluxcd.io/flux/components/source/ocirepositories/#reference): a tag may have moved since. A digest
// of which the registry has no manifest is an archive's: then the tag decides, and what it holds is compared.
func resolve(ctx context.Context, registry *remote.Repository, chart gitops.Chart) (string, ocispec.Descriptor, error) {
	if strings.Contains(chart.Digest, ":") {
		descriptor, err := registry.Resolve(ctx, chart.Digest)
		switch {
		case err == nil:
			tag := cmp.Or(chart.Applied, chart.Version)
			if !isName(tag) {
				tag = chart.Digest
			}
			return tag, descriptor, nil
		case !errors.Is(err, errdef.ErrNotFound):
			return "", ocispec.Descriptor{}, fmt.Errorf("digest %s: %w", chart.Digest, explain(err))
		}
	}
	tag, err := tagOf(ctx, registry, chart)
	if err != nil {
		return "", ocispec.Descriptor{}, explain(err)
	}
	descriptor, err := registry.Resolve(ctx, tag)
	if err != nil {
		return "", ocispec.Descriptor{}, fmt.Errorf("version %s: %w", tag, explain(err))
	}
	return tag, descriptor, nil
}

// tagOf gives the tag to fetch. A tag cannot hold the + of a version, which Helm writes as _. The list of tags
// is asked for only where a range needs it.
func tagOf(ctx context.Context, registry *remote.Repository, chart gitops.Chart) (string, error) {
	switch {
	case chart.Applied != "":
		return strings.ReplaceAll(chart.Applied, "+", "_"), nil
	case chart.Version == "" && chart.Digest != "":
		return chart.Digest, nil
	case isName(chart.Version):
		return strings.ReplaceAll(chart.Version, "+", "_"), nil
	}
	var versions []string
	err := registry.Tags(ctx, "", func(tags []string) error {
		for _, tag := range tags {
			versions = append(versions, strings.ReplaceAll(tag, "_", "+"))
		}
		if len(versions) > maxFiles {
			return fmt.Errorf("%w: more than %d tags", ErrTooLarge, maxFiles)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	version, err := pick(chart, versions)
	return strings.ReplaceAll(version, "+", "_"), err
}

// isName says whether a version is one tag or digest, and no range.
func isName(version string) bool {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); err == nil {
		return true
	}
	_, err := semver.NewConstraint(version)
	return version != "" && err != nil
}

// explain gives a registry's error the words of this package.
func explain(err error) error {
	var response *errcode.ErrorResponse
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		return fmt.Errorf("%w: the registry has no such chart or version", ErrNotFound)
	case errors.As(err, &response) && (response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden):
		return fmt.Errorf("%w: the registry answers %d; check the user name and password of the chart repository", ErrDenied, response.StatusCode)
	case errors.As(err, &response) && response.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%w: the registry has no such chart", ErrNotFound)
	case errors.As(err, &response):
		return fmt.Errorf("the registry answers %d", response.StatusCode)
	}
	return plain(err)
}
