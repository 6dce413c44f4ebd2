// Command codify is the mutation benchmark of codify, which BENCHMARKS.md reports: it renders the Applications of public
// GitOps repositories, takes each rendered object as live with one field changed at random, asks for the edit, and judges
// it with other programs: kubectl kustomize and helm template, before and after. Run it from the root of the repository,
// by `make bench-codify`; it needs the lab, and clones the repositories once.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/deploy/lab/binary"
	"holdfast/detect/compare"
	"holdfast/gitops"
	"holdfast/gitops/render/cache"
	"holdfast/gitops/typed"
)

// options are the flags.
type options struct {
	list, cache, repo, app, failures, groups, only string
	from                                           sources
	seed                                           uint64
	cases, one, changes, workers                   int
	timeout                                        time.Duration
	verbose                                        bool
}

func main() {
	o := options{from: sources{}}
	flag.StringVar(&o.list, "list", "deploy/bench/codify/repositories.yaml", "the repositories and what is tried of them")
	flag.StringVar(&o.cache, "cache", cmp.Or(os.Getenv("HOLDFAST_BENCH_CACHE"), "../holdfast-bench"), "folder for the checkouts, which are kept (HOLDFAST_BENCH_CACHE)")
	flag.Var(o.from, "from", "URL=FOLDER[,URL=FOLDER]: clone from a folder of this machine (HOLDFAST_BENCH_FROM)")
	flag.StringVar(&o.repo, "repo", "", "only repositories with this in their name")
	flag.StringVar(&o.app, "app", "", "only this Application")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the changes")
	flag.IntVar(&o.cases, "cases", 60, "changes of each repository, spread over its Applications")
	flag.IntVar(&o.one, "case", -1, "only this change of each Application")
	flag.IntVar(&o.changes, "growth", 1000, "how many changes are made in one process to see whether the time for one grows")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "how many changes are tried at a time")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long codify may search for one change")
	flag.StringVar(&o.failures, "failures", "", "file for what was not codified, one JSON object a line")
	flag.StringVar(&o.groups, "groups", "", "folder for the same as texts, grouped by reason")
	flag.StringVar(&o.only, "only", "mutations,renders,growth", "what to measure, in this order")
	flag.BoolVar(&o.verbose, "v", false, "print every case")
	if given := os.Getenv("HOLDFAST_BENCH_FROM"); given != "" {
		if err := o.from.Set(given); err != nil {
			fmt.Fprintln(os.Stderr, "bench: HOLDFAST_BENCH_FROM:", err)
			os.Exit(2)
		}
	}
	flag.Parse()
	log.SetOutput(io.Discard) // Helm's library writes there what charts make it warn of, a hundred times
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	schemas, err := typed.Builtin()
	if err != nil {
		return err
	}
	fmt.Printf("%s, %s %s/%s, %d processors, load average %s\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load())
	if o.repo != "" || o.app != "" || o.one >= 0 {
		o.only = "mutations"
	}
	for _, part := range strings.Split(o.only, ",") {
		measure, known := map[string]func(context.Context, *typed.Schemas) error{
			"mutations": o.mutations, "renders": o.fewRenders, "growth": o.growth,
		}[part]
		if !known {
			return fmt.Errorf("-only: no part %q", part)
		}
		if err := measure(ctx, schemas); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return nil
}

func (o options) mutations(ctx context.Context, schemas *typed.Schemas) error {
	all, err := readList(o.list)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	tools, err := labPrograms(temporary)
	if err != nil {
		return err
	}
	var outcomes []outcome
	for _, r := range all.picked(o.repo) {
		found, failed := o.repository(ctx, r, tools, schemas, temporary)
		outcomes = append(outcomes, found...)
		if err := o.write(outcomes); err != nil {
			return err
		}
		if failed != nil { // what was found until then is reported all the same
			err = fmt.Errorf("%s: %w", r.name(), failed)
			break
		}
	}
	fmt.Println()
	table(os.Stdout, outcomes)
	judges(os.Stdout, outcomes)
	reasons(os.Stdout, outcomes)
	return err
}

// labPrograms finds kubectl and Helm of the lab.
func labPrograms(home string) (programs, error) {
	store, err := binary.Open(".", os.Getenv(binary.CacheEnv))
	if err != nil {
		return programs{}, err
	}
	p := programs{home: home}
	if p.kubectl, err = store.Find(binary.Kubebox()); err != nil {
		return p, err
	}
	p.helm, err = store.Find(binary.Helm())
	return p, err
}

// repository tries the changes of one repository.
func (o options) repository(ctx context.Context, r repository, tools programs, schemas *typed.Schemas, temporary string) ([]outcome, error) {
	dir, err := fetched(ctx, r, o.cache, o.from)
	if err != nil {
		return nil, err
	}
	tree, err := treeOf(dir, r)
	if err != nil {
		return nil, err
	}
	b := o.bench(r, tree, tools, schemas)
	fmt.Printf("\n%s at %.12s: %d files, %d Applications, %d of them tried, %d members\n", r.name(), r.Revision, tree.Len(), len(b.fleet), len(b.apps), len(b.judge.members))
	var spaces []*workspace
	for range o.workers {
		w, err := newWorkspace(temporary, tree)
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(w.dir)
		spaces = append(spaces, w)
	}
	var outcomes []outcome
	var mutex sync.Mutex
	start := time.Now()
	err = b.all(ctx, spaces, o.cases, o.app, o.one, func(found outcome) {
		mutex.Lock()
		defer mutex.Unlock()
		if found.Result != untouched {
			outcomes = append(outcomes, found)
		}
		if o.verbose {
			found.describe(os.Stdout)
		}
	})
	slices.SortFunc(outcomes, func(a, b outcome) int { return cmp.Or(cmp.Compare(a.App, b.App), a.Case-b.Case) })
	t := &tally{}
	for _, found := range outcomes {
		t.add(found)
	}
	fmt.Printf("  %d tried, %d codified, %d refused, %d out of time, %d wrong; %s\n", t.tried, t.codified, t.refused, t.late, t.wrong, time.Since(start).Round(time.Second))
	for _, text := range b.byApp() {
		fmt.Printf("  skipped: %.400s\n", text)
	}
	return outcomes, err
}

func (o options) bench(r repository, tree gitops.Tree, tools programs, schemas *typed.Schemas) *bench {
	e := newEstate(r, tree)
	return &bench{
		estate: e, judge: newJudge(e, tools, schemas), express: &express{schemas: schemas}, schemas: schemas, comparer: compare.New(schemas),
		renders: cache.New(cache.DefaultBytes), seed: o.seed, timeout: o.timeout, usable: map[string][]gitops.Declared{},
	}
}

func (o options) write(outcomes []outcome) error {
	if o.failures != "" {
		if err := writeJSON(o.failures, outcomes); err != nil {
			return err
		}
	}
	if o.groups != "" {
		return writeGroups(o.groups, outcomes)
	}
	return nil
}

func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:3], " ")
}
