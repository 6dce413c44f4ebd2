package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/detect/live/internal/jsonvalue"
	"holdfast/gitops"
	"holdfast/gitops/packed"
)

const pageSize = 500

// listing asks for one list: a resource, in one namespace or in all, by one selector or whole.
type listing struct {
	resource  resource
	namespace string
	selector  string
	// metadata asks for metadata alone; the objects are then noted as wanted, and not held.
	metadata bool
	// keep picks the objects worth holding; nil keeps all.
	keep func(gitops.Object) bool
}

// list reads all pages. When the server forgets the list half-way (410 Gone: the continue token outlived
// etcd's compaction), it starts once more from the beginning. With an error the objects read so far are
// given too: they are true, but the list is not whole. They are packed by set, not added to it.
func (c *Cluster) list(ctx context.Context, l listing, set *packed.Set) ([]packed.Object, error) {
	objects, err := c.pages(ctx, l, set)
	if isStatus(err, http.StatusGone) {
		objects, err = c.pages(ctx, l, set)
	}
	if err != nil && len(objects) > 0 {
		err = fmt.Errorf("the list broke off after %d objects: %w", len(objects), err)
	}
	return objects, err
}

func (c *Cluster) pages(ctx context.Context, l listing, set *packed.Set) ([]packed.Object, error) {
	var objects []packed.Object
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if l.selector != "" {
		query.Set("labelSelector", l.selector)
	}
	accept := acceptJSON
	if l.metadata || c.metadataOnly(l.resource) {
		accept = acceptMetadataList
	}
	decoder := jsonvalue.NewDecoder() // one list shares among its pages what repeats
	for {
		var page page
		err := c.requester.get(ctx, l.resource.path(l.namespace, ""), query, accept, func(body []byte) (err error) {
			page, err = decodePage(decoder, body, l.resource, accept == acceptMetadataList)
			return err
		})
		if err != nil {
			return objects, err
		}
		for _, o := range page.objects {
			if l.keep == nil || l.keep(o) {
				objects = append(objects, set.Pack(o))
			}
		}
		if page.next == "" {
			return objects, nil
		}
		query.Set("continue", page.next)
	}
}

// getOne reads one object by name; found is false when it does not exist.
func (c *Cluster) getOne(ctx context.Context, r resource, id gitops.ObjectID) (object gitops.Object, found bool, err error) {
	accept := acceptJSON
	if c.metadataOnly(r) {
		accept = acceptMetadata
	}
	err = c.requester.get(ctx, r.path(id.Namespace, id.Name), nil, accept, func(body []byte) (err error) {
		object, err = decodeOne(body, r, accept == acceptMetadata)
		return err
	})
	if isStatus(err, http.StatusNotFound) {
		return gitops.Object{}, false, nil
	}
	if err == nil && object.ID != id {
		err = fmt.Errorf("asked for %s, the server answered with %s", id, object.ID)
	}
	return object, err == nil, err
}

func (c *Cluster) metadataOnly(r resource) bool {
	return c.secrets == SecretsMetadata && r.groupKind() == secretKind
}

func isStatus(err error, code int) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == code
}

// validSegment says whether a name can stand in a URL path. Kubernetes accepts no other names, so an object
// with one cannot exist.
func validSegment(name string) bool {
	return name != "." && name != ".." && !strings.ContainsAny(name, "/%")
}
