package repo

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// fetch brings the commits that choose names, after it has seen what the remote advertises, with the given
// depth; 0 means all history. The objects are in the store when it returns nil, and none of them otherwise.
func (r *Repository) fetch(ctx context.Context, depth int, choose func(*packp.AdvRefs) ([]plumbing.Hash, error)) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	endpoint := r.remote.endpoint // a copy: a redirect changes it
	session, err := r.remote.client.NewUploadPackSession(&endpoint, r.remote.auth)
	if err != nil {
		return r.remote.explain(ctx, err)
	}
	defer session.Close()
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return r.remote.explain(ctx, err)
	}
	wants, err := choose(advertised)
	if err != nil || len(wants) == 0 {
		return err
	}
	request := packp.NewUploadPackRequestFromCapabilities(advertised.Capabilities)
	request.Wants = wants
	if depth > 0 && advertised.Capabilities.Supports(capability.Shallow) {
		if err := request.Capabilities.Set(capability.Shallow); err != nil {
			return err
		}
		request.Depth = packp.DepthCommits(depth)
	}
	if r.namesOnly && advertised.Capabilities.Supports(capability.Filter) {
		if err := request.Capabilities.Set(capability.Filter); err != nil {
			return err
		}
		request.Filter = packp.FilterBlobNone()
	}
	answer, err := session.UploadPack(ctx, request)
	if err != nil {
		return r.remote.explain(ctx, err)
	}
	defer answer.Close()
	pack, err := readPack(answer, request.Capabilities, r.limits.Bytes)
	if err != nil {
		return r.remote.explain(ctx, err)
	}
	if err := checkSize(pack, r.limits.Bytes); err != nil {
		return err
	}
	if err := packfile.UpdateObjectStorage(r.store, bytes.NewReader(pack)); err != nil {
		return fmt.Errorf("read the pack: %w", err)
	}
	return nil
}

func readPack(answer io.Reader, negotiated *capability.List, limit int64) ([]byte, error) {
	switch {
	case negotiated.Supports(capability.Sideband64k):
		answer = sideband.NewDemuxer(sideband.Sideband64k, answer)
	case negotiated.Supports(capability.Sideband):
		answer = sideband.NewDemuxer(sideband.Sideband, answer)
	}
	pack, err := io.ReadAll(io.LimitReader(answer, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(pack)) > limit {
		return nil, tooManyBytes(limit)
	}
	return pack, nil
}

func tooManyBytes(limit int64) error {
	return fmt.Errorf("%w: it holds more than %d bytes; raise the limit, or lower the depth of history", ErrTooLarge, limit)
}

// checkSize refuses a pack before any of its objects is unpacked into memory: a pack of a few kilobytes can
// unpack to gigabytes. The size of a delta's result stands at its start.
func checkSize(pack []byte, limit int64) error {
	scanner := packfile.NewScanner(bytes.NewReader(pack))
	_, count, err := scanner.Header()
	if err != nil {
		return fmt.Errorf("read the pack: %w", err)
	}
	var total int64
	for range count {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return fmt.Errorf("read the pack: %w", err)
		}
		size := header.Length
		if header.Type.IsDelta() && size <= limit {
			var start prefix
			if _, _, err := scanner.NextObject(&start); err != nil {
				return fmt.Errorf("read the pack: %w", err)
			}
			if size, err = start.resultSize(); err != nil {
				return fmt.Errorf("read the pack: %w", err)
			}
		}
		if size < 0 || size > limit-total {
			return tooManyBytes(limit)
		}
		total += size
	}
	return nil
}

// prefix keeps the first bytes that are written to it.
type prefix struct {
	kept [2 * binary.MaxVarintLen64]byte
	n    int
}

func (p *prefix) Write(b []byte) (int, error) {
	p.n += copy(p.kept[p.n:], b)
	return len(b), nil
}

// resultSize reads the two sizes, of the base and of the result, that a delta starts with.
func (p *prefix) resultSize() (int64, error) {
	_, n := binary.Uvarint(p.kept[:p.n])
	if n <= 0 {
		return 0, errors.New("malformed delta")
	}
	size, n := binary.Uvarint(p.kept[n:p.n])
	if n <= 0 {
		return 0, errors.New("malformed delta")
	}
	return int64(size), nil
}
