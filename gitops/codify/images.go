package codify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/gitops"
)

// images edits or adds an entry of a kustomization's images.
type images struct{}

func (images) candidates(_ context.Context, s site) []Candidate {
	have, want, ok := s.imageChange()
	if !ok {
		return nil
	}
	var out []Candidate
	owners := s.owners()
	for _, l := range s.allLayers() {
		if l.engine != nil && l.engine.Kind == "Application" {
			continue // its images are texts: argoImages
		}
		edits, found := s.editImages(l)
		out = append(out, edits...)
		if weight, owns := owners[l.file]; owns && !found {
			out = append(out, s.addImage(l, have, want, weight)...)
		}
	}
	return out
}

// imageChange gives the image that is declared and the one that is wished, where the change is of one.
func (s site) imageChange() (have, want image, ok bool) {
	change := s.change.Path
	if s.remove || len(change) == 0 || change[len(change)-1].Field != "image" {
		return image{}, image{}, false
	}
	after, ok := s.change.After.V.(string)
	before, was := s.declaredValue().V.(string)
	return parseImage(before), parseImage(after), ok && was
}

// editImages edits the images entries of a layer that are for the image; found says whether there are some.
func (s site) editImages(l layer) (out []Candidate, found bool) {
	have, want, ok := s.imageChange()
	if !ok {
		return nil, false
	}
	for at, v := range l.list("images") {
		entry, _ := v.(map[string]any)
		name, _ := entry["name"].(string)
		shown := name
		if newName, ok := entry["newName"].(string); ok && newName != "" {
			shown = newName
		}
		if shown != have.name && name != have.name {
			continue
		}
		found = true
		out = append(out, s.editImage(l, gitops.Path{gitops.Field("images"), gitops.Index(at)}, entry, want)...)
	}
	return out, found
}

// image is the parts of an image reference.
type image struct{ name, tag, digest string }

// parseImage cuts a reference as kustomize does: a colon behind the last slash starts the tag.
func parseImage(ref string) image {
	ref, digest, _ := strings.Cut(ref, "@")
	i := strings.LastIndex(ref, ":")
	if i < 0 || i < strings.LastIndex(ref, "/") {
		return image{name: ref, digest: digest}
	}
	return image{name: ref[:i], tag: ref[i+1:], digest: digest}
}

// editImage makes an images entry give the wanted reference.
func (s site) editImage(l layer, at gitops.Path, entry map[string]any, want image) []Candidate {
	next := map[string]any{}
	for k, v := range entry {
		next[k] = v
	}
	set := func(key, value string) {
		if value == "" {
			delete(next, key)
			return
		}
		next[key] = value
	}
	if name, _ := entry["name"].(string); name == want.name {
		delete(next, "newName")
	} else {
		set("newName", want.name)
	}
	suffix, _ := entry["tagSuffix"].(string)
	set("newTag", strings.TrimSuffix(want.tag, suffix))
	set("digest", want.digest)
	return s.set(l, fmt.Sprintf("change the images entry of %s in %s", entry["name"], l.file), at, next, changesValue)
}

// addImage adds an images entry to the overlay.
func (s site) addImage(l layer, have, want image, weight int) []Candidate {
	entry := map[string]any{"name": have.name}
	if want.name != have.name {
		entry["newName"] = want.name
	}
	if want.tag != "" {
		entry["newTag"] = want.tag
	}
	if want.digest != "" {
		entry["digest"] = want.digest
	}
	if len(entry) == 1 {
		return nil
	}
	added := addsSection
	if len(l.list("images")) > 0 {
		added = addsEntry
	}
	at := gitops.Path{gitops.Field("images"), gitops.Index(len(l.list("images")))}
	return s.set(l, fmt.Sprintf("add an images entry of %s to %s", have.name, l.file), at, entry, max(added, weight))
}

// replicas edits or adds an entry of a kustomization's replicas.
type replicas struct{}

func (replicas) candidates(_ context.Context, s site) []Candidate {
	count, ok := s.change.After.V.(int64)
	if s.remove || !ok || s.change.Path.String() != "spec.replicas" {
		return nil
	}
	names := []string{s.declared.Origin.Written.Name, s.declared.ID.Name}
	var out []Candidate
	owners := s.owners()
	for _, l := range s.layers {
		found := false
		for at, v := range l.list("replicas") {
			entry, _ := v.(map[string]any)
			if name, _ := entry["name"].(string); !slices.Contains(names, name) {
				continue
			}
			found = true
			at := gitops.Path{gitops.Field("replicas"), gitops.Index(at), gitops.Field("count")}
			out = append(out, s.set(l, "change the replicas entry in "+l.file, at, count, changesValue)...)
		}
		if _, owns := owners[l.file]; !owns || found || names[0] == "" {
			continue
		}
		added := addsSection
		if len(l.list("replicas")) > 0 {
			added = addsEntry
		}
		at := gitops.Path{gitops.Field("replicas"), gitops.Index(len(l.list("replicas")))}
		out = append(out, s.set(l, "add a replicas entry to "+l.file, at, map[string]any{"name": names[0], "count": count}, added)...)
	}
	return out
}
