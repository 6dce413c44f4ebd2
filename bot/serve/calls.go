package serve

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Calls counts and traces the requests that next carries to a forge. Api is the forge's type.
func (m *Metrics) Calls(api string, tracer trace.Tracer, next http.RoundTripper) http.RoundTripper {
	return calls{m, api, tracer, next}
}

type calls struct {
	metrics *Metrics
	api     string
	tracer  trace.Tracer
	next    http.RoundTripper
}

// RoundTrip carries one request. Its URL may name what is private, so only its shape is told.
func (c calls) RoundTrip(request *http.Request) (*http.Response, error) {
	operation := operation(request)
	ctx, span := c.tracer.Start(request.Context(), c.api+" "+operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("http.request.method", request.Method), attribute.String("server.address", request.URL.Hostname())))
	defer span.End()
	began := time.Now()
	response, err := c.next.RoundTrip(request.WithContext(ctx))
	c.metrics.callTime.WithLabelValues(c.api).Observe(time.Since(began).Seconds())
	if err != nil {
		c.metrics.calls.WithLabelValues(c.api, operation, "error").Inc()
		span.SetStatus(codes.Error, "no answer")
		return nil, err
	}
	c.metrics.calls.WithLabelValues(c.api, operation, strconv.Itoa(response.StatusCode)).Inc()
	span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	if response.StatusCode >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	for _, prefix := range []string{"X-RateLimit-", "RateLimit-"} {
		if left, err := strconv.ParseFloat(response.Header.Get(prefix+"Remaining"), 64); err == nil {
			c.metrics.quota.WithLabelValues(c.api, resourceOf(response.Header.Get(prefix+"Resource"))).Set(left)
			break
		}
	}
	return response, nil
}

// words are the parts of forges' paths that name an operation. Every other part is somebody's name or number.
func words() []string {
	return []string{
		"repos", "projects", "issues", "pulls", "merge_requests", "comments", "notes", "reactions", "award_emoji", "labels", "reviews", "approvals",
		"approval_state", "collaborators", "permission", "members", "all", "check-runs", "check-suites", "annotations", "statuses", "status", "commits", "git",
		"blobs", "trees", "refs", "heads", "branches", "protection", "branch_protections", "protected_branches", "files", "diffs", "changes", "merge",
		"app", "installation", "installations", "access_tokens", "user", "users", "graphql", "contents", "version", "search", "repository", "rate_limit",
	}
}

// operation is the method and the shape of the path: GET repos/_/_/issues.
func operation(r *http.Request) string {
	known := words()
	var out []string
	for _, part := range strings.Split(strings.Trim(r.URL.Path, "/"), "/") {
		switch {
		case part == "api" || part == "v1" || part == "v3" || part == "v4": // the prefix of self-managed forges
		case slices.Contains(known, part):
			out = append(out, part)
		case len(out) < 12:
			out = append(out, "_")
		}
	}
	method := r.Method
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead}, method) {
		method = "other"
	}
	return method + " " + strings.Join(out, "/")
}

// resourceOf is one of GitHub's names of a rate limit; what else a server says is not repeated.
func resourceOf(name string) string {
	if slices.Contains([]string{"core", "graphql", "search", "integration_manifest", "code_search"}, name) {
		return name
	}
	return "core"
}
