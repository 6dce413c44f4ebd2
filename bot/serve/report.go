package serve

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/propose"
	"holdfast/bot/publish"
	"holdfast/detect"
	"holdfast/gitops"
)

// Report is what the last round of a cluster found and did, as it is kept in the store.
type Report struct {
	Cluster string
	// Began and Ended are those of the round; Scanned is when its scan was whole.
	Began, Scanned, Ended time.Time
	// Error is why the round failed, empty for one that did not; FailingSince is when the first failed that no
	// other succeeded after. What a failed round did not find is of the last one that did.
	Error        string    `json:",omitempty"`
	FailingSince time.Time `json:",omitzero"`
	// Scan is the scan without what is large: declared and live objects, inventories.
	Scan      detect.Scan
	Published Published
	Reads     []Reads
	// Files are those that declare what each drift is about, by its ID.
	Files map[string][]string `json:",omitempty"`
	// History is what became of each drift, and of those that are gone for some time, by the findings' IDs.
	History map[string]Past
}

// Published is what became of a scan on the forges.
type Published struct {
	// Plans are what pull requests do about findings, by their IDs.
	Plans map[string]propose.Plan
	// Effects counts what was done, as open pull-request or close issue.
	Effects map[string]int
	// Shared are the Applications that codify something, for pull requests that other clusters' rounds join; KubeVersion
	// and APIVersions are what charts see of the cluster.
	Shared      []propose.Shared `json:",omitempty"`
	KubeVersion string           `json:",omitempty"`
	APIVersions []string         `json:",omitempty"`
	// Waiting counts, by repository, what waits for the budget of what may be created.
	Waiting map[string]int `json:",omitempty"`
	// Threads are the pull requests and issues as the round left them.
	Threads []Thread `json:",omitempty"`
	// Reads are what the Applications read of repositories.
	Reads []Reads `json:"-"`
}

// Reads is what an Application reads of a repository.
type Reads struct {
	Application, Repo string
	// Branch is the one that the engine follows; empty where it follows none, or where it is not known.
	Branch string
	// Folders are read whole, or without their sub-folders where they end in /*, and Files one by one, sorted. With
	// neither, everything may be read.
	Folders, Files []string `json:",omitempty"`
}

// concerns says whether an event may change what the Application declares, or the policy that holds for it.
func (r Reads) concerns(e bot.Event) bool {
	if !gitops.SameRepository(r.Repo, e.Repo) {
		return false
	}
	if e.Kind != bot.EventPush {
		return true
	}
	if r.Branch != "" && r.Branch != "HEAD" && r.Branch != e.Branch {
		return false
	}
	if !e.ChangedAll || len(e.Changed) == 0 || len(r.Folders)+len(r.Files) == 0 {
		return true
	}
	return slices.ContainsFunc(e.Changed, r.has)
}

func (r Reads) has(file string) bool {
	file = path.Clean(file)
	if _, found := slices.BinarySearch(r.Files, file); found {
		return true
	}
	return slices.ContainsFunc(r.Folders, func(folder string) bool {
		if flat, ok := strings.CutSuffix(folder, "*"); ok {
			return path.Dir(file) == path.Clean(flat+".")
		}
		return folder == "." || file == folder || strings.HasPrefix(file, folder+"/")
	})
}

// fill takes over a scan, without what is large and what nobody reads later.
func (r *Report) fill(scan detect.Scan) {
	r.Files = FilesOf(scan)
	scan.Applications = slices.Clone(scan.Applications)
	for i := range scan.Applications {
		app := &scan.Applications[i]
		app.Declared = nil
		app.Application.Render, app.Application.Parts, app.Application.Mounts = gitops.Render{}, nil, nil
		app.Application.Inventory, app.Application.Ignore, app.Application.Managers = nil, nil, nil
	}
	r.Scan = scan
}

// after settles what a report takes over from the one before it.
func (r *Report) after(reports []Report) {
	r.Reads, r.Published.Reads = r.Published.Reads, nil
	var before Report
	i := slices.IndexFunc(reports, func(other Report) bool { return other.Cluster == r.Cluster })
	if i >= 0 {
		before = reports[i]
	}
	r.Published.Threads = withFindings(r.Published.Threads, before.Published.Threads)
	r.History = history(before.History, *r, !r.Scan.Time.IsZero())
	if r.Error == "" {
		return
	}
	r.FailingSince = r.Began
	if i < 0 {
		return
	}
	if before.Error != "" && !before.FailingSince.IsZero() {
		r.FailingSince = before.FailingSince
	}
	if r.Scan.Time.IsZero() { // it failed before its scan
		r.Scan, r.Scanned, r.Files = before.Scan, before.Scanned, before.Files
		r.Published.Shared, r.Published.KubeVersion, r.Published.APIVersions = before.Published.Shared, before.Published.KubeVersion, before.Published.APIVersions
	}
	if r.Reads == nil {
		r.Reads = before.Reads
	}
	plans := maps.Clone(before.Published.Plans)
	if plans == nil {
		plans = map[string]propose.Plan{}
	}
	maps.Copy(plans, r.Published.Plans)
	r.Published.Plans = plans
	for _, t := range before.Published.Threads { // of forges that were not reached
		if !slices.ContainsFunc(r.Published.Threads, func(now Thread) bool { return now.URL == t.URL }) {
			t.Verb, t.Reason = publish.Nothing, "the last round did not reach it"
			r.Published.Threads = append(r.Published.Threads, t)
		}
	}
}

// Drifts counts the findings that are drift.
func (r Report) Drifts() int {
	n := 0
	for _, f := range r.Scan.Findings {
		if f.Drift {
			n++
		}
	}
	return n
}

// Complete says whether the round succeeded and could assess everything that it should have, of one repository: an
// empty url means all.
func (r Report) Complete(url string) bool {
	if r.Error != "" {
		return false
	}
	of := func(application string) bool {
		return url == "" || slices.ContainsFunc(r.Scan.Applications, func(a detect.AssessedApplication) bool {
			return a.Application.Namespace+"/"+a.Application.Name == application && gitops.SameRepository(a.Application.Source.Repo, url)
		})
	}
	return !slices.ContainsFunc(r.Scan.Applications, func(a detect.AssessedApplication) bool {
		return a.State == detect.Unknown && of(a.Application.Namespace+"/"+a.Application.Name)
	}) && !slices.ContainsFunc(r.Scan.Unknown, func(u detect.UnknownObject) bool {
		return !u.ByChoice && (u.Application == "" || of(u.Application))
	})
}
