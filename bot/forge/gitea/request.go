package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	perPage = 50 // the most that a server gives unless it is set up otherwise
	// A list that goes on beyond this many pages has no end: its server does not heed the page.
	maxPages = 1000
	// Answers are bounded: the largest is a page of pull requests with bodies of 64 KB.
	maxAnswer = 32 << 20
)

// refusal is an answer of the server's other than a success.
type refusal struct {
	status int
	said   string
	moved  string // where a redirect points to
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.status, r.said) }

// at is an address below the repository's. A part can hold anything, and stays one part.
func (f *Forge) at(parts ...string) *url.URL {
	all := []string{"repos", f.owner, f.repo}
	for _, part := range parts {
		if strings.Trim(part, ".") == "" {
			part = strings.ReplaceAll(part, ".", "%2E") // . and .. would be followed
		} else {
			part = url.PathEscape(part)
		}
		all = append(all, part)
	}
	return f.api.JoinPath(all...)
}

// read asks for one thing.
func (f *Forge) read(ctx context.Context, address *url.URL, out any) error {
	_, err := f.send(ctx, http.MethodGet, address, nil, out)
	return err
}

// pages asks for a list, page after page, and hands every entry to each until that says no.
func pages[T any](ctx context.Context, f *Forge, address *url.URL, query url.Values, each func(T) bool) error {
	if query == nil {
		query = url.Values{}
	}
	query.Set("limit", strconv.Itoa(perPage))
	got := 0
	for page := 1; page <= maxPages; page++ {
		query.Set("page", strconv.Itoa(page))
		address.RawQuery = query.Encode()
		var list []T
		header, err := f.send(ctx, http.MethodGet, address, nil, &list)
		if err != nil {
			return err
		}
		for _, entry := range list {
			if !each(entry) {
				return nil
			}
		}
		got += len(list)
		total, err := strconv.Atoi(header.Get("X-Total-Count"))
		if len(list) == 0 || err == nil && got >= total {
			return nil
		}
	}
	return fmt.Errorf("the list has no end after %d pages", maxPages)
}

// write sends a change. A refusal is told from that of an archived repository, which not every address names.
func (f *Forge) write(ctx context.Context, method string, address *url.URL, in, out any) error {
	_, err := f.send(ctx, method, address, in, out)
	var refused *refusal
	if errors.As(err, &refused) && refused.status == http.StatusForbidden {
		if archived := f.notArchived(ctx); errors.Is(archived, errArchived) {
			return archived
		}
	}
	return err
}

// notArchived is errArchived for an archived repository: Gitea lets its threads be changed still.
func (f *Forge) notArchived(ctx context.Context) error {
	var about repository
	if err := f.read(ctx, f.at(), &about); err != nil {
		return err
	}
	if about.Archived {
		return errArchived
	}
	return nil
}

// send makes a request and decodes the answer into out, unless that is nil.
func (f *Forge) send(ctx context.Context, method string, address *url.URL, in, out any) (http.Header, error) {
	var body io.Reader
	if in != nil {
		content, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(content)
	}
	request, err := http.NewRequestWithContext(ctx, method, address.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "holdfast")
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)
	case response.StatusCode < 200 || response.StatusCode > 299:
		return nil, &refusal{status: response.StatusCode, said: message(answer), moved: response.Header.Get("Location")}
	case out == nil:
		return response.Header, nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return nil, fmt.Errorf("the answer to %s %s is not what the API gives: %w", method, address.Path, err)
	}
	return response.Header, nil
}

// message is what the server says of a refusal, on one line and not too long; an error page of a proxy's says nothing.
func message(answer []byte) string {
	var said struct {
		Message string
		Errors  []string
	}
	if json.Unmarshal(answer, &said) != nil {
		return ""
	}
	for _, reason := range said.Errors {
		said.Message += "; " + reason
	}
	return cut(strings.Join(strings.Fields(said.Message), " "), 500)
}
