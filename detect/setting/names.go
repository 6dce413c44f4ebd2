package setting

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// Provider is who runs a cluster's control plane.
type Provider string

// The providers.
const (
	EKS         Provider = "aws-eks"
	GKE         Provider = "gcp-gke"
	Autopilot   Provider = "gcp-gke-autopilot"
	AKS         Provider = "azure-aks"
	OpenShift   Provider = "openshift"
	SelfManaged Provider = "self-managed"
)

// known is one value, its name in print, and further spellings that are taken. Spellings are compared without case,
// blanks and punctuation.
type known struct {
	id, name string
	aliases  []string
}

func providers() []known {
	return []known{
		{string(EKS), "Amazon EKS", []string{"eks", "aws", "amazon", "amazon eks", "elastic kubernetes service", "amazon elastic kubernetes service"}},
		{string(GKE), "Google GKE", []string{"gke", "gcp", "google", "google gke", "gke standard", "google kubernetes engine"}},
		{string(Autopilot), "Google GKE Autopilot", []string{"autopilot", "gke autopilot", "google gke autopilot"}},
		{string(AKS), "Azure AKS", []string{"aks", "azure", "microsoft azure", "azure kubernetes service"}},
		{string(OpenShift), "OpenShift", []string{"ocp", "okd", "rosa", "aro", "red hat openshift", "openshift container platform"}},
		{string(SelfManaged), "self-managed", []string{"self managed kubernetes", "on premises", "on-prem", "bare metal", "kubeadm", "vanilla", "none"}},
	}
}

func engineNames() []known {
	return []known{
		{string(gitops.Flux), "Flux", []string{"fluxcd", "flux cd", "flux2", "fluxcd2"}},
		{string(gitops.ArgoCD), "Argo CD", []string{"argo", "argo cd", "argoproj"}},
	}
}

func tiers() []known {
	return []known{
		{string(detect.Dev), "dev", []string{"development", "test", "sandbox"}},
		{string(detect.Staging), "staging", []string{"stage", "preprod", "pre-production", "uat"}},
		{string(detect.Production), "production", []string{"prod", "live"}},
		{string(detect.Regulated), "regulated", []string{"regulated production"}},
		{string(detect.DR), "dr", []string{"disaster recovery", "recovery"}},
	}
}

// CIS stands for the benchmark of whatever flavour the provider has; CISOf gives it.
const CIS = "cis-kubernetes"

func standards() []known {
	return []known{
		{"nist-800-53r5", "NIST SP 800-53 Rev. 5", []string{"nist 800-53", "nist sp 800-53", "800-53", "nist 800-53 r5", "nist 800-53 rev 5", "nist sp 800-53 r5", "nist 800-53 revision 5", "800-53r5"}},
		{"fedramp-moderate", "FedRAMP moderate", []string{"fedramp mod", "fedramp rev 5 moderate", "fedramp r5 moderate", "moderate fedramp"}},
		{"fedramp-high", "FedRAMP high", []string{"fedramp rev 5 high", "fedramp r5 high", "high fedramp"}},
		{"pci-dss-4.0.1", "PCI DSS 4.0.1", []string{"pci", "pci dss", "pci dss 4", "pci dss v4", "pci dss v4.0.1", "pci dss 4.0.1", "pci 4.0.1"}},
		{"soc2-tsc2017", "SOC 2", []string{"soc2", "soc 2 type ii", "soc 2 type 2", "soc 2 type i", "soc 2 type 1", "soc ii", "tsc", "aicpa soc 2", "trust services criteria"}},
		{"iso27001-2022", "ISO/IEC 27001:2022", []string{"iso 27001", "iso/iec 27001", "iso iec 27001 2022", "iso27k1"}},
		{"hipaa-security-rule", "HIPAA Security Rule", []string{"hipaa", "45 cfr 164"}},
		{"nist-csf-2.0", "NIST CSF 2.0", []string{"csf", "nist csf", "csf 2.0", "nist csf 2", "nist cybersecurity framework", "nist cybersecurity framework 2.0"}},
		{"nist-800-190", "NIST SP 800-190", []string{"800-190", "nist sp 800-190"}},
		{"dora", "DORA", []string{"eu dora", "regulation 2022/2554", "eu 2022/2554"}},
		{"nis2", "NIS2", []string{"nis 2", "eu nis2", "directive 2022/2555", "eu 2022/2555"}},
		{"cis-k8s-2.0.1", "CIS Kubernetes Benchmark 2.0.1", []string{"cis kubernetes 2.0.1", "cis kubernetes benchmark 2.0.1"}},
		{"cis-eks-1.8.0", "CIS Amazon EKS Benchmark 1.8.0", []string{"cis eks", "cis amazon eks", "cis amazon eks benchmark 1.8.0"}},
		{"cis-gke-1.9.0", "CIS GKE Benchmark 1.9.0", []string{"cis gke", "cis gke benchmark 1.9.0"}},
		{"cis-aks-1.8", "CIS AKS Benchmark 1.8", []string{"cis aks", "cis aks benchmark 1.8", "cis aks 1.8.0"}},
		{"cis-ocp-1.8", "CIS Red Hat OpenShift Benchmark 1.8", []string{"cis openshift", "cis ocp", "cis red hat openshift benchmark 1.8", "cis openshift 1.8.0"}},
		{CIS, "CIS Kubernetes Benchmark of the provider", []string{"cis", "cis benchmark", "cis kubernetes benchmark", "cis k8s"}},
	}
}

// plain is a spelling without case, blanks and punctuation.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, text)
}

// find gives the id of a value; the error lists what is known.
func find(what, text string, all []known) (string, error) {
	var names []string
	for _, k := range all {
		for _, spelling := range append([]string{k.id, k.name}, k.aliases...) {
			if p := plain(spelling); p != "" && p == plain(text) {
				return k.id, nil
			}
		}
		names = append(names, k.id)
	}
	return "", fmt.Errorf("%s %q: not known; known are %s", what, text, strings.Join(names, ", "))
}

// nameOf gives the name in print; an id that is not known stays.
func nameOf(id string, all []known) string {
	for _, k := range all {
		if k.id == id {
			return k.name
		}
	}
	return id
}

// ParseProvider reads a provider in the spellings that people use: aws-eks, EKS, Google Kubernetes Engine.
func ParseProvider(text string) (Provider, error) {
	id, err := find("cloud provider", text, providers())
	return Provider(id), err
}

// Name is the provider's in print.
func (p Provider) Name() string { return nameOf(string(p), providers()) }

// ParseTier reads a tier in the spellings that people use: prod, disaster recovery.
func ParseTier(text string) (detect.Tier, error) {
	id, err := find("tier", text, tiers())
	return detect.Tier(id), err
}

// ParseStandard reads a compliance standard in the spellings that people use, and gives its id in the catalogue, or CIS.
func ParseStandard(text string) (string, error) {
	return find("compliance standard", text, standards())
}

// StandardName is a standard's in print.
func StandardName(id string) string { return nameOf(id, standards()) }

// StandardIDs lists the standards of the catalogue that can be named.
func StandardIDs() []string {
	var out []string
	for _, k := range standards() {
		if k.id != CIS {
			out = append(out, k.id)
		}
	}
	return out
}

// CISOf gives the CIS benchmark of a provider's flavour.
func CISOf(p Provider) string {
	switch p {
	case EKS:
		return "cis-eks-1.8.0"
	case GKE, Autopilot:
		return "cis-gke-1.9.0"
	case AKS:
		return "cis-aks-1.8"
	case OpenShift:
		return "cis-ocp-1.8"
	}
	return "cis-k8s-2.0.1"
}

// Engine is an engine and, as far as it is known, its version, such as 2.9.4.
type Engine struct {
	Name    gitops.Engine `json:"name"`
	Version string        `json:"version,omitempty"`
}

// String is the engine in print: "Flux 2.9.4".
func (e Engine) String() string {
	return strings.TrimSpace(nameOf(string(e.Name), engineNames()) + " " + e.Version)
}

var engineForm = regexp.MustCompile(`^(.*?)[\s@:]*[vV]?(\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.]+)?)?$`)

// ParseEngine reads an engine, with its version if one is given: flux, Flux v2, argocd 3.5.1.
func ParseEngine(text string) (Engine, error) {
	if id, err := find("engine", text, engineNames()); err == nil {
		return Engine{Name: gitops.Engine(id)}, nil
	}
	parts := engineForm.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		_, err := find("engine", text, engineNames())
		return Engine{}, err
	}
	id, err := find("engine", parts[1], engineNames())
	if err != nil {
		_, err = find("engine", text, engineNames())
		return Engine{}, err
	}
	e := Engine{Name: gitops.Engine(id), Version: parts[2]}
	if major, _, _ := strings.Cut(e.Version, "."); major != "" && (major == "0" || major == "1") {
		return Engine{}, fmt.Errorf("engine %q: version %s is no longer maintained; known are Flux 2 and Argo CD 2 and 3", text, e.Version)
	}
	return e, nil
}

var spelledInterval = regexp.MustCompile(`^(\d+)\s*(s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hour|hours|d|day|days|w|week|weeks)$`)

// ParseInterval reads how often drift is looked for: 10m, "5 minutes", 7d, weekly. It is positive.
func ParseInterval(text string) (time.Duration, error) {
	fail := fmt.Errorf("detection interval %q: want a positive length of time such as 90s, 10m, 1h30m, 7d, or hourly, daily, weekly", text)
	lower := strings.ToLower(strings.TrimSpace(text))
	switch lower {
	case "hourly":
		return time.Hour, nil
	case "daily":
		return 24 * time.Hour, nil
	case "weekly":
		return 7 * 24 * time.Hour, nil
	}
	if d, err := time.ParseDuration(lower); err == nil {
		if d <= 0 {
			return 0, fail
		}
		return d, nil
	}
	parts := spelledInterval.FindStringSubmatch(lower)
	if parts == nil {
		return 0, fail
	}
	unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[parts[2][0]]
	var n int64
	if _, err := fmt.Sscan(parts[1], &n); err != nil || n <= 0 || n > int64(100*365*24*time.Hour/unit) {
		return 0, fail
	}
	return time.Duration(n) * unit, nil
}
