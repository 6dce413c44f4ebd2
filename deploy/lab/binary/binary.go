// Package binary knows the programs of the lab: which Go module each is built from, where the built file lies, and
// how it is built when it is absent. A built file carries the hash of what it was built from in its name, so a
// changed requirement asks for a new build and an unchanged one never builds twice.
package binary

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// CacheEnv names the environment variable that places the built files elsewhere than deploy/lab/.bin, for instance
// in a folder that a build machine keeps between runs.
const CacheEnv = "HOLDFAST_LAB_BIN"

// Command is what builds every absent program. Error messages name it.
const Command = "make lab"

// Binary is one program of the lab.
type Binary struct {
	Name    string   // file name without hash, and the name in messages
	Module  string   // folder of its Go module below deploy/lab
	Package string   // import path of its main package, or "." for the module's own
	LDFlags []string // linker flags beside -s -w
	Data    []Data   // YAML files of its modules that it cannot run without
	Folders *Folders // folders of a module that it cannot run without; nil for none
}

// Data is a set of YAML files inside a Go module that are kept beside the binary as one file of many documents, so
// that running the binary needs no module cache.
type Data struct {
	Module string // module path
	Glob   string // slash-separated pattern below the module's root
}

// Folders are folders at the root of a Go module that are kept beside the binary, in one folder.
type Folders struct {
	Module string // module path
	Names  []string
}

// Kubebox is etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl in one file.
// The version has to be set by the linker: a build outside the Kubernetes tree calls itself v0.0.0, and clients
// then see a server without a version.
func Kubebox() Binary {
	const version = "k8s.io/component-base/version."
	return Binary{Name: "kubebox", Module: "kubebox", Package: ".", LDFlags: []string{
		"-X", version + "gitVersion=v1.36.3", "-X", version + "gitMajor=1", "-X", version + "gitMinor=36",
	}}
}

// SourceController is Flux's source-controller with its custom resource definitions.
func SourceController() Binary {
	const module = "github.com/fluxcd/source-controller"
	return Binary{Name: "source-controller", Module: "flux", Package: module,
		Data: []Data{{Module: module, Glob: "config/crd/bases/*.yaml"}}}
}

// KustomizeController is Flux's kustomize-controller with its custom resource definitions.
func KustomizeController() Binary {
	const module = "github.com/fluxcd/kustomize-controller"
	return Binary{Name: "kustomize-controller", Module: "flux", Package: module,
		Data: []Data{{Module: module, Glob: "config/crd/bases/*.yaml"}}}
}

// Kwok plays kubelet for nodes and pods that do not exist; its data are the stages that make them Ready.
func Kwok() Binary {
	const module = "sigs.k8s.io/kwok"
	return Binary{Name: "kwok", Module: "kwok", Package: module + "/cmd/kwok", Data: []Data{
		{Module: module, Glob: "kustomize/stage/node/fast/node-*.yaml"},
		{Module: module, Glob: "kustomize/stage/node/heartbeat-with-lease/node-*.yaml"},
		{Module: module, Glob: "kustomize/stage/pod/fast/pod-*.yaml"},
	}}
}

// Argobox is Argo CD's application controller and repo server, a Redis in memory and kustomize in one file, with the
// definitions of Applications and their projects. As in Kubernetes, only the linker can set the versions.
func Argobox() Binary {
	const module = "github.com/argoproj/argo-cd/v2"
	return Binary{Name: "argobox", Module: "argocd", Package: ".", LDFlags: []string{
		"-X", module + "/common.version=2.14.21", "-X", "sigs.k8s.io/kustomize/api/provenance.version=v5.4.3",
	}, Data: []Data{
		{Module: module, Glob: "manifests/crds/application-crd.yaml"},
		{Module: module, Glob: "manifests/crds/appproject-crd.yaml"},
	}}
}

// Helm is the program that Argo CD's repo server calls to render charts, in the version that Argo CD ships.
func Helm() Binary {
	const module = "helm.sh/helm/v3"
	return Binary{Name: "helm", Module: "argocd", Package: module + "/cmd/helm",
		LDFlags: []string{"-X", module + "/internal/version.version=v3.16.3"}}
}

// Gitea is a forge, with its texts and pages.
func Gitea() Binary {
	return Binary{Name: "gitea", Module: "gitea", Package: ".", LDFlags: []string{"-X", "main.version=1.26.0"},
		Folders: &Folders{Module: "code.gitea.io/gitea", Names: []string{"options", "public", "templates"}}}
}

// All lists every program in the order in which they are built: what most tests need comes first.
// Gitea is in it; [Everyday] leaves it out.
func All() []Binary {
	return []Binary{Kubebox(), SourceController(), KustomizeController(), Kwok(), Argobox(), Helm(), Gitea()}
}

// Everyday lists what `make test` needs. The forge takes minutes to build, and `make e2e` alone asks for it.
func Everyday() []Binary {
	return slices.DeleteFunc(All(), func(b Binary) bool { return b.Name == Gitea().Name })
}

// ErrNotFound says that a program is not built yet.
var ErrNotFound = errors.New("lab program is absent")

// Store is the folder of built programs that belongs to one checkout.
type Store struct {
	Root string // the checkout
	Dir  string // where the built files lie
}

// Open finds the checkout that holds dir, by walking up to the folder with deploy/lab/kubebox/go.mod, and the folder
// of its built programs: cache, or deploy/lab/.bin when cache is empty.
func Open(dir, cache string) (Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Store{}, err
	}
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "deploy", "lab", "kubebox", "go.mod")); err == nil {
			if cache == "" {
				cache = filepath.Join(root, "deploy", "lab", ".bin")
			}
			return Store{Root: root, Dir: cache}, nil
		}
		if root == filepath.Dir(root) {
			return Store{}, fmt.Errorf("no folder above %s holds deploy/lab/kubebox/go.mod: run inside a checkout", dir)
		}
	}
}

// Find returns the path of a built program. Its error wraps ErrNotFound and names the command that builds it.
func (s Store) Find(b Binary) (string, error) {
	path, err := s.path(b)
	if err != nil {
		return "", err
	}
	for _, file := range s.files(b, path) {
		if _, err := os.Stat(file); err != nil {
			return "", fmt.Errorf("%w: %s (looked for %s); build it with: %s", ErrNotFound, b.Name, file, Command)
		}
	}
	return path, nil
}

// DataFile returns where the data of the program at path lies.
func DataFile(path string) string { return path + ".yaml" }

// Folder returns where the folders of the program at path lie.
func Folder(path string) string { return path + ".d" }

func (s Store) files(b Binary, path string) []string {
	files := []string{path}
	if len(b.Data) > 0 {
		files = append(files, DataFile(path))
	}
	if b.Folders != nil {
		files = append(files, Folder(path))
	}
	return files
}

// path names the built file after everything that decides its content: requirements, replacements, the module's own
// sources and the flags.
func (s Store) path(b Binary) (string, error) {
	module := s.moduleDir(b)
	sources, err := filepath.Glob(filepath.Join(module, "*.go"))
	if err != nil {
		return "", err
	}
	sources = append(sources, filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum"))
	slices.Sort(sources)
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %q %v\n", b.Package, b.LDFlags, b.Data)
	if b.Folders != nil {
		fmt.Fprintf(sum, "%v\n", *b.Folders)
	}
	for _, file := range sources {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("lab program %s: %w", b.Name, err)
		}
		fmt.Fprintf(sum, "%s %d\n", filepath.Base(file), len(content))
		sum.Write(content)
	}
	return filepath.Join(s.Dir, b.Name+"-"+hex.EncodeToString(sum.Sum(nil))[:12]), nil
}

func (s Store) moduleDir(b Binary) string { return filepath.Join(s.Root, "deploy", "lab", b.Module) }

// join makes one stream of YAML documents of many files.
func join(files [][]byte) []byte {
	var out bytes.Buffer
	for _, content := range files {
		out.WriteString("---\n")
		out.Write(bytes.TrimSpace(content))
		out.WriteByte('\n')
	}
	return out.Bytes()
}
