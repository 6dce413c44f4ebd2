package setting

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/gitops"
)

func TestSpellingsThatPeopleUse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"EKS", "EKS", "aws-eks"},
		{"its own id", "aws-eks", "aws-eks"},
		{"a long name", "Google Kubernetes Engine", "gcp-gke"},
		{"Autopilot is told from GKE", "GKE Autopilot", "gcp-gke-autopilot"},
		{"Azure", "azure kubernetes service", "azure-aks"},
		{"ROSA is OpenShift", "ROSA", "openshift"},
		{"on-premises", "on premises", "self-managed"},
	} {
		if got, err := ParseProvider(c.text); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v, want %s", c.name, got, err, c.want)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"SOC 2 Type II", "SOC 2 Type II", "soc2-tsc2017"},
		{"SOC2", "SOC2", "soc2-tsc2017"},
		{"NIST with its release", "NIST 800-53 r5", "nist-800-53r5"},
		{"FedRAMP names its level", "FedRAMP High", "fedramp-high"},
		{"PCI DSS", "PCI-DSS v4.0.1", "pci-dss-4.0.1"},
		{"ISO with a colon", "ISO 27001:2022", "iso27001-2022"},
		{"HIPAA", "hipaa", "hipaa-security-rule"},
		{"CIS waits for the provider", "CIS Benchmark", CIS},
		{"NIS 2", "NIS 2", "nis2"},
		{"DORA", "Dora", "dora"},
	} {
		if got, err := ParseStandard(c.text); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %s", c.name, got, err, c.want)
		}
	}
	for _, c := range []struct {
		name, text string
		want       Engine
	}{
		{"Flux v2", "Flux v2", Engine{gitops.Flux, "2"}},
		{"flux2 is Flux without a version", "flux2", Engine{gitops.Flux, ""}},
		{"a whole version", "flux 2.9.4", Engine{gitops.Flux, "2.9.4"}},
		{"Argo CD", "Argo CD", Engine{gitops.ArgoCD, ""}},
		{"a version after an at sign", "argocd@v3.5.1", Engine{gitops.ArgoCD, "3.5.1"}},
	} {
		if got, err := ParseEngine(c.text); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
	for _, c := range []struct {
		name, text string
		want       detect.Tier
	}{{"prod", "Prod", detect.Production}, {"disaster recovery", "Disaster Recovery", detect.DR}, {"dev", "development", detect.Dev}} {
		if got, err := ParseTier(c.text); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %s", c.name, got, err, c.want)
		}
	}
	for text, want := range map[string]time.Duration{
		"5m": 5 * time.Minute, "10 minutes": 10 * time.Minute, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour, "Daily": 24 * time.Hour, "1 min": time.Minute,
	} {
		if got, err := ParseInterval(text); err != nil || got != want {
			t.Errorf("interval %q: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestWhatIsNotKnownListsWhatIs(t *testing.T) {
	refused := func(err error, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v: want %q in it", err, part)
			}
		}
	}
	_, err := ParseProvider("Heroku")
	refused(err, `"Heroku"`, "aws-eks", "gcp-gke-autopilot", "self-managed")
	_, err = ParseStandard("FedRAMP")
	refused(err, "fedramp-moderate, fedramp-high")
	_, err = ParseStandard("PCI DSS 3.2.1")
	refused(err, "pci-dss-4.0.1")
	_, err = ParseEngine("spinnaker 1.2")
	refused(err, `"spinnaker 1.2"`, "flux, argocd")
	_, err = ParseEngine("flux v1")
	refused(err, "no longer maintained")
	_, err = ParseTier("")
	refused(err, "regulated")
	for _, text := range []string{"-5m", "0", "0s", "soon", "99999999999999999999d", "-1 hour", "NaN"} {
		_, err = ParseInterval(text)
		refused(err, "positive length of time")
	}
}

func TestGivenSaysAllThatIsWrong(t *testing.T) {
	_, err := Given{Providers: []string{"eks", "moon"}, Standards: []string{"soc 2", "iso 9001"}, Clusters: -1, Interval: "-1m"}.Parse()
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, part := range []string{`"moon"`, `"iso 9001"`, "-1", `"-1m"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: want %s in it", err, part)
		}
	}
	got, err := Given{Providers: []string{"EKS", "aws", "gke"}, Standards: []string{"CIS", "SOC 2"}, Clusters: 200}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Provider{EKS, GKE}, got.Providers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"cis-eks-1.8.0", "cis-gke-1.9.0", "soc2-tsc2017"}, WithFlavours(got.Standards, got.Providers)); diff != "" {
		t.Error(diff)
	}
	if got := WithFlavours([]string{CIS}, nil); got[0] != "cis-k8s-2.0.1" {
		t.Errorf("without a provider: %v", got)
	}
}

func TestEveryStandardOfTheCatalogueCanBeNamed(t *testing.T) {
	a, err := assess.New()
	if err != nil {
		t.Fatal(err)
	}
	named := StandardIDs()
	slices.Sort(named)
	if diff := cmp.Diff(a.Standards(), named); diff != "" {
		t.Error(diff)
	}
	seen := map[string]string{}
	for _, list := range [][]known{providers(), engineNames(), tiers(), standards()} {
		clear(seen)
		for _, k := range list {
			for _, spelling := range append([]string{k.id, k.name}, k.aliases...) {
				if other, ok := seen[plain(spelling)]; ok && other != k.id {
					t.Errorf("%q stands for %s and for %s", spelling, other, k.id)
				}
				seen[plain(spelling)] = k.id
			}
		}
	}
}

func node(name string, labels map[string]any) gitops.Object {
	return gitops.NewObject(map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name, "labels": labels}})
}

func TestProvidersAreToldFromTheirMarks(t *testing.T) {
	plainNode := node("worker-1", map[string]any{"kubernetes.io/os": "linux"})
	for _, c := range []struct {
		name  string
		marks Marks
		want  Provider
	}{
		{"a node group of EKS", Marks{Nodes: []gitops.Object{node("ip-10-0-0-1", map[string]any{"eks.amazonaws.com/nodegroup": "main"})}}, EKS},
		{"without nodes, EKS's version string", Marks{Version: "v1.33.1-eks-595af52"}, EKS},
		{"a node pool of GKE", Marks{Version: "v1.33.1-gke.100", Nodes: []gitops.Object{node("gke-main-1", map[string]any{"cloud.google.com/gke-nodepool": "main"})}}, GKE},
		{"Autopilot's node names", Marks{Version: "v1.33.1-gke.100", Nodes: []gitops.Object{node("gk3-main-1", map[string]any{"cloud.google.com/gke-nodepool": "main"})}}, Autopilot},
		{"Autopilot's API", Marks{Version: "v1.33.1-gke.100", APIVersions: []string{"auto.gke.io/v1"}}, Autopilot},
		{"AKS by its address", Marks{Version: "v1.33.1", Server: "https://shop-abc.hcp.westeurope.azmk8s.io:443"}, AKS},
		{"AKS by its nodes", Marks{Nodes: []gitops.Object{node("aks-1", map[string]any{"kubernetes.azure.com/cluster": "mc"})}}, AKS},
		{"OpenShift on a cloud's machines", Marks{APIVersions: []string{"config.openshift.io/v1"}, Nodes: []gitops.Object{node("ip", map[string]any{"eks.amazonaws.com/nodegroup": "main"})}}, OpenShift},
		{"no mark on any node", Marks{Version: "v1.36.3", Nodes: []gitops.Object{plainNode}}, SelfManaged},
		{"an address that only looks like AKS", Marks{Server: "https://x.azmk8s.io.example.com"}, ""},
		{"nothing read tells nothing", Marks{Version: "v1.36.3"}, ""},
	} {
		got, ok := DetectProvider(c.marks)
		if got.Provider != c.want || ok != (c.want != "") || ok && got.Because == "" {
			t.Errorf("%s: %+v, %t, want %s", c.name, got, ok, c.want)
		}
	}
}

func workload(kind, namespace, name, image string, labels map[string]any) gitops.Object {
	return gitops.NewObject(map[string]any{
		"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name, "labels": labels},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"image": image}}}}},
	})
}

func TestEnginesAreToldFromTheirControllers(t *testing.T) {
	flux := map[string]any{"app.kubernetes.io/part-of": "flux", "app.kubernetes.io/version": "v2.9.4"}
	got := DetectEngines([]gitops.Object{
		workload("Deployment", "flux-system", "kustomize-controller", "ghcr.io/fluxcd/kustomize-controller:v1.9.4", flux),
		workload("Deployment", "flux-system", "helm-controller", "ghcr.io/fluxcd/helm-controller:v1.6.3", flux),
		workload("StatefulSet", "argocd", "argocd-application-controller", "quay.io/argoproj/argocd:v3.5.1@sha256:"+strings.Repeat("a", 64), nil),
		workload("Deployment", "shop", "argocd-application-controllers-friend", "shop:v1.0.0", nil),
	})
	var names []string
	for _, e := range got {
		names = append(names, e.Engine.String())
	}
	if diff := cmp.Diff([]string{"Flux 2.9.4", "Argo CD 3.5.1"}, names); diff != "" {
		t.Error(diff)
	}
	if got := DetectEngines([]gitops.Object{workload("StatefulSet", "argocd", "argocd-application-controller", "registry.example.com/argocd:latest", nil)}); got[0].Engine.Version != "" {
		t.Errorf("a version was made of the tag latest: %+v", got)
	}
}
