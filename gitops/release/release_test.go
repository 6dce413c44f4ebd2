package release_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/release"
	"holdfast/gitops/release/releasetest"
)

const record = `{"name":"shop","namespace":"store","version":3,"manifest":"kind: Secret\n","chart":{"templates":[{"data":"eA=="}]},
"config":{"password":"hunter2"},"info":{"status":"deployed","description":"Upgrade complete","last_deployed":"2026-03-01T10:00:00.5+01:00","deleted":""}}`

func object(kind, kindOfSecret, data string) gitops.Object {
	if kind == release.Secret {
		data = base64.StdEncoding.EncodeToString([]byte(data))
	}
	return gitops.NewObject(map[string]any{
		"apiVersion": "v1", "kind": kind, "type": kindOfSecret,
		"metadata": map[string]any{"name": "sh.helm.release.v1.shop.v3", "namespace": "flux-system"},
		"data":     map[string]any{"release": data},
	})
}

func TestDecode(t *testing.T) {
	want := release.Release{
		Name: "shop", Namespace: "store", Revision: 3, Status: release.Deployed, Description: "Upgrade complete",
		Time: time.Date(2026, 3, 1, 9, 0, 0, 5e8, time.UTC), Manifest: "kind: Secret\n",
	}
	for _, test := range []struct {
		name   string
		object gitops.Object
	}{
		{"a Secret", object(release.Secret, "helm.sh/release.v1", releasetest.Packed(t, record))},
		{"a ConfigMap", object(release.ConfigMap, "", releasetest.Packed(t, record))},
		{"a release of old, not compressed", object(release.Secret, "helm.sh/release.v1", base64.StdEncoding.EncodeToString([]byte(record)))},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := release.Decode(test.object)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("error %v, (-want +got)\n%s", err, diff)
			}
			if id := release.ID(test.object.ID.Kind, "flux-system", got.Name, got.Revision); id != test.object.ID {
				t.Errorf("identity %v, want %v", id, test.object.ID)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	of := func(text string) gitops.Object { return object(release.Secret, "helm.sh/release.v1", text) }
	for _, test := range []struct {
		name, want string
		object     gitops.Object
	}{
		{"a Secret of another type", "its type is not helm.sh/release.v1", object(release.Secret, "Opaque", releasetest.Packed(t, record))},
		{"a Secret without the key", "it has no key release", gitops.NewObject(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}})},
		{"another revision than the name's", "another release, or another revision", of(releasetest.Packed(t, strings.Replace(record, `"version":3`, `"version":4`, 1)))},
		{"text that is not packed", "is not packed", of("hunter2!")},
		{"a broken archive", "is not packed", of(base64.StdEncoding.EncodeToString([]byte("\x1f\x8b\x08hunter2")))},
		{"no JSON", "not the JSON of a release", of(releasetest.Packed(t, "hunter2"))},
		{"a field of another type", "not the JSON of a release", of(releasetest.Packed(t, `{"name":"shop","version":"hunter2"}`))},
		{"a bomb", "larger than 32 MiB", of(releasetest.Packed(t, strings.Repeat(" ", 33<<20)))},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := release.Decode(test.object)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want %q and no value", err, test.want)
			}
		})
	}
}

func TestRemarksThatMayQuoteValuesAreLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		"Install complete": "Install complete", "Rollback to 12": "Rollback to 12",
		"Upgrade failed: hunter2 is invalid": "", "Upgrade complete, password hunter2": "",
	} {
		got, err := release.Decode(object(release.ConfigMap, "", releasetest.Packed(t, strings.Replace(record, "Upgrade complete", text, 1))))
		if err != nil || got.Description != want {
			t.Errorf("%q: %q, error %v", text, got.Description, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("Secret", []byte(record))
	f.Add("ConfigMap", []byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		for _, text := range []string{string(data), base64.StdEncoding.EncodeToString(data)} {
			o := object(kind, "helm.sh/release.v1", text)
			if got, err := release.Decode(o); err == nil && release.ID(kind, "flux-system", got.Name, got.Revision) != o.ID {
				t.Errorf("%+v is of another name than %v", got, o.ID)
			}
		}
	})
}
