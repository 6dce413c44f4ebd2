package classify

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/flux"
)

// owned says that an object comes and goes with its owner; empty where it does not. Of what opens access, a person's
// object is that person's whoever owns it, and an owner counts only if it may be there and makes such objects: the garbage
// collector removes what names an owner that is gone, but not what names a kind that is not served.
func (f *Facts) owned(live gitops.Object, maker made) string {
	refs := ownerReferences(live)
	if len(refs) == 0 {
		return ""
	}
	if f.OpensAccess(live) {
		if maker.tool {
			return ""
		}
		uids := ownerUIDs(live)
		i := slices.IndexFunc(refs, func(ref gitops.ObjectID) bool {
			return f.ownsSuch(ref, uids[ref], live)
		})
		if i < 0 {
			return ""
		}
		refs = refs[i:]
	}
	return fmt.Sprintf("%s %s owns it: it comes and goes with its owner.", refs[0].Kind, refs[0].Name)
}

// declares says whether an Application is known to declare an object.
func (f *Facts) declares(id gitops.ObjectID) bool { return f.Declared != nil && f.Declared(id) }

// ownerUIDs gives the uid that each owner reference names.
func ownerUIDs(live gitops.Object) map[gitops.ObjectID]string {
	metadata, _ := live.Content["metadata"].(map[string]any)
	uids := map[gitops.ObjectID]string{}
	for i, ref := range mappings(metadata["ownerReferences"]) {
		if refs := ownerReferences(live); i < len(refs) {
			uids[refs[i]], _ = ref["uid"].(string)
		}
	}
	return uids
}

// owner finds an owner, which is of the same namespace or of none, and says whether it may be there: with the uid, or not
// read.
func (f *Facts) owner(ref gitops.ObjectID, uid, namespace string) (owner gitops.Object, found, may bool) {
	placed := ref
	placed.Namespace = namespace
	for _, id := range []gitops.ObjectID{placed, ref} {
		if owner, ok := f.find(id); ok {
			metadata, _ := owner.Content["metadata"].(map[string]any)
			return owner, true, uid != "" && metadata["uid"] == uid
		}
	}
	return gitops.Object{}, false, f.Absent == nil || !f.Absent(placed)
}

func (f *Facts) find(id gitops.ObjectID) (gitops.Object, bool) {
	if f.Find == nil {
		return gitops.Object{}, false
	}
	return f.Find(id)
}

// vouched says what confirms that no person made an object that opens access; empty where nothing does.
func (f *Facts) vouched(live gitops.Object, maker made, app gitops.Application) string {
	if maker.tool {
		return ""
	}
	switch {
	case bootstrapped(live):
		return "The API server makes it when it starts, and gives it to its own components."
	case openShiftDefault(live):
		return "OpenShift makes it in every namespace, for the namespace's own service accounts."
	case maker.writer != nil:
		return ""
	}
	for _, manager := range []string{flux.Manager, "helm-controller", "argocd-controller"} {
		if delivered, why := f.deliveredElsewhere(live, manager, app); delivered {
			return why
		}
	}
	return ""
}

// bootstrapped recognises the API server's own bindings: it marks them, they bind a role of their own name, and to
// nobody but components. Source: kubernetes/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
func bootstrapped(o gitops.Object) bool {
	if !opensRights(o) || o.Labels()["kubernetes.io/bootstrapping"] != "rbac-defaults" ||
		o.Annotations()["rbac.authorization.kubernetes.io/autoupdate"] != "true" {
		return false
	}
	ref, _ := o.Content["roleRef"].(map[string]any)
	if role, _ := ref["name"].(string); role != o.ID.Name && "system::"+role != o.ID.Name {
		return false
	}
	admin := o.ID.Kind == "ClusterRoleBinding" && o.ID.Name == "cluster-admin"
	public := slices.Contains([]string{
		"system:basic-user", "system:discovery", "system:public-info-viewer", "system:service-account-issuer-discovery",
	}, o.ID.Name)
	return (admin || strings.HasPrefix(o.ID.Name, "system:")) && !slices.ContainsFunc(mappings(o.Content["subjects"]), func(s map[string]any) bool {
		name, _ := s["name"].(string)
		if s["kind"] == "ServiceAccount" {
			return admin || s["namespace"] != "kube-system"
		}
		switch {
		case !strings.HasPrefix(name, "system:"):
			return true
		case name == "system:masters":
			return !admin
		case name == "system:authenticated", name == "system:unauthenticated", name == "system:serviceaccounts":
			return !public
		case name == "system:anonymous", name == "system:admin", strings.HasPrefix(name, "system:serviceaccount"):
			return true
		}
		return admin
	})
}

// openShiftDefault recognises the bindings that OpenShift makes in each namespace. Source:
// openshift/openshift-controller-manager pkg/authorization/defaultrolebindings.
func openShiftDefault(o gitops.Object) bool {
	if o.ID.Kind != "RoleBinding" || !opensRights(o) {
		return false
	}
	ref, _ := o.Content["roleRef"].(map[string]any)
	subjects := mappings(o.Content["subjects"])
	if ref["kind"] != "ClusterRole" || len(subjects) != 1 {
		return false
	}
	s := subjects[0]
	account := s["kind"] == "ServiceAccount" && (s["namespace"] == nil || s["namespace"] == o.ID.Namespace)
	switch o.ID.Name {
	case "system:image-pullers":
		return ref["name"] == "system:image-puller" && s["kind"] == "Group" && s["name"] == "system:serviceaccounts:"+o.ID.Namespace
	case "system:image-builders":
		return ref["name"] == "system:image-builder" && account && s["name"] == "builder"
	case "system:deployers":
		return ref["name"] == "system:deployer" && account && s["name"] == "deployer"
	}
	return false
}

func opensRights(o gitops.Object) bool {
	return o.ID.Group == "rbac.authorization.k8s.io" && (o.ID.Kind == "RoleBinding" || o.ID.Kind == "ClusterRoleBinding")
}

func (c child) matches(live gitops.Object) bool {
	return anyKind(c.Objects, live.ID) && (len(c.Marks) == 0 || marked(c.Marks, live))
}

// confirms says whether a rule excuses even what opens access: what its mark names is there and makes such objects, or a
// webhook asks nothing but the operator's own Service, in its usual namespace or one where Git declares it.
func (f *Facts) confirms(c child, live gitops.Object, maker made) bool {
	if len(c.Writers) > 0 && maker.writer != nil && !anyGlob(c.Writers, maker.writer.Manager) {
		return false
	}
	if len(c.Services) > 0 {
		hooks := mappings(live.Content["webhooks"])
		return len(hooks) > 0 && !slices.ContainsFunc(hooks, func(hook map[string]any) bool {
			client, _ := hook["clientConfig"].(map[string]any)
			service, _ := client["service"].(map[string]any)
			name, _ := service["name"].(string)
			namespace, _ := service["namespace"].(string)
			home := slices.Contains(c.Namespaces, namespace) || f.declares(gitops.ObjectID{Kind: "Service", Namespace: namespace, Name: name})
			return name == "" || !anyGlob(c.Services, name) || !home
		})
	}
	name := live.Labels()[c.NamedBy]
	if c.NamedBy == "" || name == "" {
		return false
	}
	for _, k := range c.Of {
		for _, kind := range k.Kinds {
			for _, namespace := range []string{"", live.ID.Namespace} {
				if o, ok := f.find(gitops.ObjectID{Group: k.Group, Kind: kind, Namespace: namespace, Name: name}); ok && generates(o, live) {
					return true
				}
			}
		}
	}
	return false
}
