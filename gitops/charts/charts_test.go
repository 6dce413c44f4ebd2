package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/gitops"
)

// archive packs files, and entries of other kinds where a name ends in "->target".
func archive(t *testing.T, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for i := 0; i < len(files); i += 2 {
		header := &tar.Header{Name: files[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[i+1]))}
		if name, target, link := strings.Cut(files[i], "->"); link {
			header = &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(files[i+1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(s[:])
}

const chartYAML = "apiVersion: v2\nname: podinfo\nversion: 6.5.1\n"

// repository serves an index with some versions of one chart, as a chart repository does.
func repository(t *testing.T, user string) (at string, data []byte) {
	t.Helper()
	data = archive(t, "podinfo/Chart.yaml", chartYAML, "podinfo/templates/cm.yaml", "kind: ConfigMap\n")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("credentials reach another host")
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("/stable/index.yaml", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `apiVersion: v1
entries:
  podinfo:
  - {version: 6.6.0-rc.1, urls: [podinfo.tgz]}
  - {version: v6.5.1, urls: [podinfo.tgz], digest: %s}
  - {version: 6.5.0, urls: [/stable/podinfo.tgz], digest: %s}
  - {version: 6.4.0, urls: [%q]}
  - {version: 6.3.0, urls: [podinfo.tgz], digest: %s}
  - {version: 6.2.0, urls: [moved.tgz]}
  - {version: 6.1.0, urls: [none.tgz]}
  - {version: 6.0.0, urls: [text.tgz]}
  - {version: 5.9.0, urls: []}
`, strings.TrimPrefix(sum(data), "sha256:"), sum(data), other.URL+"/podinfo.tgz", sum([]byte("other")))
	})
	mux.HandleFunc("/stable/podinfo.tgz", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(data) })
	mux.HandleFunc("/stable/moved.tgz", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/podinfo.tgz", http.StatusFound)
	})
	mux.HandleFunc("/stable/text.tgz", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("<html>")) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, password, _ := r.BasicAuth(); user != "" && (got != user || password != "hunter2") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/stable", data
}

func TestFetchFromARepository(t *testing.T) {
	at, data := repository(t, "")
	cases := []struct {
		name             string
		version, applied string
		digest           string
		want             string
		err              error
		says             string
	}{
		{name: "a range takes the highest release", version: ">=6.0.0", want: "v6.5.1"},
		{name: "no version takes the highest release", want: "v6.5.1"},
		{name: "a range that names a pre-release takes it", version: ">=6.6.0-0", want: "6.6.0-rc.1"},
		{name: "the applied version goes before the range", version: "6.x", applied: "6.5.0", want: "6.5.0"},
		{name: "a version, where the index writes a v", version: "6.5.1", want: "v6.5.1"},
		{name: "the digest that is expected", version: "6.5.0", digest: sum(data), want: "6.5.0"},
		{name: "another digest than expected", version: "6.5.0", digest: sum([]byte("x")), err: ErrDigest},
		{name: "another digest than in the index", version: "6.3.0", err: ErrDigest},
		{name: "an archive on another host", version: "6.4.0", err: ErrHost},
		{name: "a redirect to another host", version: "6.2.0", err: ErrHost},
		{name: "an archive that is gone", version: "6.1.0", err: ErrNotFound},
		{name: "an archive that is none", version: "6.0.0", err: ErrArchive},
		{name: "an entry without an archive", version: "5.9.0", says: "names no archive"},
		{name: "a version that is not there", version: "7.0.0", err: ErrNotFound, says: "6.6.0-rc.1, v6.5.1, 6.5.0, 6.4.0, 6.3.0 and 4 more"},
		{name: "an applied version that is not there", version: "6.x", applied: "6.0.9", err: ErrNotFound, says: "6.0.9, which is applied"},
		{name: "neither version nor range", version: "newest", err: ErrNotFound, says: "no semver range"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			chart := gitops.Chart{Repo: at, Name: "podinfo", Version: c.version, Applied: c.applied, Digest: c.digest}
			got, err := Fetch(t.Context(), chart, Options{PlainHTTP: true})
			if c.err != nil && !errors.Is(err, c.err) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Fatalf("error %v, want %v %q", err, c.err, c.says)
			}
			if c.want == "" {
				return
			}
			if err != nil || got.Version != c.want || got.Digest != sum(data) {
				t.Fatalf("%s %s: %v", got.Version, got.Digest, err)
			}
			if text, _ := got.Tree.Read("Chart.yaml"); string(text) != chartYAML {
				t.Errorf("Chart.yaml: %q", text)
			}
		})
	}
}

func TestHostsThatAreAllowed(t *testing.T) {
	at, _ := repository(t, "bot")
	chart := gitops.Chart{Repo: at, Name: "podinfo", Version: "6.2.0"}
	options := Options{PlainHTTP: true, Username: "bot", Password: "hunter2"}
	_, err := Fetch(t.Context(), chart, options)
	if !errors.Is(err, ErrHost) {
		t.Fatal(err)
	}
	// The message names the host that it wants.
	_, host, _ := strings.Cut(err.Error(), "host not allowed: ")
	host, _, _ = strings.Cut(host, ";")
	options.Hosts = []string{host}
	if _, err := Fetch(t.Context(), chart, options); err != nil {
		t.Error(err)
	}
}

func TestFetchFailures(t *testing.T) {
	at, _ := repository(t, "bot")
	chart := gitops.Chart{Repo: at, Name: "podinfo", Version: "6.5.0"}
	if _, err := Fetch(t.Context(), chart, Options{PlainHTTP: true, Username: "bot", Password: "wrong"}); !errors.Is(err, ErrDenied) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong password: %v", err)
	}
	if _, err := Fetch(t.Context(), chart, Options{Username: "bot", Password: "hunter2"}); err == nil || !strings.Contains(err.Error(), "plainHTTP") {
		t.Errorf("http: %v", err)
	}
	good := Options{PlainHTTP: true, Username: "bot", Password: "hunter2"}
	if _, err := Fetch(t.Context(), gitops.Chart{Repo: at, Name: "nginx"}, good); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such chart: %v", err)
	}
	small := good
	small.Bytes = 10
	if _, err := Fetch(t.Context(), chart, small); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a small limit: %v", err)
	}
	u, _ := url.Parse(at)
	u.User = url.UserPassword("bot", "hunter2")
	chart.Repo = u.String()
	if _, err := Fetch(t.Context(), chart, Options{PlainHTTP: true}); !errors.Is(err, ErrDenied) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("credentials in the URL are not used, and not printed: %v", err)
	}
	for _, bad := range []string{"charts.example.test", "ftp://charts.example.test", "https://%zz", ""} {
		if _, err := Fetch(t.Context(), gitops.Chart{Repo: bad, Name: "podinfo"}, good); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	release := make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); slow.Close() })
	if _, err := Fetch(t.Context(), gitops.Chart{Repo: slow.URL, Name: "podinfo"}, Options{PlainHTTP: true, Timeout: 50 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("a slow server: %v", err)
	}
}

func TestUnpackRefuses(t *testing.T) {
	cases := map[string]struct {
		data []byte
		want error
	}{
		"a file beside the chart":           {archive(t, "Chart.yaml", chartYAML), ErrArchive},
		"a path out of it":                  {archive(t, "podinfo/../../etc/passwd", "x", "podinfo/Chart.yaml", chartYAML), ErrArchive},
		"an absolute path":                  {archive(t, "/podinfo/Chart.yaml", chartYAML), ErrArchive},
		"a link":                            {archive(t, "podinfo/Chart.yaml->/etc/passwd", ""), ErrArchive},
		"no Chart.yaml":                     {archive(t, "podinfo/values.yaml", "a: b\n"), ErrArchive},
		"text":                              {[]byte("<html>"), ErrArchive},
		"an archive that is cut off":        {archive(t, "podinfo/Chart.yaml", chartYAML)[:60], ErrArchive},
		"what unpacks to more than allowed": {archive(t, "podinfo/Chart.yaml", strings.Repeat("a", 5000)), ErrTooLarge},
	}
	for name, c := range cases {
		if _, err := unpack(t.Context(), c.data, 4096); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// repeated packs one entry many times, behind a Chart.yaml.
func repeated(t *testing.T, header tar.Header, times int) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	err := w.WriteHeader(&tar.Header{Name: "podinfo/Chart.yaml", Typeflag: tar.TypeReg, Size: int64(len(chartYAML))})
	if err == nil {
		_, err = w.Write([]byte(chartYAML))
	}
	for i := 0; i < times && err == nil; i++ {
		err = w.WriteHeader(&header)
	}
	if err := errors.Join(err, w.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestUnpackCountsEveryEntry(t *testing.T) {
	folder := tar.Header{Name: "podinfo/templates/", Typeflag: tar.TypeDir}
	empty := tar.Header{Name: "podinfo/values.yaml", Typeflag: tar.TypeReg}
	records := map[string]string{}
	for i := range 100 {
		records[fmt.Sprintf("HOLDFAST.x%d", i)] = strings.Repeat("x", 5000)
	}
	long := tar.Header{Name: "podinfo/templates/", Typeflag: tar.TypeDir, Format: tar.FormatPAX, PAXRecords: records}
	cases := map[string]struct {
		data []byte
		want error
	}{
		"as many folders as allowed":              {repeated(t, folder, maxFiles-1), nil},
		"one folder more":                         {repeated(t, folder, maxFiles), ErrTooLarge},
		"an empty file again and again":           {repeated(t, empty, maxFiles), ErrTooLarge},
		"few entries with headers that are large": {repeated(t, long, 50), ErrTooLarge},
	}
	for name, c := range cases {
		if _, err := unpack(t.Context(), c.data, 4096); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := unpack(ctx, repeated(t, folder, 100), 4096); !errors.Is(err, context.Canceled) {
		t.Errorf("after the caller's end: %v", err)
	}
}

// registry serves one chart as an OCI registry does.
func registry(t *testing.T) (host string, data []byte) {
	t.Helper()
	data = archive(t, "podinfo/Chart.yaml", chartYAML)
	manifest := func(mediaType string) []byte {
		text, err := json.Marshal(map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
			"config": map[string]any{"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": sum(nil), "size": 0},
			"layers": []any{map[string]any{"mediaType": mediaType, "digest": sum(data), "size": len(data)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	chart, image := manifest(chartLayer), manifest("application/vnd.oci.image.layer.v1.tar+gzip")
	tags := map[string][]byte{"6.5.1": chart, "6.5.0_build.1": chart, "latest": chart, "6.0.0": image, sum(chart): chart, sum(image): image}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const at = "/v2/charts/podinfo/"
		switch rest := strings.TrimPrefix(r.URL.Path, at); {
		case rest == "tags/list":
			_ = json.NewEncoder(w).Encode(map[string]any{"name": "charts/podinfo", "tags": []string{"6.5.1", "6.5.0_build.1", "latest", "6.0.0"}})
		case strings.HasPrefix(rest, "manifests/") && tags[strings.TrimPrefix(rest, "manifests/")] != nil:
			text := tags[strings.TrimPrefix(rest, "manifests/")]
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Docker-Content-Digest", sum(text))
			_, _ = w.Write(text)
		case rest == "blobs/"+sum(data):
			_, _ = w.Write(data)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), data
}

func TestFetchFromARegistry(t *testing.T) {
	host, data := registry(t)
	cases := []struct {
		name  string
		chart gitops.Chart
		want  string
		err   error
	}{
		{"a range", gitops.Chart{Repo: "oci://" + host + "/charts", Name: "podinfo", Version: "6.x"}, "6.5.1", nil},
		{"the chart's name in the URL already", gitops.Chart{Repo: "oci://" + host + "/charts/podinfo", Name: "podinfo", Version: "6.5.1"}, "6.5.1", nil},
		{"no name beside the URL", gitops.Chart{Repo: "oci://" + host + "/charts/podinfo", Version: "6.5.1"}, "6.5.1", nil},
		{"a version with a build, whose + is no tag's", gitops.Chart{Repo: "oci://" + host + "/charts", Name: "podinfo", Version: "6.x", Applied: "6.5.0+build.1"}, "6.5.0+build.1", nil},
		{"a tag that is no version", gitops.Chart{Repo: "oci://" + host + "/charts", Name: "podinfo", Version: "latest"}, "latest", nil},
		{"the archive's digest", gitops.Chart{Repo: "oci://" + host + "/charts", Name: "podinfo", Version: "6.5.1", Digest: sum(data)}, "6.5.1", nil},
		{"another digest", gitops.Chart{Repo: "oci://" + host + "/charts", Name: "podinfo", Version: "6.5.1", Digest: sum(nil)}, "", ErrDigest},
		{"an image that is no chart", gitops.Chart{Repo: "oci://" + host + "/charts", Name: "podinfo", Version: "6.0.0"}, "", ErrArchive},
		{"no such version", gitops.Chart{Repo: "oci://" + host + "/charts", Name: "podinfo", Version: "7.0.0"}, "", ErrNotFound},
		{"no such chart", gitops.Chart{Repo: "oci://" + host + "/charts", Name: "nginx", Version: "1.x"}, "", ErrNotFound},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Fetch(t.Context(), c.chart, Options{PlainHTTP: true})
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if c.err == nil && (got.Version != c.want || got.Digest != sum(data) || got.Tree.Len() != 1) {
				t.Errorf("%s %s, %d files", got.Version, got.Digest, got.Tree.Len())
			}
		})
	}
}

// moved serves two versions of a chart as a registry does: the tag is that of the second one.
func moved(t *testing.T) (repo string, manifests, archives [2]string) {
	t.Helper()
	content := map[string][]byte{}
	for i, text := range []string{chartYAML, strings.Replace(chartYAML, "6.5.1", "6.5.2", 1)} {
		data := archive(t, "podinfo/Chart.yaml", text)
		manifest := fmt.Appendf(nil, `{"schemaVersion": 2, "config": {"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": %q, "size": 0},
			"layers": [{"mediaType": %q, "digest": %q, "size": %d}]}`, sum(nil), chartLayer, sum(data), len(data))
		manifests[i], archives[i] = sum(manifest), sum(data)
		content["manifests/"+sum(manifest)], content["manifests/main"], content["blobs/"+sum(data)] = manifest, manifest, data
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := content[strings.TrimPrefix(r.URL.Path, "/v2/charts/podinfo/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", sum(data))
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	return "oci" + strings.TrimPrefix(server.URL, "http") + "/charts/podinfo", manifests, archives
}

func TestATagThatMoved(t *testing.T) {
	repo, manifests, archives := moved(t)
	cases := []struct {
		name  string
		chart gitops.Chart
		want  string // the archive
		err   error
	}{
		{"the manifest that is applied, by the tag's name", gitops.Chart{Repo: repo, Version: "main", Applied: "main", Digest: manifests[0]}, archives[0], nil},
		{"the manifest that is applied, out of a range", gitops.Chart{Repo: repo, Version: "6.x", Applied: "6.5.1", Digest: manifests[0]}, archives[0], nil},
		{"a manifest without a tag", gitops.Chart{Repo: repo, Digest: manifests[0]}, archives[0], nil},
		{"the tag, where no digest is known", gitops.Chart{Repo: repo, Version: "main"}, archives[1], nil},
		{"the archive that the tag holds", gitops.Chart{Repo: repo, Version: "main", Digest: archives[1]}, archives[1], nil},
		{"an archive that the tag held", gitops.Chart{Repo: repo, Version: "main", Digest: archives[0]}, "", ErrDigest},
		{"a manifest that is gone", gitops.Chart{Repo: repo, Version: "main", Digest: sum([]byte("gone"))}, "", ErrDigest},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Fetch(t.Context(), c.chart, Options{PlainHTTP: true})
			if !errors.Is(err, c.err) || got.Digest != c.want {
				t.Errorf("archive %s, error %v; want %s, %v", got.Digest, err, c.want, c.err)
			}
		})
	}
}

// TestTokensIssuedElsewhere: a registry says where its tokens are to be had, and who gets the password there is for
// Options to say.
func TestTokensIssuedElsewhere(t *testing.T) {
	data := archive(t, "podinfo/Chart.yaml", chartYAML)
	manifest := fmt.Appendf(nil, `{"schemaVersion": 2, "layers": [{"mediaType": %q, "digest": %q, "size": %d}]}`, chartLayer, sum(data), len(data))
	var issued int
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			if r.Header.Get("Authorization") != "" {
				t.Error("a redirect takes credentials to another host")
			}
			if r.URL.Path == "/moved" { // one step more, within the other host
				http.Redirect(w, r, "/blob", http.StatusTemporaryRedirect)
				return
			}
			_, _ = w.Write(data)
			return
		}
		issued++
		if user, password, _ := r.BasicAuth(); user != "bot" || password != "hunter2" {
			t.Errorf("the issuer got user %q", user)
		}
		_, _ = w.Write([]byte(`{"token": "t0ken"}`))
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer t0ken":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="registry"`, other.URL))
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, "/blobs/"):
			http.Redirect(w, r, other.URL+"/moved", http.StatusTemporaryRedirect)
		default:
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Docker-Content-Digest", sum(manifest))
			_, _ = w.Write(manifest)
		}
	}))
	t.Cleanup(server.Close)
	chart := gitops.Chart{Repo: "oci" + strings.TrimPrefix(server.URL, "http") + "/charts", Name: "podinfo", Version: "6.5.1"}
	options := Options{PlainHTTP: true, Username: "bot", Password: "hunter2"}
	if _, err := Fetch(t.Context(), chart, options); !errors.Is(err, ErrHost) || issued > 0 {
		t.Errorf("a host that is not listed: error %v, asked %d times", err, issued)
	}
	options.Hosts = []string{strings.TrimPrefix(other.URL, "http://")}
	if got, err := Fetch(t.Context(), chart, options); err != nil || got.Digest != sum(data) || issued == 0 {
		t.Errorf("a host that is listed: %s %v, asked %d times", got.Digest, err, issued)
	}
}

func TestLocalCharts(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, data, 0o600)); err != nil {
			t.Fatal(err)
		}
		return at
	}
	write("charts/podinfo/Chart.yaml", []byte(chartYAML))
	packed := write("podinfo.tgz", archive(t, "podinfo/Chart.yaml", chartYAML))
	for _, at := range []string{packed, filepath.Join(dir, "charts"), filepath.Join(dir, "charts", "podinfo")} {
		got, err := Local(at, gitops.Chart{Name: "podinfo", Applied: "6.5.1"})
		if err != nil || got.Version != "6.5.1" || got.Tree.Len() != 1 {
			t.Errorf("%s: %+v %v", at, got.Version, err)
		}
	}
	if _, err := Local(packed, gitops.Chart{Name: "podinfo", Applied: "6.4.0"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("another version than was applied: %v", err)
	}
	if _, err := Local(dir, gitops.Chart{Name: "podinfo"}); err == nil {
		t.Error("a folder without the chart is taken")
	}
	if _, err := Local(dir, gitops.Chart{Name: "../charts/podinfo"}); err == nil {
		t.Error("a chart's name leads out of the folder")
	}
}
