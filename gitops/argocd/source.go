package argocd

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"holdfast/gitops"
)

// sources are the Application's sources: spec.sources goes before spec.source, and a hydrator's branch before
// both.
func (a application) sources() []source {
	if h := a.Spec.SourceHydrator; h != nil {
		return []source{{RepoURL: h.DrySource.RepoURL, TargetRevision: h.SyncSource.TargetBranch, Path: h.SyncSource.Path}}
	}
	if len(a.Spec.Sources) > 0 {
		return a.Spec.Sources
	}
	if a.Spec.Source != nil {
		return []source{*a.Spec.Source}
	}
	return nil
}

// isChart says whether the source is a Helm chart in a chart repository. An OCI artifact's root is taken for
// one too: Argo CD renders it as whatever it holds, which for a published artifact is a chart.
func (s source) isChart() bool { return s.Chart != "" || strings.HasPrefix(s.RepoURL, "oci://") }

// rendered says whether objects come from the source; one with a ref alone only lends its files.
func (s source) rendered() bool { return s.Path != "" || s.isChart() || s.Ref == "" }

// layout places the sources of one Application in one tree.
type layout struct {
	*decoder
	id      gitops.ObjectID
	spec    application
	sources []source
	// applied are the revisions that the engine last applied, by source; empty where it never did.
	applied []string
	// at is the folder of each source in the tree; "" is the root, which is the home's.
	at []string
}

// place fills in the Application's home, mounts and renders. An error says why it cannot be rendered here.
func (l *layout) place(app *gitops.Application) error {
	if len(l.sources) == 0 {
		return errors.New("it has neither spec.source nor spec.sources")
	}
	home := l.home()
	if home >= 0 {
		s := l.sources[home]
		app.Source = l.git(home)
		if l.spec.Spec.SourceHydrator != nil {
			app.Source.Branch = "" // the hydrator overwrites what is committed there
		}
		for _, item := range strings.Split(l.spec.Metadata.Annotations[generatePaths], ";") {
			if item = strings.TrimSpace(item); item != "" {
				app.GeneratePaths = append(app.GeneratePaths, below(s.Path, item))
			}
		}
	}
	l.mount(app, home)
	placed := false
	for i, s := range l.sources {
		if !s.rendered() {
			continue
		}
		how, err := l.render(i)
		if err != nil {
			return err
		}
		where := path.Join(cmp.Or(l.at[i], "."), within(s.Path))
		if placed {
			app.Parts = append(app.Parts, gitops.Part{Path: where, Render: how})
			continue
		}
		app.Source.Path, app.Render, placed = where, how, true
	}
	if !placed {
		return errors.New("none of its sources has a path or a chart")
	}
	return nil
}

// home is the Git source that people edit: the one that values files are taken from, else the first; -1
// without any.
func (l *layout) home() int {
	for _, s := range l.sources {
		if s.Helm == nil {
			continue
		}
		for _, file := range s.Helm.ValueFiles {
			if i := l.refers(file); i >= 0 && !l.sources[i].isChart() {
				return i
			}
		}
	}
	return slices.IndexFunc(l.sources, func(s source) bool { return !s.isChart() })
}

// refers gives the source that a path such as $values/prod.yaml names, or -1.
func (l *layout) refers(file string) int {
	name, ok := strings.CutPrefix(file, "$")
	if !ok {
		return -1
	}
	name, _, _ = strings.Cut(name, "/")
	return slices.IndexFunc(l.sources, func(s source) bool { return s.Ref != "" && s.Ref == name })
}

// git describes a Git source. Its path is not set.
func (l *layout) git(i int) gitops.Source {
	s := l.sources[i]
	return gitops.Source{Repo: gitops.WithoutCredentials(s.RepoURL), Kind: "Git", Branch: branch(s.TargetRevision), Applied: l.applied[i]}
}

// mount lays the sources other than the home into its tree. Those of its repository at the same revision are
// there already.
func (l *layout) mount(app *gitops.Application, home int) {
	l.at = make([]string, len(l.sources))
	taken, charts := map[string]bool{}, 0
	for i, s := range l.sources {
		switch {
		case s.isChart():
			charts++
			l.at[i] = "$chart"
			if charts > 1 {
				l.at[i] = fmt.Sprintf("$chart%d", charts)
			}
			taken[l.at[i]] = true
			app.Mounts = append(app.Mounts, gitops.Mount{At: l.at[i], Chart: chart(s, l.applied[i])})
		case i == home || gitops.SameRepository(s.RepoURL, l.sources[home].RepoURL) && s.TargetRevision == l.sources[home].TargetRevision:
		default:
			l.at[i] = "$" + s.Ref
			if s.Ref == "" || taken[l.at[i]] {
				l.at[i] = fmt.Sprintf("$source%d", i)
			}
			taken[l.at[i]] = true
			app.Mounts = append(app.Mounts, gitops.Mount{At: l.at[i], Source: l.git(i)})
		}
	}
}

// chart names the chart of a source. A repository without a scheme is an OCI registry.
func chart(s source, applied string) *gitops.Chart {
	out := &gitops.Chart{Repo: s.RepoURL, Name: s.Chart, Version: s.TargetRevision, Applied: applied}
	if !strings.Contains(out.Repo, "://") {
		out.Repo = "oci://" + out.Repo
	}
	if out.Name == "" { // an OCI artifact, named by its whole address
		out.Repo, out.Name = strings.TrimSuffix(out.Repo, "/"), path.Base(out.Repo)
		out.Repo = strings.TrimSuffix(out.Repo, "/"+out.Name)
	}
	out.Repo = gitops.WithoutCredentials(out.Repo)
	return out
}

// render tells how one source becomes objects. A type that the source does not name is told by its folder.
func (l *layout) render(i int) (gitops.Render, error) {
	s := l.sources[i]
	out := gitops.Render{Namespace: l.spec.Spec.Destination.Namespace}
	switch d := s.Directory; {
	case s.Plugin != nil:
		return out, errors.New("a config management plugin renders it (spec.source.plugin), and plugins are not run here")
	case s.Helm != nil || s.isChart():
		var err error
		out.Helm, err = l.helm(i)
		return out, err
	case s.Kustomize != nil:
		var err error
		out.Kustomize, err = l.kustomize(i)
		return out, err
	case d != nil && len(d.Jsonnet.ExtVars)+len(d.Jsonnet.TLAs)+len(d.Jsonnet.Libs) > 0:
		return out, errors.New("jsonnet renders it (spec.source.directory.jsonnet), which is not supported")
	case d != nil:
		out.Directory, out.Recurse, out.Include, out.Exclude = true, d.Recurse, d.Include, d.Exclude
	default:
		out.Directory, out.Detect = true, true
	}
	return out, nil
}

// field is where a source stands in the object.
func (l *layout) field(i int, steps ...gitops.Step) gitops.Path {
	if len(l.spec.Spec.Sources) > 0 {
		return append(gitops.Path{gitops.Field("spec"), gitops.Field("sources"), gitops.Index(i)}, steps...)
	}
	return append(gitops.Path{gitops.Field("spec"), gitops.Field("source")}, steps...)
}

var (
	commitPattern  = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
	versionPattern = regexp.MustCompile(`^v?\d+\.\d+\.\d+([-+].*)?$`)
	rangePattern   = regexp.MustCompile(`^[~^<>=!]|[*|,]|\.[xX](\.|$)|\s-\s`)
)

// branch is the branch that a target revision follows, "" for a commit, a version, a range of versions or a
// tag's full name. Whether another name is a branch or a tag, only the repository tells. HEAD stays as it is:
// it is the default branch.
func branch(revision string) string {
	if name, ok := strings.CutPrefix(revision, "refs/heads/"); ok {
		return name
	}
	if strings.HasPrefix(revision, "refs/") || commitPattern.MatchString(revision) ||
		versionPattern.MatchString(revision) || rangePattern.MatchString(revision) {
		return ""
	}
	return cmp.Or(revision, "HEAD")
}

// within cleans a path relative to a root, which it cannot leave.
func within(p string) string { return cmp.Or(path.Clean("/" + p)[1:], ".") }

// below resolves a path of the repository: from the root when it starts with a slash, else from folder.
func below(folder, p string) string {
	if strings.HasPrefix(p, "/") {
		return within(p)
	}
	return within(path.Join("/"+folder, p))
}
