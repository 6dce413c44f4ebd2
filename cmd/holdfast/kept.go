package main

import (
	"context"
	"sync"
	"time"

	"holdfast/gitops/repo"
)

const (
	// keptFor is how long a repository stays open: what was fetched into it beyond its branch goes with it.
	keptFor = time.Hour
	// keptIdle is how long one that nobody asks for stays open.
	keptIdle = 30 * time.Minute
	// mostKept bounds the memory that open repositories take; each has its own limit of bytes.
	mostKept = 50
)

// keptSources keeps repositories open from run to run, as long as their remote stands where it was read. Each run
// has one state of a repository; a later run may have a later one.
type keptSources struct {
	now func() time.Time
	// git, when set, is told of each operation.
	git func(operation string, took time.Duration, err error)

	mu   sync.Mutex
	open map[string]*keptSource
}

// keptSource is one repository. Its lock is held while it is looked at, so that it is opened once.
type keptSource struct {
	mu      sync.Mutex
	options repo.Options
	source  *source
	opened  time.Time
	asked   time.Time
}

func newKeptSources(now func() time.Time, git func(string, time.Duration, error)) *keptSources {
	return &keptSources{now: now, git: git, open: map[string]*keptSource{}}
}

// get gives the repository as its remote has it now.
func (k *keptSources) get(ctx context.Context, options repo.Options) (*source, error) {
	one := k.find(options.URL)
	one.mu.Lock()
	defer one.mu.Unlock()
	now := k.now()
	if one.source != nil && one.source.git != nil && now.Sub(one.opened) < keptFor && sameOptions(one.options, options) {
		var current bool
		err := k.timed("check", func() (err error) { current, err = one.source.git.Current(ctx); return err })
		if err != nil || current {
			return one.source, err
		}
	}
	one.source = nil // let go of the old one before the new one is read
	var opened *source
	err := k.timed("open", func() (err error) { opened, err = openSource(ctx, options); return err })
	if err != nil {
		return nil, err
	}
	one.source, one.options, one.opened = opened, options, now
	return opened, nil
}

// sameOptions says whether a repository that was opened with a would be opened alike with b: a changed credential
// opens it anew.
func sameOptions(a, b repo.Options) bool {
	return a.Branch == b.Branch && a.Auth.Username == b.Auth.Username && a.Auth.Password == b.Auth.Password &&
		string(a.Auth.SSHKey) == string(b.Auth.SSHKey) && string(a.Auth.KnownHosts) == string(b.Auth.KnownHosts)
}

// find gives the place of a repository, and forgets those that nobody asked for.
func (k *keptSources) find(url string) *keptSource {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	oldest := ""
	for name, one := range k.open {
		if name == url {
			continue
		}
		if now.Sub(one.asked) > keptIdle {
			delete(k.open, name)
			continue
		}
		if oldest == "" || one.asked.Before(k.open[oldest].asked) {
			oldest = name
		}
	}
	if _, known := k.open[url]; !known {
		if len(k.open) >= mostKept && oldest != "" {
			delete(k.open, oldest)
		}
		k.open[url] = &keptSource{}
	}
	k.open[url].asked = now
	return k.open[url]
}

func (k *keptSources) timed(operation string, work func() error) error {
	began := k.now()
	err := work()
	if k.git != nil {
		k.git(operation, k.now().Sub(began), err)
	}
	return err
}
