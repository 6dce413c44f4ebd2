package render

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// kustomized builds a folder with kustomize.
func kustomized(src *source, root string, how gitops.Render, result *Result) error {
	dir, ok := src.resolve(root)
	if !ok {
		return fmt.Errorf("%w: %s is a symbolic link that leaves it", ErrNotFound, root)
	}
	m := newMarks()
	fs := &treeFS{src: src, replaced: map[string][]byte{}, approved: map[string]bool{}, marks: m}
	w := &walker{fs: fs, marks: m, file: how.File}
	dir, err := prepare(w, dir, how)
	if err != nil {
		return err
	}
	w.build = func(dir string) (resmap.ResMap, error) {
		plain := &treeFS{src: src, replaced: fs.replaced, approved: fs.approved, marks: newMarks()}
		return build(src.ctx, plain, dir, w.openapi, how.Kustomize.Generate)
	}
	units, err := guarded(func() ([]*unit, error) { return w.walk(dir, nil, nil) })
	if err != nil {
		return err
	}
	built, err := build(src.ctx, fs, dir, w.openapi, how.Kustomize.Generate)
	if stop := src.stop(); stop != nil {
		return stop
	}
	if err != nil {
		return err
	}
	o := &origins{walker: w, units: units, src: src}
	return collect(built, o, how, result)
}

// build runs kustomize. Its OpenAPI schema is global state of the process, so builds take turns.
func build(ctx context.Context, fs *treeFS, dir string, ownSchema, preload bool) (resmap.ResMap, error) {
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: waiting for other renders: %w", ErrLimit, ctx.Err())
	}
	type outcome struct {
		built resmap.ResMap
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-turn }()
		if ownSchema {
			// A schema of one kustomization must not colour the next build. Flux loads the built-in
			// schema beneath it, kubectl does not.
			openapi.ResetOpenAPI()
			if preload {
				_ = openapi.Schema()
			}
			defer openapi.ResetOpenAPI()
		}
		built, err := guarded(func() (resmap.ResMap, error) {
			return krusty.MakeKustomizer(&krusty.Options{
				// The order of `kubectl kustomize`; unlike "legacy" it does not warn of sortOptions.
				Reorder: krusty.ReorderOptionUnspecified,
				// The file system holds the repository and nothing else.
				LoadRestrictions: types.LoadRestrictionsNone,
				PluginConfig:     types.DisabledPluginConfig(),
			}).Run(fs, path.Join(mount, dir))
		})
		if err != nil {
			err = explained(err, fs)
		}
		done <- outcome{built, err}
	}()
	select {
	case o := <-done:
		return o.built, o.err
	case <-ctx.Done():
		// The build notices at its next read; until then it keeps its turn.
		return nil, fmt.Errorf("%w: %w", ErrLimit, ctx.Err())
	}
}

// turn is held while kustomize runs: it guards the global schema of the kyaml module, which is why it is
// global itself.
var turn = make(chan struct{}, 1) //nolint:gochecknoglobals // one lock for another module's one global

// guarded turns a panic of kustomize, which invalid objects can cause, into an error.
func guarded[T any](f func() (T, error)) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("kustomize gave up in an unforeseen way (%T); look for malformed objects", r)
		}
	}()
	return f()
}

// collect turns kustomize's resources into objects: the marks come off, variables are replaced, and what
// the engine adds after the build is added.
func collect(built resmap.ResMap, o *origins, how gitops.Render, result *Result) error {
	vars := &variables{&gitops.PostBuild{}}
	if p := how.Kustomize.PostBuild; p != nil {
		var err error
		if vars, err = newVariables(p); err != nil {
			return err
		}
	}
	all := built.Resources()
	numbers := make([]int, len(all))
	for i, res := range all {
		var err error
		if numbers[i], err = unmark(res); err != nil {
			return err
		}
	}
	o.claim(numbers)
	for i, res := range all {
		name := res.CurId()
		s, err := vars.substitute(res)
		if err != nil {
			return fmt.Errorf("%s %s: %w", name.Kind, name.Name, err)
		}
		id := gitops.ObjectID{Group: name.Group, Kind: name.Kind, Name: name.Name}
		origin := o.of(numbers[i], id, s.content)
		if s.lost {
			result.Problems = append(result.Problems, Problem{
				File: origin.File, Document: origin.Document, Kind: UnknownInput,
				Message: fmt.Sprintf("%s %s cannot be told without the variables of a ConfigMap or Secret that was not read", name.Kind, origin.Written.Name),
			})
			continue
		}
		if how.Kustomize.Generate && strings.HasPrefix(res.GetApiVersion(), "kustomize.config.k8s.io/") {
			continue // no object of a cluster; Flux leaves it out
		}
		if s.changed {
			origin.Transformers = append(origin.Transformers, gitops.Transformer{Kind: "Substitution", File: how.File})
		}
		d := gitops.Declared{Object: gitops.NewObject(s.content), Origin: origin}
		annotate(&d, how.Kustomize.CommonLabels, how.Kustomize.CommonAnnotations, how.File)
		result.note(d.ID, s)
		result.Objects = append(result.Objects, d)
	}
	return nil
}

// note keeps what is unsure or secret about an object.
func (r *Result) note(id gitops.ObjectID, s substituted) {
	if len(s.unsure) > 0 {
		if r.Unsure == nil {
			r.Unsure = map[gitops.ObjectID][]gitops.Path{}
		}
		r.Unsure[id] = append(r.Unsure[id], s.unsure...)
	}
	if len(s.secret) > 0 {
		if r.Secret == nil {
			r.Secret = map[gitops.ObjectID][]gitops.Path{}
		}
		r.Secret[id] = append(r.Secret[id], s.secret...)
	}
}

// unmark takes the mark off and gives its number, or -1.
func unmark(res *resource.Resource) (int, error) {
	annotations := res.GetAnnotations()
	value, ok := annotations[markKey]
	if !ok {
		return -1, nil
	}
	delete(annotations, markKey)
	if err := res.SetAnnotations(annotations); err != nil {
		return -1, fmt.Errorf("%s: annotations cannot be written", res.CurId())
	}
	number, err := strconv.Atoi(value)
	if err != nil {
		return -1, nil
	}
	return number, nil
}

// content gives a resource as plain JSON values.
func content(res *resource.Resource) (map[string]any, error) {
	encoded, err := res.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: it cannot be read as YAML", res.CurId().Kind, res.CurId().Name)
	}
	if bytes.ContainsFunc(encoded, unprintable) {
		if encoded, err = printed(encoded); err != nil {
			return nil, fmt.Errorf("%s: %s: kustomize cannot print it: %s", res.CurId().Kind, res.CurId().Name, gitops.WithoutValues(err.Error()))
		}
	}
	var out map[string]any
	if err := utiljson.Unmarshal(encoded, &out); err != nil {
		return nil, fmt.Errorf("%s: %s: it is no JSON object", res.CurId().Kind, res.CurId().Name)
	}
	return out, nil
}

// unprintable says whether a character that JSON holds as it is does not come through YAML as it is: its readers refuse
// it, or take it for a line's end (https://yaml.org/spec/1.1/#id868524).
func unprintable(r rune) bool {
	return r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// printed gives an object as who applies it reads it: kustomize prints it as YAML of what was JSON, and so do kubectl,
// Flux and Argo CD, which read that again.
func printed(object []byte) ([]byte, error) {
	text, err := yaml.JSONToYAML(object)
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(text)
}
