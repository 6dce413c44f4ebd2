package classify

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"holdfast/gitops"
)

// installation is what a cloud, a distribution or an operator puts into clusters by itself: of these kinds, under these
// names, and with the content without which a name proves nothing.
type installation struct {
	Objects []kinds `json:"objects"`
	// Namespaces are those that it stands in; none for objects of the whole cluster.
	Namespaces []string `json:"namespaces,omitempty"`
	// Marks: it carries one of these labels or annotations.
	Marks []string `json:"marks,omitempty"`
	// Writers are the field managers that may own what it opens; none where the content alone tells.
	Writers []string `json:"writers,omitempty"`
	// Roles are the names of the roles that a binding may name. Those of administrators have to be named in full.
	Roles []string `json:"roles,omitempty"`
	// Subjects are all that a binding may be for: User NAME, Group NAME or ServiceAccount NAMESPACE/NAME. AccountsIn is the
	// label that names the namespace of the service accounts that it is for.
	Subjects   []string `json:"subjects,omitempty"`
	AccountsIn string   `json:"accountsIn,omitempty"`
	// CopyOf is the label that names the namespace whose binding of the same name it repeats.
	CopyOf string `json:"copyOf,omitempty"`
	// Endpoints are all that webhooks may ask: loopback, which is the API server's own host, NAMESPACE/SERVICE, or a host.
	Endpoints []string `json:"endpoints,omitempty"`
	// Images are all that its containers may run.
	Images []string `json:"images,omitempty"`
	Reason string   `json:"reason"`
	Source []string `json:"source"`
}

// loopback is the endpoint of a webhook that runs beside the API server.
const loopback = "loopback"

func (i installation) check() error {
	if len(i.Objects) == 0 || i.Reason == "" || len(i.Source) == 0 {
		return fmt.Errorf("installed: objects, reason and source are required")
	}
	for _, k := range i.Objects {
		rbac := k.Group == "rbac.authorization.k8s.io"
		content := len(i.Subjects) > 0 || i.AccountsIn != "" || i.CopyOf != ""
		if len(k.Names) == 0 && len(i.Marks) == 0 || rbac && !content || k.Group == "admissionregistration.k8s.io" && len(i.Endpoints) == 0 ||
			!rbac && len(i.Endpoints) == 0 && len(i.Writers) == 0 {
			return fmt.Errorf("installed %v: names or marks, and what tells the content (subjects, accountsIn, copyOf, endpoints), or writers are required", k.Names)
		}
	}
	return nil
}

// installed says what installs an object by itself; empty where nothing is known to, or where a person wrote since what
// it opens.
func (f *Facts) installed(live gitops.Object, maker made) string {
	if maker.edited {
		return ""
	}
	for _, row := range f.Rules.installed {
		if anyKind(row.Objects, live.ID) && f.fits(row, live) {
			return row.Reason
		}
	}
	return ""
}

func (f *Facts) fits(row installation, live gitops.Object) bool {
	switch {
	case len(row.Namespaces) == 0 != (live.ID.Namespace == ""), !anyGlob(row.Namespaces, live.ID.Namespace):
		return false
	case len(row.Marks) > 0 && !marked(row.Marks, live), len(row.Writers) > 0 && !writtenBy(live, row.Writers):
		return false
	case opensRights(live) && !f.fitsRights(row, live), len(row.Endpoints) > 0 && !asksOnly(live, row.Endpoints):
		return false
	}
	return len(row.Images) == 0 || runsOnly(live, row.Images)
}

// writtenBy says whether these field managers, and no other, own what the object opens.
func writtenBy(live gitops.Object, managers []string) bool {
	known := false
	for _, e := range managedEntries(live) {
		if e.ownsAccess(live.ID) {
			if known = anyGlob(managers, e.Manager); !known {
				return false
			}
		}
	}
	return known
}

func (f *Facts) fitsRights(row installation, live gitops.Object) bool {
	ref, _ := live.Content["roleRef"].(map[string]any)
	role, _ := ref["name"].(string)
	if !anyGlob(row.Roles, role) || slices.Contains(administrators(), role) && !slices.Contains(row.Roles, role) {
		return false
	}
	subjects := mappings(live.Content["subjects"])
	if row.CopyOf != "" {
		return f.repeats(live, live.Labels()[row.CopyOf])
	}
	home := live.Labels()[row.AccountsIn]
	return len(subjects) > 0 && !slices.ContainsFunc(subjects, func(s map[string]any) bool {
		name, _ := s["name"].(string)
		kind, _ := s["kind"].(string)
		namespace, _ := s["namespace"].(string)
		if row.AccountsIn != "" {
			return kind != "ServiceAccount" || home == "" || namespace != home
		}
		if kind == "ServiceAccount" {
			name = namespace + "/" + name
		}
		return !anyGlob(row.Subjects, kind+" "+name)
	})
}

// administrators are the roles of Kubernetes that let their holder write in a namespace.
func administrators() []string { return []string{"cluster-admin", "admin", "edit"} }

// repeats says whether a namespace has the same binding, or was not read.
func (f *Facts) repeats(live gitops.Object, namespace string) bool {
	if namespace == "" || namespace == live.ID.Namespace {
		return false
	}
	id := live.ID
	id.Namespace = namespace
	if other, ok := f.find(id); ok {
		return sameValue(other.Content["roleRef"], live.Content["roleRef"]) && sameValue(other.Content["subjects"], live.Content["subjects"])
	}
	return f.Absent == nil || !f.Absent(id)
}

// asksOnly says whether all webhooks of an object ask one of the endpoints.
func asksOnly(live gitops.Object, endpoints []string) bool {
	hooks := mappings(live.Content["webhooks"])
	return len(hooks) > 0 && !slices.ContainsFunc(hooks, func(hook map[string]any) bool {
		client, _ := hook["clientConfig"].(map[string]any)
		if service, ok := client["service"].(map[string]any); ok {
			namespace, _ := service["namespace"].(string)
			name, _ := service["name"].(string)
			return !anyGlob(endpoints, namespace+"/"+name)
		}
		text, _ := client["url"].(string)
		at, err := url.Parse(text)
		if err != nil || at.Hostname() == "" {
			return true
		}
		ip, _ := netip.ParseAddr(at.Hostname()) // the zero address is no loopback
		local := at.Hostname() == "localhost" || ip.IsLoopback()
		return !(local && slices.Contains(endpoints, loopback)) &&
			!slices.ContainsFunc(endpoints, func(e string) bool { return !strings.Contains(e, "/") && gitops.Glob(e, at.Hostname()) })
	})
}

// runsOnly says whether all containers of a workload run one of the images.
func runsOnly(live gitops.Object, images []string) bool {
	spec := podSpec(live)
	ran := false
	for _, list := range containerLists() {
		for _, c := range mappings(spec[list]) {
			image, _ := c["image"].(string)
			if !anyGlob(images, image) {
				return false
			}
			ran = true
		}
	}
	return ran
}

func containerLists() []string {
	return []string{"containers", "initContainers", "ephemeralContainers"}
}

// podSpec is the spec of a workload's pods; nil where it has none.
func podSpec(o gitops.Object) map[string]any {
	paths := accessFields(o.ID)
	var at any = o.Content
	for _, name := range paths[0] {
		m, _ := at.(map[string]any)
		at = m[name]
	}
	spec, _ := at.(map[string]any)
	if _, ok := spec["containers"]; !ok {
		return nil
	}
	return spec
}
