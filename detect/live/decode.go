package live

import (
	"errors"
	"fmt"
	"strings"

	"holdfast/detect/live/internal/jsonvalue"
	"holdfast/gitops"
)

// page is one page of a list.
type page struct {
	objects []gitops.Object
	next    string // the continue token; empty on the last page
}

var (
	errNoList   = errors.New("no Kubernetes list: something between here and the API server may have answered in its place")
	errNoObject = errors.New("no Kubernetes object: something between here and the API server may have answered in its place")
)

// decodePage reads a list as the API server sends it: the items of built-in kinds carry neither apiVersion
// nor kind, which come from the resource then. With metadataOnly anything but metadata is refused.
func decodePage(decoder *jsonvalue.Decoder, body []byte, r resource, metadataOnly bool) (page, error) {
	value, err := decoder.Decode(body)
	if err != nil {
		return page{}, err
	}
	list, _ := value.(map[string]any)
	kind, _ := list["kind"].(string)
	if !strings.HasSuffix(kind, "List") {
		return page{}, errNoList
	}
	if metadataOnly && kind != "PartialObjectMetadataList" {
		return page{}, fmt.Errorf("asked for metadata, the server answered with %s", kind)
	}
	items, ok := list["items"].([]any)
	if !ok && list["items"] != nil {
		return page{}, errNoList
	}
	p := page{objects: make([]gitops.Object, 0, len(items))}
	metadata, _ := list["metadata"].(map[string]any)
	p.next, _ = metadata["continue"].(string)
	for _, item := range items {
		content, ok := item.(map[string]any)
		if !ok {
			return page{}, errNoList
		}
		object := r.object(content, metadataOnly)
		if object.ID.Name == "" {
			return page{}, errNoList
		}
		p.objects = append(p.objects, object)
	}
	return p, nil
}

func decodeOne(body []byte, r resource, metadataOnly bool) (gitops.Object, error) {
	value, err := jsonvalue.NewDecoder().Decode(body)
	if err != nil {
		return gitops.Object{}, err
	}
	content, ok := value.(map[string]any)
	if !ok {
		return gitops.Object{}, errNoObject
	}
	if kind, _ := content["kind"].(string); metadataOnly && kind != "PartialObjectMetadata" {
		return gitops.Object{}, fmt.Errorf("asked for metadata, the server answered with %s", kind)
	}
	return r.object(content, metadataOnly), nil
}

// object names the content as the resource has it and strips what nobody compares.
func (r resource) object(content map[string]any, metadataOnly bool) gitops.Object {
	content["apiVersion"], content["kind"] = r.apiVersion(), r.kind
	if metadataOnly {
		content = onlyMetadata(content)
	}
	object := gitops.NewObject(content)
	strip(object)
	return object
}

// onlyMetadata keeps identity and metadata, without the annotation in which kubectl keeps a copy of the
// whole object, values included.
func onlyMetadata(content map[string]any) map[string]any {
	metadata, _ := content["metadata"].(map[string]any)
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
	return map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"], "metadata": metadata}
}

// strip drops status and who owns it: status is never compared. It changes content that nobody else reads
// yet: objects of one list may share field sets, and lose the same from them. Ownership of other fields in a status entry stays: Kubernetes' own controllers write annotations
// through the status subresource.
func strip(o gitops.Object) {
	if !keepsStatus(o.ID.GroupKind()) {
		delete(o.Content, "status")
	}
	metadata, _ := o.Content["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if fields, ok := entry["fieldsV1"].(map[string]any); ok {
			delete(fields, "f:status")
		}
	}
}

// keepsStatus lists the kinds whose status is evidence: what an engine applied, what an autoscaler wants.
func keepsStatus(kind gitops.GroupKind) bool {
	switch kind.Group {
	case "autoscaling", "keda.sh", "autoscaling.k8s.io":
		return true
	}
	return engineKind(kind)
}
