package policy

import (
	"strings"
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

func TestCommanded(t *testing.T) {
	replicas := field(t, "spec.replicas")
	asked := func(d detect.Disposition, change ...func(*Commanded)) Commanded {
		c := Commanded{Finding: "f1", Disposition: d, By: "alice", Fields: map[string]string{"spec.replicas": ContentOf(*replicas)}}
		if d == detect.Ignore {
			c.Until = now.Add(12 * time.Hour)
		}
		for _, do := range change {
			do(&c)
		}
		return c
	}
	other := func(c *Commanded) { c.Finding = "f2" }
	const toIssue = `rules: [{name: rest, disposition: issue, offer: codify, wide: true}]`
	for _, c := range []struct {
		name   string
		policy string
		asked  []Commanded
		path   string
		edit   func(*detect.Field)
		floor  Floor
		now    time.Time
		want   string
		trace  string
	}{
		{name: "a codify takes the rule's place", asked: []Commanded{asked(detect.Codify)}, want: "codify command", trace: "instead of issue by rest"},
		{name: "a revert does", asked: []Commanded{asked(detect.Revert)}, want: "revert command"},
		{name: "of another finding it does nothing", asked: []Commanded{asked(detect.Revert, other)}, want: "issue rest"},
		{name: "of another field it does nothing", asked: []Commanded{asked(detect.Revert)}, path: "spec.paused", want: "issue rest"},
		{name: "another value is not what was asked about", asked: []Commanded{asked(detect.Codify)}, edit: func(f *detect.Field) { f.Live = gitops.Present(int64(99)) }, want: "issue rest"},
		{name: "a contested value is always another", asked: []Commanded{asked(detect.Revert, func(c *Commanded) {
			f := *replicas
			f.Cause = detect.CauseContested
			c.Fields = map[string]string{"spec.replicas": ContentOf(f)}
		})}, edit: func(f *detect.Field) { f.Cause, f.Live = detect.CauseContested, gitops.Present(int64(99)) }, want: "revert command"},
		{name: "what is no drift stays ignored", asked: []Commanded{asked(detect.Revert)}, edit: func(f *detect.Field) { f.Drift = false }, want: "ignore no-drift"},
		{name: "the floor binds it", asked: []Commanded{asked(detect.Codify)}, floor: Floor{Least: Least{Medium: detect.Revert}}, want: "revert command", trace: "floor of the server"},
		{name: "an ignore holds for its time", asked: []Commanded{asked(detect.Ignore)}, want: "ignore command"},
		{name: "whatever the value becomes", asked: []Commanded{asked(detect.Ignore)}, edit: func(f *detect.Field) { f.Live = gitops.Present(int64(99)) }, want: "ignore command"},
		{name: "and not beyond it", asked: []Commanded{asked(detect.Ignore)}, now: now.Add(12 * time.Hour), want: "issue rest", trace: "has ended"},
		{name: "the floor limits its length", asked: []Commanded{asked(detect.Ignore)}, floor: Floor{Exceptions: ExceptionFloor{Longest: Duration(time.Hour)}}, want: "issue rest", trace: "later than the 1h0m0s"},
		{name: "the floor limits who", asked: []Commanded{asked(detect.Ignore)}, floor: Floor{Exceptions: ExceptionFloor{Owners: []string{"bob"}}}, want: "issue rest", trace: "does not let alice"},
		{name: "the floor asks for more than ignore", asked: []Commanded{asked(detect.Ignore)}, floor: Floor{Least: Least{Medium: detect.AsIssue}}, want: "issue command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := deployment()
			f.ID = "f1"
			path := "spec.replicas"
			if c.path != "" {
				path = c.path
			}
			one := field(t, path)
			if c.edit != nil {
				c.edit(one)
			}
			at := now
			if !c.now.IsZero() {
				at = c.now
			}
			got := decode(t, toIssue).Commanded(c.asked).Under(c.floor).Decide(Input{Finding: f, Field: one, Now: at})
			if is := string(got.Disposition) + " " + RuleName(got.Rule); is != c.want {
				t.Errorf("%s, want %s\n%s", is, c.want, strings.Join(got.Trace, "\n"))
			}
			if trace := strings.Join(got.Trace, "\n"); !strings.Contains(trace, c.trace) {
				t.Errorf("the trace lacks %q:\n%s", c.trace, trace)
			}
			if got.Disposition == detect.Codify && !got.Grant.AllowWide {
				t.Error("the rule's grant is lost")
			}
		})
	}
}

func TestCommandedOfAWholeObject(t *testing.T) {
	stray := deployment()
	stray.ID, stray.Presence = "f1", detect.LiveOnly
	p := decode(t, `rules: [{name: rest, disposition: issue}]`).Commanded([]Commanded{{
		Finding: "f1", Disposition: detect.Revert, By: "alice", Fields: map[string]string{"": ContentOf(detect.Field{})},
	}})
	if got := p.Decide(Input{Finding: stray, Now: now}); got.Disposition != detect.Revert {
		t.Errorf("%s by %s, want the revert that was asked for", got.Disposition, got.Rule)
	}
}

func TestACommandedCodifyWritesNothingThatIsForbidden(t *testing.T) {
	role := deployment()
	role.ID, role.Presence = "f1", detect.LiveOnly
	role.Object = detect.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "all"}
	p := decode(t, `rules: [{name: rest, disposition: issue}]`).Commanded([]Commanded{{
		Finding: "f1", Disposition: detect.Codify, By: "alice", Fields: map[string]string{"": ContentOf(detect.Field{})},
	}})
	if got := p.Decide(Input{Finding: role, Now: now}); got.Disposition != detect.AsIssue {
		t.Errorf("%s by %s, want an issue", got.Disposition, got.Rule)
	}
}
