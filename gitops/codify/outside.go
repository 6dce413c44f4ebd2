package codify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
	"holdfast/gitops/engines"
)

// nowhere says why a goal has no edit. Where a setting of the engine's own object makes the value, and the repository
// does not hold that object, it names the setting.
func (s site) nowhere(ctx context.Context, misses []miss, refusals []string) (reason, nearest string) {
	reason, nearest = noCandidate(misses, refusals)
	if s.create {
		if len(misses) == 0 {
			reason = "no place was found that could declare it as it lives"
		}
		if s.app.Render.Helm != nil {
			reason = "everything of this Application is made by a chart, whose templates are never written, and no list of further objects among its values takes it: declare it in the chart, or by another Application"
		}
		return reason, nearest
	}
	object := engines.ObjectID(s.app)
	if s.ownObject() != nil {
		return reason, nearest
	}
	if _, held := s.tree.Read(s.app.Render.File); held && s.app.Render.File != "" || object.Kind == "" {
		return reason, nearest
	}
	if at := s.setting(ctx); at != "" {
		reason += fmt.Sprintf("; it is set by %s of %s %s/%s, which this repository does not hold: change it where that object comes from",
			at, object.Kind, object.Namespace, object.Name)
	}
	return reason, nearest
}

// setting gives the path of the setting in the engine's object that makes the goal's value; empty without one.
func (s site) setting(ctx context.Context) string {
	if s.app.Render.Helm != nil {
		return s.inlineValue(ctx)
	}
	k := s.app.Render.Kustomize
	if k == nil {
		return ""
	}
	spec := "spec."
	if s.app.Engine == gitops.ArgoCD {
		spec = "spec.source.kustomize."
	}
	for i, p := range slices.Backward(k.Patches) {
		if s.patchText(p) {
			return fmt.Sprintf("%spatches[%d]", spec, i)
		}
	}
	last := gitops.Step{}
	if len(s.change.Path) > 0 {
		last = s.change.Path[len(s.change.Path)-1]
	}
	value, _ := s.declaredValue().V.(string)
	for i, image := range k.Images {
		if have := parseImage(value).name; last.Field == "image" && (image.Name == have || image.NewName != "" && image.NewName == have) {
			return fmt.Sprintf("%simages[%d]", spec, i)
		}
	}
	for i, r := range k.Replicas {
		if last.Field == "replicas" && r.Name == s.declared.Origin.Written.Name {
			return fmt.Sprintf("%sreplicas[%d]", spec, i)
		}
	}
	return ""
}

// patchText says whether an inline patch of the engine's object is for the goal's object and speaks of its field.
func (s site) patchText(p gitops.Patch) bool {
	var target map[string]any
	if t := p.Target; t != nil {
		target = map[string]any{}
		for key, value := range map[string]string{"group": t.Group, "version": t.Version, "kind": t.Kind, "namespace": t.Namespace, "name": t.Name,
			"labelSelector": t.LabelSelector, "annotationSelector": t.AnnotationSelector} {
			if value != "" {
				target[key] = value
			}
		}
	}
	docs, err := splice.Documents([]byte(p.Patch))
	if err != nil {
		return false
	}
	for _, doc := range docs {
		switch content := doc.(type) {
		case map[string]any:
			if s.patches(content, target) && splice.Lookup(content, s.change.Path).Set {
				return true
			}
		case []any:
			pointer := ""
			for _, step := range plainIndexes(s.declared.Content, s.change.Path) {
				if step.IsField() {
					pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step.Field)
				} else {
					pointer += fmt.Sprintf("/%d", step.Index)
				}
			}
			for _, v := range content {
				operation, _ := v.(map[string]any)
				if at, _ := operation["path"].(string); selects(target, s.declared) && (at == pointer || strings.HasPrefix(pointer, at+"/")) {
					return true
				}
			}
		}
	}
	return false
}

// inlineValue gives the path of the chart's value that moves the field, where the engine's object sets it.
func (s site) inlineValue(ctx context.Context) string {
	r, err := s.chartRelease()
	if err != nil {
		return ""
	}
	for _, e := range slices.Concat(s.finds.of(ctx, s, r).edits...) {
		for _, v := range slices.Backward(r.how.Helm.Values) {
			switch {
			case len(v.At) == 0:
			case v.Inline != nil && gitops.Lookup(v.Inline, e.at).Set:
				return append(slices.Clip(v.At), e.at...).String()
			case v.Parameter != nil && parameterPath(v.Parameter.Name).Equal(e.at):
				return v.At.String()
			case v.Text != "":
				if docs, err := splice.Documents([]byte(v.Text)); err == nil && len(docs) == 1 && gitops.Lookup(docs[0], e.at).Set {
					return v.At.String()
				}
			}
		}
	}
	return ""
}
