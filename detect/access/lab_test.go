package access

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"holdfast/deploy/lab"
	"holdfast/gitops"
)

// judged is access control that tries every form of rule and subject.
func judged() string {
	return strings.Join([]string{
		clusterRole("t:named", "get,patch apps deployments web,api", "list apps deployments web"),
		clusterRole("t:scale", "update,patch * */scale"),
		clusterRole("t:pods", "create,get -core pods/*", "delete -core pods"),
		clusterRole("t:core", "* -core *"),
		clusterRole("t:apps", "* apps *"),
		clusterRole("t:reads", "get,list,watch * *"),
		clusterRole("t:rbac", "bind rbac.authorization.k8s.io clusterroles edit", "escalate rbac.authorization.k8s.io roles", "create rbac.authorization.k8s.io rolebindings"),
		clusterRole("t:impersonate", "impersonate -core users,groups,serviceaccounts bob,sre,web"),
		clusterRole("t:sign", "approve certificates.k8s.io signers kubernetes.io/*", "update certificates.k8s.io certificatesigningrequests/approval"),
		clusterRole("t:namespaces", "patch,delete -core namespaces shop"),
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 't:urls'}\nrules: [{verbs: [get], nonResourceURLs: [/metrics, '/logs/*']}]\n",
		role("shop", "t:role", "* apps deployments,deployments/scale", "get -core secrets token"),
		role("till", "t:role", "get -core configmaps"),
		clusterBinding("t:b1", "t:named", "User named", "Group named-people"),
		clusterBinding("t:b2", "t:scale", "ServiceAccount shop/scaler"),
		binding("shop", "t:b3", "ClusterRole/t:pods", "User podder", "ServiceAccount podder"),
		binding("shop", "t:b4", "ClusterRole/t:core", "User core", "Group system:serviceaccounts:till"),
		clusterBinding("t:b5", "t:apps", "User system:serviceaccount:shop:long"),
		clusterBinding("t:b6", "t:reads", "Group readers"),
		binding("till", "t:b7", "ClusterRole/t:rbac", "User binder"),
		clusterBinding("t:b8", "t:impersonate", "User actor"),
		clusterBinding("t:b9", "t:sign", "User signer"),
		binding("shop", "t:b10", "ClusterRole/t:namespaces", "User keeper"),
		clusterBinding("t:b11", "t:urls", "Group system:unauthenticated"),
		binding("shop", "t:b12", "Role/t:role", "User roler"),
		binding("till", "t:b13", "Role/t:gone", "User lost"),
		binding("till", "t:b14", "ClusterRole/cluster-admin", "User ruler", "Group system:authenticated:not"),
		clusterBinding("t:b15", "t:rbac", "Group system:serviceaccounts"),
		clusterBinding("t:b16", "view", "Group viewers"),
		clusterBinding("t:b17", "t:namespaces", "User namespacer"),
	}, "---\n")
}

// TestTheAPIServerSaysTheSame asks a real API server, for every subject that any binding names and some more, about
// requests of all kinds, and wants the answer that Allows gives.
func TestTheAPIServerSaysTheSame(t *testing.T) {
	c := lab.Start(t, lab.Options{}).Clusters[0]
	for _, namespace := range []string{"shop", "till"} {
		c.Kubectl(t, lab.Admin, "", "create", "namespace", namespace)
	}
	c.Apply(t, lab.Admin, "test", judged())
	var list struct{ Items []map[string]any }
	out := c.Kubectl(t, lab.Admin, "", "get", "clusterroles,clusterrolebindings,roles,rolebindings", "--all-namespaces", "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	x := Load(func(yield func(gitops.Object) bool) {
		for _, item := range list.Items {
			if !yield(gitops.NewObject(item)) {
				return
			}
		}
	})
	var who []Identity
	for _, s := range x.Subjects() {
		who = append(who, s.Identity())
	}
	who = append(who, Subject{Kind: User, Name: "nobody"}.Identity(), Identity{"admin", []string{Masters, Authenticated}},
		Identity{"alice", []string{"readers", "named-people", Authenticated}}, Subject{ServiceAccount, "till", "any"}.Identity(), Subject{ServiceAccount, "shop", "long"}.Identity())
	var asks []Request
	for _, verb := range []string{"get", "list", "create", "patch", "update", "delete", "deletecollection"} {
		for _, namespace := range []string{"shop", "till", ""} {
			asks = append(asks, Request{Verb: verb, Group: "apps", Resource: "deployments", Namespace: namespace, Name: "web"},
				Request{Verb: verb, Group: "apps", Resource: "deployments", Namespace: namespace},
				Request{Verb: verb, Resource: "secrets", Namespace: namespace, Name: "token"},
				Request{Verb: verb, Resource: "pods", Subresource: "exec", Namespace: namespace, Name: "p"},
				Request{Verb: verb, Resource: "configmaps", Namespace: namespace})
		}
		asks = append(asks, Request{Verb: verb, Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "shop", Name: "web"},
			Request{Verb: verb, Resource: "nodes", Subresource: "proxy", Name: "n"}, Request{Verb: verb, Resource: "namespaces", Namespace: "shop", Name: "shop"},
			Request{Verb: verb, Resource: "namespaces", Name: "shop"}, Request{Verb: verb, Group: rbacGroup, Resource: "clusterrolebindings", Name: "b"},
			Request{Verb: verb, Group: rbacGroup, Resource: "rolebindings", Namespace: "till"}, Request{Verb: verb, Group: "shop.example.test", Resource: "carts", Namespace: "shop"})
	}
	asks = append(asks,
		Request{Verb: "bind", Group: rbacGroup, Resource: "clusterroles", Name: "edit"}, Request{Verb: "bind", Group: rbacGroup, Resource: "clusterroles", Name: "edit", Namespace: "till"},
		Request{Verb: "bind", Group: rbacGroup, Resource: "clusterroles", Name: "cluster-admin"}, Request{Verb: "escalate", Group: rbacGroup, Resource: "roles", Namespace: "till", Name: "r"},
		Request{Verb: "impersonate", Resource: "users", Name: "bob"}, Request{Verb: "impersonate", Resource: "users", Name: "carol"}, Request{Verb: "impersonate", Resource: "groups", Name: "sre"},
		Request{Verb: "impersonate", Resource: "serviceaccounts", Namespace: "shop", Name: "web"}, Request{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "shop", Name: "web"},
		Request{Verb: "approve", Group: "certificates.k8s.io", Resource: "signers", Name: "kubernetes.io/*"}, Request{Verb: "approve", Group: "certificates.k8s.io", Resource: "signers", Name: "kubernetes.io/kubelet-serving"},
		Request{Verb: "update", Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Subresource: "approval", Name: "x"},
		Request{Verb: "get", URL: "/metrics"}, Request{Verb: "get", URL: "/logs/a"}, Request{Verb: "get", URL: "/logs"}, Request{Verb: "get", URL: "/version"}, Request{Verb: "get", URL: "/readyz/ping"},
	)
	judge := newJudge(t, c)
	canary := Identity{"namespacer", []string{Authenticated}} // of the last binding: it is known when all are
	for deadline := time.Now().Add(time.Minute); !judge(canary, Request{Verb: "patch", Resource: "namespaces", Name: "shop"}); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the API server does not know the bindings")
		}
	}
	var allowed, different int
	var mutex sync.Mutex
	var group sync.WaitGroup
	for _, one := range who {
		group.Go(func() {
			for _, q := range asks {
				want := judge(one, q)
				by, got := x.Allows(one, q)
				mutex.Lock()
				if want {
					allowed++
				}
				if got != want {
					if different++; different <= 20 {
						t.Errorf("%v: %s: the API server says %v, not %v (%s)", one, q, want, got, Named(by.Binding))
					}
				}
				mutex.Unlock()
			}
		})
	}
	group.Wait()
	t.Logf("%d questions about %d identities, %d allowed, %d answers differ", len(who)*len(asks), len(who), allowed, different)
	if allowed < 500 {
		t.Errorf("only %d requests are allowed: the questions try too little", allowed)
	}
}

// newJudge asks a cluster's own authorizers, by SubjectAccessReview.
func newJudge(t *testing.T, c *lab.Cluster) func(Identity, Request) bool {
	client, err := rest.HTTPClientFor(c.Config(lab.Admin))
	if err != nil {
		t.Fatal(err)
	}
	return func(who Identity, q Request) bool {
		spec := map[string]any{"user": who.Name, "groups": who.Groups, "resourceAttributes": map[string]string{
			"verb": q.Verb, "group": q.Group, "resource": q.Resource, "subresource": q.Subresource, "namespace": q.Namespace, "name": q.Name,
		}}
		if q.URL != "" {
			delete(spec, "resourceAttributes")
			spec["nonResourceAttributes"] = map[string]string{"verb": q.Verb, "path": q.URL}
		}
		body, err := json.Marshal(map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec})
		if err != nil {
			t.Error(err)
		}
		response, err := client.Post(c.Server()+"/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return false
		}
		defer response.Body.Close()
		var answer struct {
			Status struct{ Allowed bool }
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusCreated {
			t.Error(fmt.Errorf("%s: %w", response.Status, err))
		}
		return answer.Status.Allowed
	}
}
