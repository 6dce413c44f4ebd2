package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"holdfast/gitops"
)

// maxFiles bounds the entries of one archive, folders included; entryBytes is what each may need beside its
// content: headers, a long name, padding.
const (
	maxFiles   = 10_000
	entryBytes = 2 << 10
)

// unpack reads a chart's .tgz, whose files all lie below one folder with the chart's name. Links and files
// outside of it are refused: a chart needs none. most bounds the content of all files, in bytes.
func unpack(ctx context.Context, data []byte, most int64) (gitops.Tree, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return gitops.Tree{}, fmt.Errorf("%w: it is not compressed by gzip", ErrArchive)
	}
	files := map[string]gitops.File{}
	archive := tar.NewReader(&limited{ctx: ctx, from: compressed, left: most + maxFiles*entryBytes})
	left := most
	for entries := 0; ; entries++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case errors.Is(err, ErrTooLarge), err != nil && ctx.Err() != nil:
			return gitops.Tree{}, err
		case err != nil:
			return gitops.Tree{}, fmt.Errorf("%w: %w", ErrArchive, err)
		case entries >= maxFiles:
			return gitops.Tree{}, fmt.Errorf("%w: more than %d files and folders", ErrTooLarge, maxFiles)
		}
		switch header.Typeflag {
		case tar.TypeReg:
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		default:
			return gitops.Tree{}, fmt.Errorf("%w: %q is a link or a special file", ErrArchive, header.Name)
		}
		name, ok := inside(header.Name)
		if !ok {
			return gitops.Tree{}, fmt.Errorf("%w: %q lies outside the chart's folder", ErrArchive, header.Name)
		}
		content, err := readAll(archive, left)
		if err != nil {
			return gitops.Tree{}, fmt.Errorf("%q: %w", header.Name, err)
		}
		left -= int64(len(content))
		files[name] = gitops.File{Data: content}
	}
	if _, ok := files["Chart.yaml"]; !ok {
		return gitops.Tree{}, fmt.Errorf("%w: it has no Chart.yaml", ErrArchive)
	}
	return gitops.NewTree(files), nil
}

// limited reads what is left of a stream, and no longer than its context lives. A stream that goes on is an error,
// where io.LimitReader would make it look complete.
type limited struct {
	ctx  context.Context
	from io.Reader
	left int64
}

func (l *limited) Read(to []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := l.from.Read(to)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("%w: what it unpacks to, headers included", ErrTooLarge)
	}
	return n, err
}

// inside takes the chart's folder off a name.
func inside(name string) (string, bool) {
	if path.IsAbs(name) || strings.Contains(name, `\`) {
		return "", false
	}
	_, rest, ok := strings.Cut(path.Clean(name), "/")
	return rest, ok && !strings.HasPrefix(path.Clean(name), "../")
}
