package codify

import (
	"strings"
	"testing"

	"holdfast/gitops"
)

func TestANewFileIsNamedAsItsNeighboursAre(t *testing.T) {
	policy := gitops.ObjectID{Group: "networking.k8s.io", Kind: "NetworkPolicy", Name: "hand"}
	for name, c := range map[string]struct {
		// near are files and what they declare; one that is named twice declares two objects.
		near  string
		want  string
		joins bool
	}{
		"no neighbours":                          {"", "networkpolicy-hand.yaml", false},
		"by kind":                                {"deployment.yaml Deployment web, service.yaml Service web", "networkpolicy.yaml", false},
		"by kind, in words":                      {"service-account.yaml ServiceAccount web, deployment.yaml Deployment web", "network-policy.yaml", false},
		"by kind, as kubectl shortens it":        {"svc.yaml Service web, deploy.yaml Deployment web", "netpol.yaml", false},
		"by kind and name":                       {"deployment-web.yaml Deployment web, service-web.yaml Service web", "networkpolicy-hand.yaml", false},
		"by name and kind":                       {"web-deployment.yaml Deployment web, web-service.yaml Service web", "hand-networkpolicy.yaml", false},
		"by name and short kind":                 {"web-deploy.yml Deployment web, web-svc.yml Service web", "hand-netpol.yml", false},
		"by name, dotted":                        {"web.deployment.yaml Deployment web", "hand.networkpolicy.yaml", false},
		"by name alone":                          {"web.yaml Deployment web, api.yaml Deployment api", "hand.yaml", false},
		"by name, with all objects of a name":    {"web.yaml Deployment web, web.yaml Service web", "hand.yaml", true},
		"spelled as the API spells it":           {"Deployment_web.yaml Deployment web", "NetworkPolicy_hand.yaml", false},
		"the most usual style of several":        {"web-service.yaml Service web, all.yaml Deployment x, web-deployment.yaml Deployment web", "hand-networkpolicy.yaml", false},
		"styles of which none is most":           {"settings.yaml ConfigMap settings, secret.yaml Secret token", "networkpolicy-hand.yaml", false},
		"names that follow no rule tell nothing": {"stuff.yaml Deployment web, things.yaml Service web", "networkpolicy-hand.yaml", false},
	} {
		t.Run(name, func(t *testing.T) {
			count := map[string]int{}
			var near []neighbour
			for _, line := range strings.Split(c.near, ", ") {
				if f := strings.Fields(line); len(f) == 3 {
					count[f[0]]++
					near = append(near, neighbour{file: "app/" + f[0], written: gitops.ObjectID{Kind: f[1], Name: f[2]}})
				}
			}
			for i := range near {
				near[i].alone = count[strings.TrimPrefix(near[i].file, "app/")] == 1
			}
			got, joins := nameFor(policy, near)
			if got != c.want || joins != c.joins {
				t.Errorf("got %s, joins %v; want %s, %v", got, joins, c.want, c.joins)
			}
		})
	}
}
