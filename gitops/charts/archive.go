package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"holdfast/gitops"
)

// maxFiles bounds the files of one archive.
const maxFiles = 10_000

// unpack reads a chart's .tgz, whose files all lie below one folder with the chart's name. Links and files
// outside of it are refused: a chart needs none.
func unpack(data []byte, most int64) (gitops.Tree, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return gitops.Tree{}, fmt.Errorf("%w: it is not compressed by gzip", ErrArchive)
	}
	files := map[string]gitops.File{}
	archive := tar.NewReader(compressed)
	for left := most; ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return gitops.Tree{}, fmt.Errorf("%w: %w", ErrArchive, err)
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
		if len(files) > maxFiles {
			return gitops.Tree{}, fmt.Errorf("%w: more than %d files", ErrTooLarge, maxFiles)
		}
	}
	if _, ok := files["Chart.yaml"]; !ok {
		return gitops.Tree{}, fmt.Errorf("%w: it has no Chart.yaml", ErrArchive)
	}
	return gitops.NewTree(files), nil
}

// inside takes the chart's folder off a name.
func inside(name string) (string, bool) {
	if path.IsAbs(name) || strings.Contains(name, `\`) {
		return "", false
	}
	_, rest, ok := strings.Cut(path.Clean(name), "/")
	return rest, ok && !strings.HasPrefix(path.Clean(name), "../")
}
