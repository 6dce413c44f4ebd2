package access

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/gitops"
)

// objects reads YAML documents.
func objects(t testing.TB, documents ...string) []gitops.Object {
	t.Helper()
	var out []gitops.Object
	for _, text := range documents {
		for _, doc := range strings.Split(text, "\n---\n") {
			var content map[string]any
			if err := yaml.Unmarshal([]byte(doc), &content); err != nil {
				t.Fatal(err)
			}
			if len(content) > 0 {
				out = append(out, gitops.NewObject(content))
			}
		}
	}
	return out
}

func load(t testing.TB, documents ...string) *RBAC {
	return Load(slices.Values(objects(t, documents...)))
}

// clusterRole, role and the bindings are short forms: a rule is "verbs groups resources names", each a list with
// commas; - is the core group, or nothing.
func clusterRole(name string, rules ...string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: '" + name + "'}\n" + rulesOf(rules)
}

func role(namespace, name string, rules ...string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: '" + name + "', namespace: " + namespace + "}\n" + rulesOf(rules)
}

func rulesOf(rules []string) string {
	out := "rules:\n"
	for _, r := range rules {
		f := append(strings.Fields(r), "", "", "")
		quoted := func(text string) string {
			if text == "" || text == "none" {
				return ""
			}
			return `"` + strings.ReplaceAll(strings.ReplaceAll(text, ",", `","`), "-core", "") + `"`
		}
		out += fmt.Sprintf("- {verbs: [%s], apiGroups: [%s], resources: [%s], resourceNames: [%s]}\n", quoted(f[0]), quoted(f[1]), quoted(f[2]), quoted(f[3]))
	}
	return out
}

func clusterBinding(name, role string, subjects ...string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: '" + name + "'}\nroleRef: {kind: ClusterRole, name: '" + role + "'}\n" + subjectsOf(subjects)
}

// binding's role is Kind/name.
func binding(namespace, name, role string, subjects ...string) string {
	kind, role, _ := strings.Cut(role, "/")
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: '" + name + "', namespace: " + namespace + "}\nroleRef: {kind: " + kind + ", name: '" + role + "'}\n" + subjectsOf(subjects)
}

func subjectsOf(subjects []string) string {
	out := "subjects:\n"
	for _, s := range subjects {
		kind, name, _ := strings.Cut(s, " ")
		namespace, account, ok := strings.Cut(name, "/")
		if kind == "ServiceAccount" && ok {
			out += "- {kind: ServiceAccount, namespace: " + namespace + ", name: '" + account + "'}\n"
		} else {
			out += "- {kind: " + kind + ", name: '" + name + "'}\n"
		}
	}
	return out
}

func TestWhatARequestIsAllowed(t *testing.T) {
	alice := Subject{Kind: User, Name: "alice"}.Identity()
	web := Subject{ServiceAccount, "shop", "web"}.Identity()
	patch := Request{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}
	cases := []struct {
		name string
		rbac []string
		who  Identity
		ask  Request
		want bool
	}{
		{"nothing is allowed by default", nil, alice, patch, false},
		{"a cluster-wide binding holds in every namespace",
			[]string{clusterRole("r", "patch apps deployments"), clusterBinding("b", "r", "User alice")}, alice, patch, true},
		{"another verb is not allowed",
			[]string{clusterRole("r", "get,list apps deployments"), clusterBinding("b", "r", "User alice")}, alice, patch, false},
		{"another group of the API is not allowed",
			[]string{clusterRole("r", "patch -core,extensions deployments"), clusterBinding("b", "r", "User alice")}, alice, patch, false},
		{"a RoleBinding holds in its own namespace",
			[]string{clusterRole("r", "* * *"), binding("shop", "b", "ClusterRole/r", "User alice")}, alice, patch, true},
		{"and in no other",
			[]string{clusterRole("r", "* * *"), binding("till", "b", "ClusterRole/r", "User alice")}, alice, patch, false},
		{"and for nothing without a namespace",
			[]string{clusterRole("r", "* * *"), binding("shop", "b", "ClusterRole/r", "User alice")}, alice,
			Request{Verb: "patch", Resource: "nodes", Name: "n"}, false},
		{"but a Namespace lies in itself",
			[]string{clusterRole("r", "* * *"), binding("shop", "b", "ClusterRole/r", "User alice")}, alice,
			Request{Verb: "delete", Resource: "namespaces", Namespace: "shop", Name: "shop"}, true},
		{"a Role of another namespace is not bound",
			[]string{role("till", "r", "* * *"), binding("shop", "b", "Role/r", "User alice")}, alice, patch, false},
		{"a name narrows the rule",
			[]string{role("shop", "r", "patch apps deployments api"), binding("shop", "b", "Role/r", "User alice")}, alice, patch, false},
		{"and allows what it names",
			[]string{role("shop", "r", "patch apps deployments web,api"), binding("shop", "b", "Role/r", "User alice")}, alice, patch, true},
		{"a rule with names allows no list",
			[]string{role("shop", "r", "list apps deployments web"), binding("shop", "b", "Role/r", "User alice")}, alice,
			Request{Verb: "list", Group: "apps", Resource: "deployments", Namespace: "shop"}, false},
		{"a resource is not its subresources",
			[]string{role("shop", "r", "* apps deployments"), binding("shop", "b", "Role/r", "User alice")}, alice,
			Request{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "shop"}, false},
		{"a subresource of all resources",
			[]string{role("shop", "r", "update * */scale"), binding("shop", "b", "Role/r", "User alice")}, alice,
			Request{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "shop"}, true},
		{"every resource is every subresource too",
			[]string{role("shop", "r", "create -core *"), binding("shop", "b", "Role/r", "User alice")}, alice,
			Request{Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "shop", Name: "p"}, true},
		{"a service account by its kind",
			[]string{clusterRole("r", "* * *"), clusterBinding("b", "r", "ServiceAccount shop/web")}, web, patch, true},
		{"a service account of the RoleBinding's own namespace",
			[]string{clusterRole("r", "* * *"), binding("shop", "b", "ClusterRole/r", "ServiceAccount web")}, web, patch, true},
		{"a service account without a namespace is nobody in the whole cluster",
			[]string{clusterRole("r", "* * *"), clusterBinding("b", "r", "ServiceAccount web")}, web, patch, false},
		{"a service account as a user by its long name",
			[]string{clusterRole("r", "* * *"), clusterBinding("b", "r", "User system:serviceaccount:shop:web")}, web, patch, true},
		{"all service accounts of a namespace",
			[]string{clusterRole("r", "* * *"), clusterBinding("b", "r", "Group system:serviceaccounts:shop")}, web, patch, true},
		{"all service accounts of another namespace",
			[]string{clusterRole("r", "* * *"), clusterBinding("b", "r", "Group system:serviceaccounts:till")}, web, patch, false},
		{"everybody who is signed in",
			[]string{clusterRole("r", "* * *"), clusterBinding("b", "r", "Group system:authenticated")}, alice, patch, true},
		{"who is not signed in is not in the group of those who are",
			[]string{clusterRole("r", "* * *"), clusterBinding("b", "r", "Group system:authenticated")}, Subject{Kind: Group, Name: Unauthenticated}.Identity(), patch, false},
		{"a group by its name",
			[]string{clusterRole("r", "* * *"), clusterBinding("b", "r", "Group sre")}, Identity{"alice", []string{"sre"}}, patch, true},
		{"a user is no group of the same name",
			[]string{clusterRole("r", "* * *"), clusterBinding("b", "r", "Group alice")}, alice, patch, false},
		{"masters need no grant", nil, Identity{"admin", []string{Masters}}, patch, true},
		{"a role that is not there gives nothing", []string{clusterBinding("b", "gone", "User alice")}, alice, patch, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, got := load(t, c.rbac...).Allows(c.who, c.ask); got != c.want {
				t.Errorf("%s for %v: got %v, want %v", c.ask, c.who, got, c.want)
			}
		})
	}
}

func TestURLs(t *testing.T) {
	x := load(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: [{verbs: [get], nonResourceURLs: [/metrics, /healthz/*]}]}`,
		clusterBinding("b", "r", "User alice"), binding("shop", "b", "ClusterRole/r", "User bob"))
	for url, want := range map[string]bool{"/metrics": true, "/metrics/x": false, "/healthz/etcd": true, "/healthz": false, "/": false} {
		if _, got := x.Allows(Subject{Kind: User, Name: "alice"}.Identity(), Request{Verb: "get", URL: url}); got != want {
			t.Errorf("%s: got %v, want %v", url, got, want)
		}
	}
	if _, got := x.Allows(Subject{Kind: User, Name: "bob"}.Identity(), Request{Verb: "get", URL: "/metrics"}); got {
		t.Error("a RoleBinding gives a URL, which lies in no namespace")
	}
}

func TestAggregatesInACircleEnd(t *testing.T) {
	aggregate := func(name, selects, label, rules string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + name + ", labels: {" + label + ": 'true'}}\n" +
			"aggregationRule: {clusterRoleSelectors: [{matchLabels: {" + selects + ": 'true'}}]}\n" + rules
	}
	part := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: part, labels: {to-b: 'true'}}\n" + rulesOf([]string{"patch apps deployments"})
	rules := rulesOf([]string{"patch apps deployments"})
	x := load(t, part, aggregate("a", "to-a", "to-b", rules), aggregate("b", "to-b", "to-a", rules), aggregate("self", "to-self", "to-self", ""),
		clusterBinding("bind", "a", "User alice"))
	parts := map[string][]string{}
	for _, name := range []string{"a", "b", "self", "part"} {
		r, _ := x.Role(gitops.ObjectID{Group: rbacGroup, Kind: "ClusterRole", Name: name})
		parts[name] = r.Parts
	}
	want := map[string][]string{"a": {"b", "part"}, "b": {"a", "part"}, "self": {}, "part": nil}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Error(diff)
	}
	if len(x.Problems) != 0 {
		t.Errorf("everything is as the parts say, and yet: %v", x.Problems)
	}
	findings := x.Survey([]Target{deployment("shop", "web")}, nil)
	chain := "ClusterRoleBinding bind gives ClusterRole a (by its part part), which allows update deployments.apps"
	if len(findings) != 1 || findings[0].Chain[0] != strings.Replace(chain, "update", "patch", 1) {
		t.Errorf("got %+v", findings)
	}
}

func TestProblemsOfTheAccessControl(t *testing.T) {
	x := load(t,
		clusterBinding("to-nothing", "gone", "User alice"),
		binding("shop", "to-no-role", "Role/gone", "User alice"),
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: sum}\naggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: add, operator: In, values: ['yes']}]}]}\n"+rulesOf([]string{"get -core pods"}),
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: addend, labels: {add: 'yes'}}\n"+rulesOf([]string{"* * *"}),
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: other, labels: {add: 'no'}}\n"+rulesOf([]string{"list -core pods"}),
	)
	var got []string
	for _, p := range x.Problems {
		got = append(got, p.String()[:min(len(p.String()), 75)])
	}
	want := []string{
		"ClusterRole.rbac.authorization.k8s.io/sum: is an aggregate and does not hav",
		"ClusterRole.rbac.authorization.k8s.io/sum: is an aggregate with 1 rules tha",
		"ClusterRoleBinding.rbac.authorization.k8s.io/to-nothing: binds the ClusterR",
		"RoleBinding.rbac.authorization.k8s.io/shop/to-no-role: binds the Role gone,",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func deployment(namespace, name string) Target {
	return Target{gitops.ObjectID{Group: "apps", Kind: "Deployment", Namespace: namespace, Name: name}, "deployments"}
}

func configMap(namespace, name string) Target {
	return Target{gitops.ObjectID{Kind: "ConfigMap", Namespace: namespace, Name: name}, "configmaps"}
}

func TestWhoIsWho(t *testing.T) {
	engine := Subject{ServiceAccount, "flux-system", "kustomize-controller"}
	cases := []struct {
		subject Subject
		want    Sort
	}{
		{Subject{Kind: User, Name: "alice@example.test"}, Person},
		{Subject{Kind: Group, Name: "sre"}, Person},
		{Subject{Kind: Group, Name: "kubeadm:cluster-admins"}, Person},
		{Subject{Kind: User, Name: "system:admin"}, Person}, // OpenShift's and k3s's first administrator
		{Subject{Kind: Group, Name: Authenticated}, Everyone},
		{Subject{Kind: Group, Name: Unauthenticated}, Everyone},
		{Subject{Kind: User, Name: anonymous}, Everyone},
		{engine, EngineAccount},
		{Subject{ServiceAccount, "other", "kustomize-controller"}, Controller},
		{Subject{ServiceAccount, "cert-manager", "cainjector"}, Controller},
		{Subject{Kind: Group, Name: "system:serviceaccounts:shop"}, Controller},
		{Subject{ServiceAccount, "kube-system", "generic-garbage-collector"}, System},
		{Subject{Kind: User, Name: "system:kube-scheduler"}, System},
		{Subject{Kind: User, Name: "eks:addon-manager"}, System},
		{Subject{Kind: Group, Name: Masters}, System},
	}
	for _, c := range cases {
		if got := SortOf(c.subject, map[Subject]bool{engine: true}); got != c.want {
			t.Errorf("%s: got %s, want %s", c.subject, got, c.want)
		}
	}
}

// brief is what of a finding the tables below compare.
type brief struct {
	Risk    detect.Risk
	Subject string
	Path    Path
	Ways    []Way
	As      string
	Objects int
}

func briefs(findings []Finding) []brief {
	var out []brief
	for _, f := range findings {
		out = append(out, brief{f.Risk, f.Subject.String(), f.Path, f.Ways, f.As, f.Objects})
	}
	return out
}

func TestWhoCanChangeManagedObjects(t *testing.T) {
	engine := Subject{ServiceAccount, "flux-system", "kustomize-controller"}
	engineBinding := clusterRole("cluster-admin", "* * *") + "\n---\n" + clusterBinding("flux", "cluster-admin", engine.String())
	targets := []Target{deployment("shop", "web"), deployment("shop", "api"), configMap("shop", "settings"), configMap("till", "settings")}
	const deployer = "ServiceAccount shop/deployer"
	strong := role("shop", "deployer", "* apps deployments") + "\n---\n" + binding("shop", "deployer", "Role/deployer", deployer)
	asDeployer := func(way ...Way) []brief {
		return []brief{
			{detect.High, "User alice", Becomes, way, deployer, 2},
			{detect.Low, deployer, Direct, nil, "", 2},
		}
	}
	cases := []struct {
		name string
		rbac []string
		want []brief
	}{
		{"nobody has any right", nil, nil},
		{"reading changes nothing", []string{clusterRole("view", "get,list,watch * deployments,configmaps,pods,pods/log"), clusterBinding("b", "view", "User alice")}, nil},
		{"to get all subresources is to run commands", []string{strong, clusterRole("view", "get -core pods/*,*"), clusterBinding("b", "view", "User alice")}, append(
			asDeployer(Exec, ReadTokens, ReachNodes), brief{detect.Low, "User alice", Opens, []Way{ForwardPorts}, "", 0})},
		{"creating beside changes nothing that is there", []string{clusterRole("r", "create -core configmaps"), clusterBinding("b", "r", "User alice")}, nil},
		{"a person with every right, everywhere", []string{engineBinding, clusterBinding("b", "cluster-admin", "Group sre")}, []brief{
			{detect.Critical, "Group sre", Direct, nil, "", 4},
			{detect.Low, engine.String(), Direct, nil, "", 4},
		}},
		{"workloads of one namespace", []string{role("shop", "r", "patch apps deployments"), binding("shop", "b", "Role/r", "User alice")}, []brief{
			{detect.High, "User alice", Direct, nil, "", 2},
		}},
		{"settings only, of one name", []string{role("shop", "r", "update -core configmaps settings,other"), binding("shop", "b", "Role/r", "User alice")}, []brief{
			{detect.Medium, "User alice", Direct, nil, "", 1},
		}},
		{"of a name that is not managed", []string{role("shop", "r", "update -core configmaps other"), binding("shop", "b", "Role/r", "User alice")}, nil},
		{"scaling alone", []string{role("shop", "r", "update * */scale"), binding("shop", "b", "Role/r", "User alice")}, []brief{
			{detect.High, "User alice", Direct, nil, "", 2}, // ConfigMaps have none
		}},
		{"everybody who signs in", []string{clusterRole("r", "delete -core configmaps"), clusterBinding("b", "r", "Group system:authenticated")}, []brief{
			{detect.High, "Group system:authenticated", Direct, nil, "", 2},
		}},
		{"one role by many bindings is one answer", []string{clusterRole("r", "patch -core configmaps"), binding("shop", "b", "ClusterRole/r", "User alice"), binding("till", "b", "ClusterRole/r", "User alice")}, []brief{
			{detect.Medium, "User alice", Direct, nil, "", 2},
		}},
		{"minting the token of an account that may", []string{strong, role("shop", "r", "create -core serviceaccounts/token deployer"), binding("shop", "b", "Role/r", "User alice")}, asDeployer(MintToken)},
		{"minting the token of one that may not", []string{strong, role("shop", "r", "create -core serviceaccounts/token web"), binding("shop", "b", "Role/r", "User alice")}, asDeployer()[1:]},
		{"minting tokens in another namespace", []string{strong, role("till", "r", "create -core serviceaccounts/token"), binding("till", "b", "Role/r", "User alice")}, asDeployer()[1:]},
		{"running a pod as the account", []string{strong, role("shop", "r", "create -core pods"), binding("shop", "b", "Role/r", "User alice")}, asDeployer(RunPods)},
		{"running a Job as the account", []string{strong, role("shop", "r", "create batch jobs"), binding("shop", "b", "Role/r", "User alice")}, asDeployer(RunPods)},
		{"a Job of a name is never created", []string{strong, role("shop", "r", "create batch jobs once"), binding("shop", "b", "Role/r", "User alice")}, asDeployer()[1:]},
		{"commands in pods", []string{strong, role("shop", "r", "create -core pods/exec,pods/attach"), binding("shop", "b", "Role/r", "User alice")}, asDeployer(Exec)},
		{"commands in pods, none of which runs as the account", []string{strong, role("shop", "r", "create -core pods/exec"), binding("shop", "b", "Role/r", "User alice"),
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {template: {spec: {serviceAccountName: web}}}"}, asDeployer()[1:]},
		{"a container beside a pod's own", []string{strong, role("shop", "r", "patch -core pods/ephemeralcontainers"), binding("shop", "b", "Role/r", "User alice")}, asDeployer(Debug)},
		{"kubelets", []string{strong, clusterRole("r", "get -core nodes/proxy"), clusterBinding("b", "r", "User alice")}, asDeployer(ReachNodes)},
		{"kubelets are no namespace's", []string{strong, clusterRole("r", "get -core nodes/proxy"), binding("shop", "b", "ClusterRole/r", "User alice")}, asDeployer()[1:]},
		{"tokens in Secrets", []string{strong, role("shop", "r", "list -core secrets"), binding("shop", "b", "Role/r", "User alice")}, asDeployer(ReadTokens)},
		{"one Secret that is read and may be made", []string{strong, role("shop", "r", "create -core secrets", "get -core secrets mine"), binding("shop", "b", "Role/r", "User alice")}, asDeployer(MakeTokens)},
		{"impersonating the account", []string{strong, role("shop", "r", "impersonate -core serviceaccounts"), binding("shop", "b", "Role/r", "User alice")}, asDeployer(ImpersonateAccount)},
		{"impersonating another person", []string{role("shop", "r", "* apps deployments"), binding("shop", "b", "Role/r", "User bob"), clusterRole("i", "impersonate -core users bob"), clusterBinding("b2", "i", "User alice")}, []brief{
			{detect.High, "User alice", Becomes, []Way{ImpersonateUser}, "User bob", 2}, {detect.High, "User bob", Direct, nil, "", 2},
		}},
		{"impersonating any group, masters among them", []string{clusterRole("i", "impersonate -core users,groups"), clusterBinding("b2", "i", "User alice")}, []brief{
			{detect.Critical, "User alice", Becomes, []Way{ImpersonateGroup}, "any user or group", 4},
		}},
		{"a group is impersonated beside a user only", []string{clusterRole("i", "impersonate -core groups"), clusterBinding("b2", "i", "User alice")}, nil},
		{"binding cluster-admin, by two roles of two bindings", []string{clusterRole("a", "bind rbac.authorization.k8s.io clusterroles"), clusterRole("c", "create rbac.authorization.k8s.io clusterrolebindings"),
			clusterBinding("b1", "a", "User alice"), clusterBinding("b2", "c", "User alice")}, []brief{
			{detect.Critical, "User alice", Becomes, []Way{BindRoles}, "any user or group", 4},
		}},
		{"writing bindings alone gives no more than one has", []string{clusterRole("c", "* rbac.authorization.k8s.io clusterrolebindings,rolebindings"), clusterBinding("b2", "c", "User alice")}, nil},
		{"binding in one namespace", []string{role("shop", "r", "bind rbac.authorization.k8s.io clusterroles", "create rbac.authorization.k8s.io rolebindings"), binding("shop", "b", "Role/r", "User alice")}, []brief{
			{detect.Critical, "User alice", Becomes, []Way{BindRoles}, "any right in shop", 3},
		}},
		{"binding one role by its name", []string{clusterRole("ops", "patch -core configmaps"), clusterRole("r", "bind rbac.authorization.k8s.io clusterroles ops", "create rbac.authorization.k8s.io clusterrolebindings"), clusterBinding("b", "r", "User alice")}, []brief{
			{detect.Medium, "User alice", Becomes, []Way{BindRoles}, "ClusterRole ops", 2},
		}},
		{"escalating a ClusterRole", []string{clusterRole("r", "escalate,update rbac.authorization.k8s.io clusterroles"), clusterBinding("b", "r", "User alice")}, []brief{
			{detect.Critical, "User alice", Becomes, []Way{EscalateRoles}, "any user or group", 4},
		}},
		{"approving client certificates", []string{clusterRole("r", "create certificates.k8s.io certificatesigningrequests", "update certificates.k8s.io certificatesigningrequests/approval", "approve certificates.k8s.io signers kubernetes.io/kube-apiserver-client"), clusterBinding("b", "r", "User alice")}, []brief{
			{detect.Critical, "User alice", Becomes, []Way{SignCertificates}, "any user or group", 4},
		}},
		{"approving kubelets' certificates only", []string{clusterRole("r", "create certificates.k8s.io certificatesigningrequests", "update certificates.k8s.io certificatesigningrequests/approval", "approve certificates.k8s.io signers kubernetes.io/kubelet-serving"), clusterBinding("b", "r", "User alice")}, nil},
		{"webhooks", []string{clusterRole("r", "create,patch admissionregistration.k8s.io mutatingwebhookconfigurations"), clusterBinding("b", "r", "User alice")}, []brief{
			{detect.Critical, "User alice", Opens, []Way{RewriteWebhooks}, "", 4},
		}},
		{"the guards themselves", []string{clusterRole("r", "delete admissionregistration.k8s.io validatingadmissionpolicies"), clusterBinding("b", "r", "User alice")}, []brief{
			{detect.High, "User alice", Opens, []Way{RewritePolicies}, "", 4},
		}},
		{"a namespace with managed objects", []string{clusterRole("r", "delete -core namespaces till,other"), clusterBinding("b", "r", "User alice")}, []brief{
			{detect.High, "User alice", Opens, []Way{ChangeNamespaces}, "", 1},
		}},
		{"handing on what one has", []string{role("shop", "r", "patch -core configmaps", "create rbac.authorization.k8s.io rolebindings"), binding("shop", "b", "Role/r", "User alice")}, []brief{
			{detect.Medium, "User alice", Direct, nil, "", 1}, {detect.Medium, "User alice", Opens, []Way{HandOn}, "", 1},
		}},
		{"ports", []string{role("shop", "r", "create -core pods/portforward"), binding("shop", "b", "Role/r", "User alice")}, []brief{
			{detect.Low, "User alice", Opens, []Way{ForwardPorts}, "", 0},
		}},
		{"the engine's account by way of another", []string{engineBinding, role("flux-system", "r", "create -core pods/exec"), binding("flux-system", "b", "Role/r", "ServiceAccount shop/web"),
			role("shop", "r", "create -core pods"), binding("shop", "b", "Role/r", "User alice")}, []brief{
			{detect.Critical, "User alice", Becomes, []Way{RunPods}, engine.String(), 4},
			{detect.High, "ServiceAccount shop/web", Becomes, []Way{Exec}, engine.String(), 4},
			{detect.Low, engine.String(), Direct, nil, "", 4},
		}},
		{"of two who can do everything, the nearer", []string{engineBinding, clusterRole("e", "escalate,update rbac.authorization.k8s.io clusterroles"), clusterBinding("e", "e", "ServiceAccount a/escalator"),
			clusterRole("r", "create -core serviceaccounts/token"), clusterBinding("b", "r", "User alice")}, []brief{
			{detect.Critical, "User alice", Becomes, []Way{MintToken}, engine.String(), 4},
			{detect.High, "ServiceAccount a/escalator", Becomes, []Way{EscalateRoles}, "any user or group", 4},
			{detect.Low, engine.String(), Direct, nil, "", 4},
		}},
		{"accounts that can become each other", []string{strong, role("shop", "r", "create -core pods"), binding("shop", "b", "Role/r", "ServiceAccount shop/a", "ServiceAccount shop/b")}, []brief{
			{detect.Low, "ServiceAccount shop/a", Becomes, []Way{RunPods}, deployer, 2},
			{detect.Low, "ServiceAccount shop/b", Becomes, []Way{RunPods}, deployer, 2},
			{detect.Low, deployer, Direct, nil, "", 2},
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, briefs(load(t, c.rbac...).Survey(targets, []Subject{engine}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheChainTellsEachGrant(t *testing.T) {
	engine := Subject{ServiceAccount, "flux-system", "kustomize-controller"}
	x := load(t, clusterRole("cluster-admin", "* * *"), clusterBinding("flux", "cluster-admin", engine.String()),
		role("flux-system", "exec", "create -core pods/exec"), binding("flux-system", "exec", "Role/exec", "ServiceAccount shop/web"),
		role("shop", "run", "create -core pods"), binding("shop", "run", "Role/run", "User alice"))
	got := x.Survey([]Target{configMap("shop", "settings"), deployment("till", "web")}, []Subject{engine})[0]
	want := Finding{
		Subject: Subject{Kind: User, Name: "alice"}, Sort: Person, Path: Becomes, Risk: detect.Critical, Ways: []Way{RunPods}, As: engine.String(),
		Chain: []string{
			"runs pods as any service account: RoleBinding shop/run gives Role shop/run, which allows create pods",
			"ServiceAccount shop/web runs commands in pods: RoleBinding flux-system/exec gives Role flux-system/exec, which allows create pods/exec",
			"ServiceAccount flux-system/kustomize-controller: ClusterRoleBinding flux gives ClusterRole cluster-admin, which allows update configmaps",
		},
		Bindings: []gitops.ObjectID{{Group: rbacGroup, Kind: "RoleBinding", Namespace: "shop", Name: "run"}}, Objects: 2, Namespaces: []string{"shop", "till"}, Everything: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestManyBindings is a cluster of 20,000 bindings and 10,000 objects. An answer that compared each with each would
// take hours.
func TestManyBindings(t *testing.T) {
	var all []gitops.Object
	add := func(doc map[string]any) { all = append(all, gitops.NewObject(doc)) }
	object := func(kind, namespace, name string, more map[string]any) map[string]any {
		more["apiVersion"], more["kind"] = rbacGroup+"/v1", kind
		more["metadata"] = map[string]any{"name": name, "namespace": namespace}
		return more
	}
	rules := func(verb, group, resource string) map[string]any {
		return map[string]any{"rules": []any{map[string]any{"verbs": []any{verb}, "apiGroups": []any{group}, "resources": []any{resource}}}}
	}
	add(object("ClusterRole", "", "edit", rules("patch", "apps", "deployments")))
	add(object("ClusterRole", "", "run", rules("create", "", "pods")))
	var targets []Target
	for n := range 5000 {
		namespace := fmt.Sprintf("team-%d", n)
		targets = append(targets, deployment(namespace, "web"), configMap(namespace, "settings"))
		for i, role := range []string{"edit", "run", "edit", "run"} {
			subject := map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": role}
			if i > 1 {
				subject = map[string]any{"kind": "User", "name": fmt.Sprintf("user-%d", n)}
			}
			add(object("RoleBinding", namespace, fmt.Sprintf("%s-%d", role, i), map[string]any{
				"roleRef": map[string]any{"kind": "ClusterRole", "name": role}, "subjects": []any{subject},
			}))
		}
	}
	findings := Load(slices.Values(all)).Survey(targets, nil)
	// Of each namespace: the user and the account edit write directly, the account run becomes edit. The user, who may
	// write already, gains nothing by running pods.
	if len(findings) != 15000 {
		t.Fatalf("%d findings, want 15000", len(findings))
	}
	for _, f := range findings {
		if f.Objects != 1 {
			t.Fatalf("%+v", f)
		}
	}
}
