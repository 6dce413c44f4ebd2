// Package setting is about what an analysis is for: cloud provider, engine, number of clusters, detection interval, tier and
// standard. It reads them in the spellings that people use, and tells provider and engine from the marks that they leave on a
// cluster. It does no I/O.
package setting

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// Setting is one value of each variable, several where there are several. What is not known is empty.
type Setting struct {
	Providers []Provider    `json:"providers,omitempty"`
	Engines   []Engine      `json:"engines,omitempty"`
	Clusters  int           `json:"clusters,omitempty"`
	Interval  time.Duration `json:"-"`
	Tiers     []detect.Tier `json:"tiers,omitempty"`
	Standards []string      `json:"standards,omitempty"`
}

// Given are the variables as they were given on a command line; each may be left out.
type Given struct {
	Providers, Engines, Tiers, Standards []string
	Clusters                             int
	Interval                             string
}

// MostClusters bounds a number of clusters that is given: more is a slip of the keyboard.
const MostClusters = 1_000_000

// Parse reads what was given, and says all that is wrong with it at once. A standard named CIS stands for the benchmarks of
// the providers that were given; without one it stays, until it is known what was observed.
func (g Given) Parse() (Setting, error) {
	var out Setting
	var errs []error
	each := func(texts []string, take func(string) error) {
		for _, text := range texts {
			errs = append(errs, take(text))
		}
	}
	each(g.Providers, func(text string) error {
		p, err := ParseProvider(text)
		out.Providers = withNew(out.Providers, p, err)
		return err
	})
	each(g.Engines, func(text string) error {
		e, err := ParseEngine(text)
		out.Engines = withNew(out.Engines, e, err)
		return err
	})
	each(g.Tiers, func(text string) error {
		t, err := ParseTier(text)
		out.Tiers = withNew(out.Tiers, t, err)
		return err
	})
	each(g.Standards, func(text string) error {
		s, err := ParseStandard(text)
		out.Standards = withNew(out.Standards, s, err)
		return err
	})
	if g.Interval != "" {
		var err error
		out.Interval, err = ParseInterval(g.Interval)
		errs = append(errs, err)
	}
	if g.Clusters < 0 || g.Clusters > MostClusters {
		errs = append(errs, fmt.Errorf("number of clusters %d: want a number from 1 to %d", g.Clusters, MostClusters))
	}
	out.Clusters = g.Clusters
	if err := errors.Join(errs...); err != nil {
		return Setting{}, err
	}
	return out, nil
}

func withNew[T comparable](list []T, one T, err error) []T {
	if err != nil || slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}

// WithFlavours puts the benchmarks of the providers in the place of CIS; without a provider, that of self-managed clusters.
func WithFlavours(standards []string, providers []Provider) []string {
	var out []string
	for _, s := range standards {
		if s != CIS {
			out = withNew(out, s, nil)
			continue
		}
		if len(providers) == 0 {
			out = withNew(out, CISOf(SelfManaged), nil)
		}
		for _, p := range providers {
			out = withNew(out, CISOf(p), nil)
		}
	}
	return out
}

// Marks are what tells of a cluster who runs it.
type Marks struct {
	// Version is the API server's, such as v1.33.1-eks-595af52; Server its address.
	Version, Server string
	// APIVersions are the group/versions that it serves.
	APIVersions []string
	// Nodes are its Node objects, as far as they were read.
	Nodes []gitops.Object
}

// Detected is a value that was told from marks, and the mark that told it.
type Detected struct {
	Provider Provider `json:"provider"`
	Because  string   `json:"because"`
}

// DetectProvider tells who runs a cluster. Node marks go before those of the control plane, since a distribution may run on
// any cloud's machines: OpenShift before all. ok is false where nothing tells; a cluster without a mark of a provider whose
// nodes were read is self-managed.
//
// Sources: the providers' documents on well-known node labels, and the suffixes of their version strings.
func DetectProvider(m Marks) (d Detected, ok bool) {
	for _, v := range m.APIVersions {
		if strings.HasPrefix(v, "config.openshift.io/") {
			return Detected{OpenShift, "the API serves " + v}, true
		}
	}
	for _, v := range m.APIVersions {
		if strings.HasPrefix(v, "auto.gke.io/") {
			return Detected{Autopilot, "the API serves " + v}, true
		}
	}
	for _, n := range m.Nodes {
		if p, because := nodeProvider(n); p != "" {
			return Detected{p, because}, true
		}
	}
	switch {
	case strings.Contains(m.Version, "-eks-"):
		return Detected{EKS, "the API server's version is " + m.Version}, true
	case strings.Contains(m.Version, "-gke."):
		return Detected{GKE, "the API server's version is " + m.Version}, true
	}
	for suffix, p := range map[string]Provider{".eks.amazonaws.com": EKS, ".azmk8s.io": AKS, ".gke.goog": GKE} {
		if strings.HasSuffix(hostOf(m.Server), suffix) {
			return Detected{p, "the API server's address ends with " + suffix}, true
		}
	}
	if len(m.Nodes) > 0 {
		return Detected{SelfManaged, "no node bears a provider's mark"}, true
	}
	return Detected{}, false
}

func hostOf(server string) string {
	_, rest, found := strings.Cut(server, "://")
	if !found {
		rest = server
	}
	rest, _, _ = strings.Cut(rest, "/")
	host, _, _ := strings.Cut(rest, ":")
	return host
}

func nodeProvider(node gitops.Object) (Provider, string) {
	for _, mark := range []struct {
		label    string
		provider Provider
	}{
		{"node.openshift.io/os_id", OpenShift},
		{"cloud.google.com/gke-nodepool", GKE},
		{"eks.amazonaws.com/nodegroup", EKS},
		{"eks.amazonaws.com/compute-type", EKS},
		{"kubernetes.azure.com/cluster", AKS},
	} {
		if _, ok := node.Labels()[mark.label]; !ok {
			continue
		}
		if mark.provider == GKE && strings.HasPrefix(node.ID.Name, "gk3-") {
			return Autopilot, "node " + node.ID.Name + " has a name of Autopilot and the label " + mark.label
		}
		return mark.provider, "node " + node.ID.Name + " has the label " + mark.label
	}
	return "", ""
}

// DetectedEngine is an engine that was found on a cluster, and what told.
type DetectedEngine struct {
	Engine  Engine `json:"engine"`
	Because string `json:"because"`
}

// imageVersion is the version in an image's tag. Flux's distribution has a version of its own, in the label
// app.kubernetes.io/version of what it installs; its controllers' images have theirs.
var imageVersion = regexp.MustCompile(`:v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)(?:@sha256:[0-9a-f]+)?$`)

// DetectEngines tells engines and versions from their controllers' Deployments and StatefulSets. A controller whose version
// cannot be told gives the engine without one.
func DetectEngines(workloads []gitops.Object) []DetectedEngine {
	var out []DetectedEngine
	add := func(e Engine, because string) {
		for i, known := range out {
			if known.Engine.Name != e.Name {
				continue
			}
			if known.Engine.Version == "" {
				out[i] = DetectedEngine{e, because}
			}
			if known.Engine.Version == "" || e.Version == "" || known.Engine.Version == e.Version {
				return
			}
		}
		out = append(out, DetectedEngine{e, because})
	}
	for _, o := range workloads {
		if o.ID.Kind != "Deployment" && o.ID.Kind != "StatefulSet" {
			continue
		}
		labels := o.Labels()
		where := o.ID.Kind + " " + o.ID.Namespace + "/" + o.ID.Name
		switch {
		case labels["app.kubernetes.io/part-of"] == "flux" && fluxController(o.ID.Name):
			add(Engine{gitops.Flux, strings.TrimPrefix(labels["app.kubernetes.io/version"], "v")}, where+" is part of Flux")
		case o.ID.Name == "argocd-application-controller" || labels["app.kubernetes.io/name"] == "argocd-application-controller":
			add(Engine{gitops.ArgoCD, versionOfImage(o)}, where+" is Argo CD's")
		}
	}
	return out
}

func fluxController(name string) bool {
	return slices.Contains([]string{"kustomize-controller", "helm-controller", "source-controller"}, name)
}

// versionOfImage gives the version in the tag of a workload's first image that has one.
func versionOfImage(o gitops.Object) string {
	var at any = o.Content
	for _, key := range []string{"spec", "template", "spec", "containers"} {
		mapping, _ := at.(map[string]any)
		at = mapping[key]
	}
	containers, _ := at.([]any)
	for _, c := range containers {
		container, _ := c.(map[string]any)
		image, _ := container["image"].(string)
		if parts := imageVersion.FindStringSubmatch(image); parts != nil {
			return parts[1]
		}
	}
	return ""
}
