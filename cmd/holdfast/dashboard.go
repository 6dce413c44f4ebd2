package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"holdfast/bot/dashboard"
	"holdfast/bot/serve"
	"holdfast/cmd/holdfast/config"
)

// openDashboard gives the pages that the configuration asks for, and their address; nil where it asks for none.
func openDashboard(
	settings *config.Dashboard, clusters []serve.Cluster, reports func(context.Context) ([]serve.Report, error), log *slog.Logger, now func() time.Time,
) (http.Handler, string, error) {
	if settings == nil {
		return nil, "", nil
	}
	token, err := settings.Token()
	if err != nil {
		return nil, "", err
	}
	header, proxies := settings.Trusted()
	pages, err := dashboard.New(dashboard.Options{
		Reports: reports, Clusters: clusters, Token: token, UserHeader: header, Proxies: proxies, Log: log, Now: now,
	})
	if err != nil {
		return nil, "", err
	}
	return pages, settings.Listen, nil
}
