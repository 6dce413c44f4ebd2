// Package release reads what Helm keeps of a release in the cluster: one Secret or ConfigMap for each revision, with
// the manifest as it was applied (https://helm.sh/docs/topics/advanced/#storage-backends, helm.sh/helm/v4
// pkg/storage/driver). What it holds are values of Secrets: no error repeats any.
package release

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"holdfast/gitops"
)

// Kinds of the objects that hold a release: Helm's default, and what HELM_DRIVER=configmap asks for.
const (
	Secret    = "Secret"
	ConfigMap = "ConfigMap"
)

// The states of a revision that matter here. Others are failed, uninstalled, uninstalling and pending-….
const (
	Deployed = "deployed"
	pending  = "pending-"
)

// maxBytes is the size of a release once unpacked, the chart's files among it. Packed it fits into one object, of at
// most 1 MiB.
const maxBytes = 32 << 20

// secretType is the type of the Secrets.
const secretType = "helm.sh/release.v1"

// Release is one revision of a release.
type Release struct {
	Name, Namespace string
	Revision        int
	// Status is deployed, superseded, failed or another of Helm's words.
	Status string
	// Description is Helm's own remark; empty where it is not one of Helm's fixed ones, since others may quote values.
	Description string
	// Time is when it was deployed; zero when that is not told.
	Time time.Time
	// Manifest are the objects as applied, hooks and CRDs of the folder crds left out.
	Manifest string
}

// Pending says that Helm is at work on this revision, or was stopped at it.
func (r Release) Pending() bool { return strings.HasPrefix(r.Status, pending) }

// Label names a revision as people do: shop.v3.
func (r Release) Label() string { return fmt.Sprintf("%s.v%d", r.Name, r.Revision) }

// ID is the identity of the object that holds a revision. namespace is where Helm stores it, which need not be the
// release's own.
func ID(kind, namespace, name string, revision int) gitops.ObjectID {
	return gitops.ObjectID{Kind: kind, Namespace: namespace, Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision)}
}

// stored has the fields of Helm's record that are read.
type stored struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   int    `json:"version"`
	Manifest  string `json:"manifest"`
	Info      struct {
		Status       string `json:"status"`
		Description  string `json:"description"`
		LastDeployed string `json:"last_deployed"`
	} `json:"info"`
}

// Decode reads the object that holds a revision. One whose content is of another revision than its name says is
// refused.
func Decode(o gitops.Object) (Release, error) {
	fail := func(what string) (Release, error) {
		return Release{}, fmt.Errorf("%s %s/%s is no release of Helm: %s", o.ID.Kind, o.ID.Namespace, o.ID.Name, what)
	}
	data, _ := o.Content["data"].(map[string]any)
	text, ok := data["release"].(string)
	switch {
	case !ok:
		return fail("it has no key release")
	case o.IsSecret() && o.Content["type"] != secretType:
		return fail("its type is not " + secretType)
	case o.IsSecret():
		inner, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fail("its data is not base64")
		}
		text = string(inner)
	}
	unpacked, err := unpack(text)
	if err != nil {
		return fail(err.Error())
	}
	var s stored
	if err := json.Unmarshal(unpacked, &s); err != nil {
		return fail("what it holds is not the JSON of a release")
	}
	if o.ID.Name != ID(o.ID.Kind, "", s.Name, s.Version).Name {
		return fail("it holds another release, or another revision, than its name says")
	}
	r := Release{Name: s.Name, Namespace: s.Namespace, Revision: s.Version, Status: s.Info.Status, Manifest: s.Manifest}
	if fixedRemark.MatchString(s.Info.Description) {
		r.Description = s.Info.Description
	}
	if at, err := time.Parse(time.RFC3339, s.Info.LastDeployed); err == nil {
		r.Time = at.UTC()
	}
	return r, nil
}

// fixedRemark are the descriptions that Helm gives by itself and that quote nothing (helm.sh/helm/v4 pkg/action). Those
// of failures repeat the server's words, and --description takes any.
var fixedRemark = regexp.MustCompile(`^(Install complete|Upgrade complete|Rollback to [0-9]{1,9})$`)

var errPacked = errors.New("its data is not packed as Helm packs it")

// unpack undoes base64 and gzip. Releases of old were not compressed.
func unpack(text string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errPacked
	}
	if !bytes.HasPrefix(packed, []byte{0x1f, 0x8b, 0x08}) {
		return packed, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errPacked
	}
	out, err := io.ReadAll(io.LimitReader(reader, maxBytes+1))
	if err != nil {
		return nil, errPacked
	}
	if len(out) > maxBytes {
		return nil, fmt.Errorf("unpacked it is larger than %d MiB", maxBytes>>20)
	}
	return out, nil
}
