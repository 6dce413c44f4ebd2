package holdfast_test

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers are the packages from the bottom up. A package may import those of lower layers, and of its own
// layer only where siblings says so.
var layers = [][]string{
	{"gitops"},
	{"gitops/strictyaml", "gitops/packed", "gitops/jqpath", "gitops/release", "gitops/glob"},
	{"gitops/typed", "gitops/repo/sign", "gitops/folder", "gitops/chart", "gitops/release/releasetest"},
	{"gitops/repo", "gitops/render"},
	{"gitops/render/cache"},
	{"gitops/repo/repotest", "gitops/charts"},
	{"gitops/flux", "gitops/argocd", "gitops/codify/splice"},
	{"gitops/engines"},
	{"gitops/codify"},
	{"detect"},
	{"detect/compare", "detect/assess", "detect/live", "detect/audit", "detect/setting", "detect/collect"},
	{"detect/classify", "detect/policy", "detect/audit/webhook", "detect/access"},
	{"detect/scan"},
	{"templates"},
	{"bot"},
	{"bot/forge", "bot/ledger", "bot/command", "bot/identity"},
	{"bot/forge/transport"},
	{"bot/forge/forgetest", "bot/forge/github", "bot/forge/gitlab", "bot/forge/gitea", "bot/forge/folder"},
	{"bot/propose", "bot/publish", "bot/store", "bot/store/storetest", "bot/ledger/export", "bot/guard"},
	{"bot/ledger/trail", "bot/steer", "bot/check"},
	{"bot/report/capacity", "bot/report/capacity/simulate", "bot/report/crd", "bot/report/knowledge", "bot/report/plot"},
	{"bot/report"},
	{"bot/serve"},
	{"bot/dashboard"},
	{"cmd/holdfast/config"},
	{"cmd/holdfast"},
}

// noIO are the packages that must not reach for the disk, the network, the clock or chance.
var noIO = []string{
	"gitops", "gitops/typed", "gitops/chart", "gitops/render/cache", "gitops/flux", "gitops/argocd", "gitops/engines", "gitops/jqpath", "gitops/release",
	"gitops/codify", "gitops/codify/splice", "detect", "detect/compare",
	"detect/classify", "detect/access", "detect/assess", "detect/audit", "detect/policy", "detect/setting", "bot", "bot/command", "bot/guard", "bot/identity", "bot/propose", "templates", "bot/report/capacity", "bot/report/capacity/simulate",
	"bot/report/crd", "bot/report/knowledge", "bot/report/plot", "bot/report",
}

// vendorOnly names modules that one folder alone may import.
var vendorOnly = map[string]string{
	"github.com/google/go-github":             "bot/forge/github",
	"github.com/bradleyfalzon/ghinstallation": "bot/forge/github",
	"github.com/xanzy/go-gitlab":              "bot/forge/gitlab",
	"github.com/go-git/go-git":                "gitops/repo",
	"sigs.k8s.io/kustomize/api":               "gitops/render",
	"helm.sh/helm/v4":                         "gitops/chart",
	"oras.land/oras-go":                       "gitops/charts",
	"k8s.io/client-go/dynamic":                "detect/live",
	"github.com/spf13/cobra":                  "cmd/holdfast",
	"sigs.k8s.io/structured-merge-diff":       "gitops/typed",
	"github.com/google/cel-go":                "detect/",
	"github.com/itchyny/gojq":                 "gitops/jqpath",
	"github.com/secure-systems-lab":           "bot/ledger",
	"github.com/riverqueue/river":             "bot/store",
	"github.com/jackc/pgx":                    "bot/store",
	"modernc.org/sqlite":                      "bot/store",
	"github.com/prometheus/client_golang":     "bot/serve",
}

func TestImportsGoDownTheLayers(t *testing.T) {
	rank := map[string]int{}
	for i, layer := range layers {
		for _, p := range layer {
			rank[p] = i
		}
	}
	for _, p := range packages(t) {
		own, known := rank[p.path]
		if !known {
			t.Errorf("package %s is in no layer: add it to layers, and to the picture in ARCHITECTURE.md", p.path)
			continue
		}
		for _, imported := range p.imports {
			local, ok := strings.CutPrefix(imported, "holdfast/")
			if ok && rank[local] >= own {
				t.Errorf("%s imports %s, which is not below it", p.path, local)
			}
			for vendor, home := range vendorOnly {
				if strings.HasPrefix(imported, vendor) && !strings.HasPrefix(p.path, home) {
					t.Errorf("%s imports %s, which only %s may", p.path, imported, home)
				}
			}
			if slices.Contains(noIO, p.path) && slices.Contains([]string{"os", "os/exec", "net", "net/http", "math/rand", "math/rand/v2"}, imported) {
				t.Errorf("%s is pure and imports %s", p.path, imported)
			}
		}
	}
}

type pkg struct {
	path    string
	imports []string
}

// packages lists the product's packages with the imports of their non-test files. The lab, generators and
// internal tools are no part of the product.
func packages(t *testing.T) []pkg {
	t.Helper()
	var out []pkg
	for _, top := range []string{"cmd", "bot", "detect", "gitops", "templates"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if name := d.Name(); name == "testdata" || name == "internal" || strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			p, err := build.ImportDir(path, 0)
			if none := new(build.NoGoError); errors.As(err, &none) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			out = append(out, pkg{path: filepath.ToSlash(path), imports: p.Imports})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
