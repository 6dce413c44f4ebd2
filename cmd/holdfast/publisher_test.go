package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/bot/propose"
	"holdfast/detect"
	"holdfast/gitops"
)

func TestOnlyWhatWasSeenIsClosed(t *testing.T) {
	app := func(name string, state detect.State) detect.AssessedApplication {
		return detect.AssessedApplication{
			Application: gitops.Application{Cluster: "one", Namespace: "a", Name: name, Source: gitops.Source{Repo: "repo-of-" + name}}, State: state,
		}
	}
	secret := detect.ObjectRef{APIVersion: "v1", Kind: "Secret", Namespace: "a", Name: "s"}
	shop, web, root := bot.ScopeMark("one/a/shop"), bot.ScopeMark("one/a/web"), bot.ScopeMark(propose.RootScope)
	for name, c := range map[string]struct {
		scan detect.Scan
		want map[string]bool
	}{
		"all assessed": {
			detect.Scan{Applications: []detect.AssessedApplication{app("shop", detect.Rendered), app("web", detect.Rendered)}},
			map[string]bool{shop: true, web: true, root: true}},
		"an Application is unknown": {
			detect.Scan{Applications: []detect.AssessedApplication{app("shop", detect.Rendered), app("web", detect.Unknown)}},
			map[string]bool{shop: true, root: false}},
		"an object of an Application is unknown": {
			detect.Scan{
				Applications: []detect.AssessedApplication{app("shop", detect.Rendered), app("web", detect.Rendered)},
				Unknown:      []detect.UnknownObject{{Cluster: "one", Application: "a/web", Object: secret}}},
			map[string]bool{shop: true, root: false}},
		"a Secret is left unread by choice": {
			detect.Scan{
				Applications: []detect.AssessedApplication{app("shop", detect.Rendered)},
				Unknown:      []detect.UnknownObject{{Cluster: "one", Application: "a/shop", Object: secret, ByChoice: true}}},
			map[string]bool{shop: true, root: true}},
		"another cluster does not answer": {
			detect.Scan{
				Applications: []detect.AssessedApplication{app("shop", detect.Rendered)},
				Unknown:      []detect.UnknownObject{{Cluster: "two", Reason: "no answer"}}},
			map[string]bool{shop: true, root: false}},
	} {
		t.Run(name, func(t *testing.T) {
			got := seen(c.scan)
			if diff := cmp.Diff(c.want, got.Scopes); diff != "" {
				t.Error(diff)
			}
			for _, u := range c.scan.Unknown {
				if u.Object == secret && !got.Unknown[detect.FindingID(u.Cluster, u.Application, secret.ID())] {
					t.Error("the unknown Secret would pass for one that agrees")
				}
			}
		})
	}
}

func TestRepositoriesOfUnknownApplicationsAreNotAskedFor(t *testing.T) {
	result := detect.Scan{Applications: []detect.AssessedApplication{
		{Application: gitops.Application{Source: gitops.Source{Repo: "ours"}}, State: detect.Rendered},
		{Application: gitops.Application{Source: gitops.Source{Repo: "ours"}}, State: detect.Rendered},
		{Application: gitops.Application{Source: gitops.Source{Repo: "theirs"}}, State: detect.Unknown},
	}}
	if diff := cmp.Diff([]string{"ours"}, (&session{}).repositoriesOf(result)); diff != "" {
		t.Error(diff)
	}
}
