package charts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast/gitops"
)

// index is a repository's index.yaml, as far as fetching needs it
// (https://helm.sh/docs/topics/chart_repository/#the-index-file).
type index struct {
	Entries map[string][]struct {
		Version string   `yaml:"version"`
		URLs    []string `yaml:"urls"`
		Digest  string   `yaml:"digest"`
	} `yaml:"entries"`
}

// fromIndex fetches from an HTTP chart repository.
func fromIndex(ctx context.Context, client *http.Client, repo url.URL, chart gitops.Chart, options Options) (Fetched, error) {
	repo.Path = strings.TrimSuffix(repo.Path, "/") + "/"
	at := repo
	at.Path += "index.yaml"
	data, err := get(ctx, client, at.String(), options.Bytes)
	if err != nil {
		return Fetched{}, fmt.Errorf("index.yaml: %w", err)
	}
	var list index
	if err := yaml.Unmarshal(data, &list); err != nil {
		return Fetched{}, fmt.Errorf("index.yaml: it is no index of a chart repository: %s", gitops.WithoutValues(err.Error()))
	}
	entries := list.Entries[chart.Name]
	if len(entries) == 0 {
		return Fetched{}, fmt.Errorf("%w: its index lists no such chart", ErrNotFound)
	}
	versions := make([]string, len(entries))
	for i, e := range entries {
		versions[i] = e.Version
	}
	version, err := pick(chart, versions)
	if err != nil {
		return Fetched{}, err
	}
	entry := entries[slices.Index(versions, version)]
	if len(entry.URLs) == 0 {
		return Fetched{}, fmt.Errorf("version %s: its index names no archive", version)
	}
	archive, err := repo.Parse(entry.URLs[0])
	if err != nil {
		return Fetched{}, fmt.Errorf("version %s: the archive's URL in its index is none", version)
	}
	data, err = get(ctx, client, archive.String(), options.Bytes)
	if err != nil {
		return Fetched{}, fmt.Errorf("version %s: %w", version, err)
	}
	sum := sha256.Sum256(data)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	for _, want := range []string{chart.Digest, entry.Digest} {
		if want != "" && strings.TrimPrefix(want, "sha256:") != hex.EncodeToString(sum[:]) {
			return Fetched{}, fmt.Errorf("version %s: %w: the archive has %s, and %s is expected", version, ErrDigest, digest, want)
		}
	}
	tree, err := unpack(ctx, data, options.Bytes)
	if err != nil {
		return Fetched{}, fmt.Errorf("version %s: %w", version, err)
	}
	return Fetched{Tree: tree, Version: version, Digest: digest}, nil
}

// get reads one URL whole.
func get(ctx context.Context, client *http.Client, at string, most int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, plain(err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("%w: the server answers %s; check the user name and password of the chart repository", ErrDenied, response.Status)
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("%w: the server answers %s", ErrNotFound, response.Status)
	default:
		return nil, fmt.Errorf("the server answers %s", response.Status)
	}
	return readAll(response.Body, most)
}

func readAll(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%w: over the limit of %d MiB", ErrTooLarge, most>>20)
	}
	return data, nil
}

// plain takes the URL, which a query may make secret, out of a client's error.
func plain(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
