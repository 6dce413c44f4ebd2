package scan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/argocd"
	"holdfast/gitops/engines"
	"holdfast/gitops/render"
	"holdfast/gitops/render/cache"
)

// historyDepth is how many older revisions of what an Application reads are looked at for the origin of a
// value that only the engine owns.
const historyDepth = 20

// member is an Application with what Git says of it.
type member struct {
	app      gitops.Application
	tier     detect.Tier
	repo     Repository
	renders  *cache.Renders
	result   *render.Result
	declared []gitops.Declared
	// head is the render of the source's newest commit, when the engine has not applied it yet.
	head       []gitops.Declared
	headCommit string
	policy     *policy.Policy
	// facts are the cluster's, with what this member's policy adds.
	facts *classify.Facts
	// stored is Helm's own record of the release, byHand the next revision where somebody else made one.
	stored stored
	byHand *record
	// scalers are the autoscalers that the cluster's Applications declare.
	scalers classify.Autoscalers
	// tracked are the live objects that carry the Application's mark, in order.
	tracked []gitops.ObjectID
	// reason says why the member is unknown (declared is nil), or what limits it.
	reason string
	past   func() []map[gitops.ObjectID]gitops.Object
	// rules are the engine's ignore rules, made on first use.
	rules     []classify.IgnoreRule
	rulesOnce sync.Once
}

func (m *member) state() detect.State {
	if m.result == nil {
		return detect.Unknown
	}
	return detect.Rendered
}

// note adds to what limits the verdict.
func (m *member) note(text string) {
	if text != "" {
		m.reason = strings.TrimPrefix(m.reason+"; ", "; ") + text
	}
}

// know takes the cluster's facts and adds the image rewrites that the member's policy names.
func (m *member) know(shared *classify.Facts) {
	facts := *shared
	if m.policy != nil {
		for _, r := range m.policy.ImageRewrites {
			facts.ImageRewrites = append(slices.Clip(facts.ImageRewrites), classify.ImageRewrite{From: r.From, To: r.To})
		}
	}
	m.facts = &facts
}

// sources opens each repository once and renders Applications from it. It serves one goroutine.
type sources struct {
	in   Input
	open map[string]opened
	// declared are the engine's objects in a tree, by repository and commit.
	declared map[[2]string][]gitops.Application
	charts   map[gitops.Chart]fetched
}

type opened struct {
	repo Repository
	err  error
}

func newSources(in Input) *sources {
	return &sources{in: in, open: map[string]opened{}, declared: map[[2]string][]gitops.Application{}, charts: map[gitops.Chart]fetched{}}
}

func (s *sources) repository(ctx context.Context, url string) (Repository, error) {
	if o, ok := s.open[url]; ok {
		return o.repo, o.err
	}
	s.in.progress("opening %s", url)
	repo, err := s.in.Open(ctx, url)
	s.open[url] = opened{repo, err}
	return repo, err
}

// member renders one Application. It never fails: what goes wrong makes the member unknown, with a reason.
// Problems are those of the engine's object: some keep it from being compared with this cluster, the others
// limit the verdict.
func (s *sources) member(ctx context.Context, app gitops.Application, target Target, env render.Env, problems []gitops.EngineProblem) *member {
	m := &member{app: app, tier: target.Tier, renders: s.in.Renders}
	if i := slices.IndexFunc(problems, func(p gitops.EngineProblem) bool { return p.Blocks }); i >= 0 {
		m.reason = problems[i].Message
		return m
	}
	given := slices.ContainsFunc(target.Applications, func(a gitops.Application) bool { return sameApplication(a, app) })
	if s.in.Bound != nil && !homeless(app) {
		if ok, reason := s.in.Bound(app); !ok {
			m.reason = reason
			return m
		}
	}
	var repo Repository = nowhere{}
	if !homeless(app) {
		var err error
		if repo, err = s.repository(ctx, app.Source.Repo); err != nil {
			m.reason = err.Error()
			return m
		}
	}
	m.repo = repo
	if err := s.mount(ctx, m); err != nil {
		m.reason = err.Error()
		return m
	}
	var err error
	if m.policy, err = s.policy(m); err != nil {
		m.reason = err.Error()
		return m
	}
	commit, err := s.revision(m, given)
	if err != nil {
		m.reason = err.Error()
		return m
	}
	m.app.Source.Applied = commit
	if err := s.settle(m, commit); err != nil {
		m.reason = err.Error()
		return m
	}
	result, err := renderAt(ctx, m, commit, env)
	if err != nil {
		m.reason = err.Error()
		return m
	}
	m.result, m.declared = result, result.Objects
	m.note(m.failing())
	for _, p := range problems {
		m.note(p.Message)
	}
	s.pending(ctx, m, env)
	m.past = sync.OnceValue(func() []map[gitops.ObjectID]gitops.Object { return past(ctx, m, env) })
	return m
}

// settle completes the Application with what only the tree tells: whether a plain folder has a
// kustomization, and where the engine's own object stands in Git.
func (s *sources) settle(m *member, commit string) error {
	tree, err := m.repo.Tree(commit)
	if err != nil {
		return err
	}
	whole := tree
	for _, mount := range m.app.Mounts {
		if mount.Known {
			whole = whole.Mounted(mount.At, mount.Tree)
		}
	}
	open := m.app.Render.Detect
	m.app = render.Detected(whole, m.app)
	if h := m.app.Render.Helm; open && h != nil && m.app.Engine == gitops.None {
		m.note(fmt.Sprintf("its folder is a chart: it is rendered with the chart's own values, as release %s in namespace %s; spec.helm of a holdfast/v1 Application says otherwise",
			h.ReleaseName, h.Namespace))
	}
	if m.app.Engine == gitops.ArgoCD {
		if m.app, err = argocd.Overridden(m.app, whole); err != nil {
			return err
		}
	}
	if m.app.Engine == gitops.ArgoCD && m.app.Source.Branch != "" {
		// Argo CD does not tell a branch from a tag. To what is no branch nothing is committed.
		if _, err := m.repo.Head(m.app.Source.Branch); err != nil {
			m.app.Source.Branch = ""
		}
	}
	if m.app.Engine != gitops.None && m.app.Render.File == "" {
		at := [2]string{m.app.Source.Repo, commit}
		declared, known := s.declared[at]
		if !known {
			declared, _ = engines.InTree(tree) // what cannot be read there is told where it is rendered
			s.declared[at] = declared
		}
		for _, d := range declared {
			if d.Kind == m.app.Kind && d.Namespace == m.app.Namespace && d.Name == m.app.Name && d.Source.Path == m.app.Source.Path {
				m.app.Render.File, m.app.Render.Document = d.Render.File, d.Render.Document
				break
			}
		}
	}
	return nil
}

// revision is what the engine applied, or what the caller asks for. An Application that the caller describes,
// and whose engine says nothing of it, is taken to be applied from the newest commit.
func (s *sources) revision(m *member, given bool) (string, error) {
	switch {
	case homeless(m.app):
		return "", nil
	case s.in.Revision != "":
		return m.repo.Resolve(s.in.Revision)
	case m.app.Source.Applied != "":
		return m.repo.Resolve(m.app.Source.Applied)
	case given:
		return m.repo.Head(m.app.Source.Branch)
	}
	return "", fmt.Errorf("the engine has never applied %s %s/%s: %s", m.app.Kind, m.app.Namespace, m.app.Name,
		cmp.Or(m.app.Message, "no applied revision in its status"))
}

// policy is read from the default branch only, never from another revision.
func (s *sources) policy(m *member) (*policy.Policy, error) {
	commit, err := m.repo.Head("")
	if err != nil {
		return nil, err
	}
	tree, err := m.repo.Tree(commit)
	if err != nil {
		return nil, err
	}
	return s.in.Policy(m.app, m.tier, tree)
}

// pending renders the newest commit of the source where the engine has not applied it yet. A failure here
// is said, but does not keep the applied revision from being judged.
func (s *sources) pending(ctx context.Context, m *member, env render.Env) {
	if s.in.Revision != "" || m.app.Source.Branch == "" {
		return
	}
	head, err := m.repo.Head(m.app.Source.Branch)
	if err != nil {
		m.note(fmt.Sprintf("whether Git is ahead is not known: %v", err))
		return
	}
	if head == m.app.Source.Applied {
		return
	}
	result, err := renderAt(ctx, m, head, env)
	if err != nil {
		m.note(fmt.Sprintf("the newest commit %.12s does not render: %v", head, err))
		return
	}
	m.head, m.headCommit = result.Objects, head
}

// failing says that the engine could not apply what it last tried to, and why. Its own correction may not
// work meanwhile either.
func (m *member) failing() string {
	if m.app.Ready || m.app.Suspended || m.app.Message == "" {
		return ""
	}
	const most = 300
	message := []rune(strings.Join(strings.Fields(m.app.Message), " "))
	if len(message) > most {
		message = append(message[:most], []rune(" ...")...)
	}
	return fmt.Sprintf("its last apply failed, and what it applied before, %.12s, is compared: %s", m.app.Source.Applied, string(message))
}

func renderAt(ctx context.Context, m *member, commit string, env render.Env) (*render.Result, error) {
	tree, err := m.repo.Tree(commit)
	if err != nil {
		return nil, err
	}
	if m.renders != nil {
		return m.renders.Render(ctx, tree, m.app, env)
	}
	return render.Application(ctx, tree, m.app, env)
}

// past renders older revisions of what the Application reads, newest first. Revisions that do not render
// are passed over.
func past(ctx context.Context, m *member, env render.Env) []map[gitops.ObjectID]gitops.Object {
	reads := func(path string) bool {
		_, found := slices.BinarySearch(m.result.Reads, path)
		return found || m.app.Source.Path != "" && strings.HasPrefix(path, m.app.Source.Path+"/")
	}
	commits, err := m.repo.History(m.app.Source.Applied, reads, historyDepth)
	if err != nil {
		return nil
	}
	var out []map[gitops.ObjectID]gitops.Object
	for _, commit := range commits {
		result, err := renderAt(ctx, m, commit, env)
		if err != nil {
			continue
		}
		objects := make(map[gitops.ObjectID]gitops.Object, len(result.Objects))
		for _, d := range result.Objects {
			objects[d.ID] = d.Object
		}
		out = append(out, objects)
	}
	return out
}

// earlier gives the older declarations of one object, newest first, without those that equal the next.
func (m *member) earlier(id gitops.ObjectID) func() []gitops.Object {
	return func() []gitops.Object {
		if m.past == nil { // never rendered
			return nil
		}
		var out []gitops.Object
		for _, objects := range m.past() {
			if o, ok := objects[id]; ok {
				out = append(out, o)
			}
		}
		return out
	}
}
