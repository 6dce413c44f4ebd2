package serve

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Tracing gives a tracer that exports by OTLP over HTTP, and what ends it. Endpoint is the collector's URL, to which
// /v1/traces is added; empty leaves it to the OTEL_EXPORTER_OTLP_* variables, which hold headers and certificates
// too. With enabled false nothing is traced.
func Tracing(ctx context.Context, enabled bool, endpoint, version string) (trace.Tracer, func(context.Context) error, error) {
	if !enabled {
		return noop.NewTracerProvider().Tracer("holdfast"), func(context.Context) error { return nil }, nil
	}
	var options []otlptracehttp.Option
	if endpoint != "" {
		options = append(options, otlptracehttp.WithEndpointURL(strings.TrimSuffix(strings.TrimRight(endpoint, "/"), "/v1/traces")+"/v1/traces"))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", "holdfast"), attribute.String("service.version", version))
	if given, err := resource.New(ctx, resource.WithFromEnv()); err == nil { // OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
		if merged, err := resource.Merge(about, given); err == nil {
			about = merged
		}
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return provider.Tracer("holdfast"), provider.Shutdown, nil
}

// Phases gives a function that is told what a scan does, and makes each of it a span until the next, and end, which
// ends the last.
func Phases(ctx context.Context, tracer trace.Tracer) (phase func(message string), end func()) {
	var current trace.Span
	end = func() {
		if current != nil {
			current.End()
			current = nil
		}
	}
	return func(message string) {
		end()
		if message == "" {
			return
		}
		what := message
		if _, rest, ok := strings.Cut(message, ": "); ok { // behind the cluster's name
			what = rest
		}
		name, _, _ := strings.Cut(what, " ")
		_, current = tracer.Start(ctx, "scan "+name, trace.WithAttributes(attribute.String("holdfast.doing", message)))
	}, end
}
