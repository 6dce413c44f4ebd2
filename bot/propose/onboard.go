package propose

import (
	"context"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/templates"
)

// OnboardingScope is the scope of the pull request that adds a policy.
const OnboardingScope = "onboarding"

// asidePolicy is where a policy goes when something that is rendered would read it in the root: no engine takes a file
// without an extension for a manifest.
const asidePolicy = ".holdfast/policy"

// Onboarding gives the pull request that adds a policy to the repository of an Application, at path unless something
// would render it there, for a tier. It is nil where the repository has one, where a commit to it reaches no cluster, and
// where no render stays as it is. It is offered once.
func Onboarding(ctx context.Context, in Input, app gitops.Application, path string, tier detect.Tier) (*bot.Proposal, error) {
	source, err := in.Source(ctx, app)
	if err != nil || source.Base == "" {
		return nil, err
	}
	for _, name := range []string{path, asidePolicy} {
		if _, there := source.Tree.Read(name); there {
			return nil, nil
		}
	}
	g := &group{in: in, fleets: fleets{in.Fleet, map[string][]gitops.Application{}}, app: app, source: source}
	for _, name := range []string{path, asidePolicy} {
		p, err := g.policyAt(name, tier)
		if err != nil {
			return nil, err
		}
		if g.proveNoMove(ctx, &p) == nil && p.Proof.Verified {
			return &p, g.introduce(&p, name != path, tier)
		}
	}
	return nil, nil
}

// policyAt gives the pull request with its file, and without its text.
func (g *group) policyAt(name string, tier detect.Tier) (bot.Proposal, error) {
	p := bot.Proposal{
		Key: bot.Key(OnboardingScope, "policy", string(bot.AsPullRequest)), Kind: bot.AsPullRequest, Title: "Add a policy for drift",
		Labels: []string{"drift/onboarding"}, Repo: g.source.Repo, Branch: "holdfast/onboarding", Base: g.source.Base, BaseCommit: g.source.BaseCommit,
		Risk: detect.Low, Proof: &gitops.Proof{Complete: true}, Once: true,
	}
	text, err := templates.PolicyFile(string(tier))
	if err != nil {
		return p, err
	}
	file, err := fileChange(gitops.Edit{Path: name, After: []byte(text)})
	p.Files = []bot.FileChange{file}
	return p, err
}

// introduce writes the text of the pull request.
func (g *group) introduce(p *bot.Proposal, aside bool, tier detect.Tier) error {
	file := p.Files[0]
	body, err := templates.OnboardingBody(templates.Onboarding{
		Path: file.Path, Tier: string(tier), Setting: aside, Diff: file.Diff, Proof: proofView(*p.Proof), Base: p.Base,
	})
	if err != nil {
		return err
	}
	p.Hash = bot.Hash(p.Key, file.Path, string(file.After))
	record := bot.Record{Files: FilesHash(p.Files), Base: p.BaseCommit} // without the proof: a base that goes on is no news here
	p.Body = templates.Cut(body, "the commit on branch "+p.Branch+" has the whole change", record.String()+"\n"+bot.Marker(p.Key, p.Hash)+"\n")
	p.Message, err = templates.CommitMessage(templates.Commit{Subject: p.Title, Trailers: []templates.Trailer{{Key: "Holdfast-Key", Value: p.Key}}})
	return err
}
