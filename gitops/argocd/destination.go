package argocd

import (
	"encoding/base64"
	"encoding/json"

	"holdfast/gitops"
)

// Argo CD's names for the cluster that it runs in.
const (
	inClusterServer = "https://kubernetes.default.svc"
	inClusterName   = "in-cluster"
)

// destination tells whether the Application is applied to the cluster that its object stands in. The cluster
// Secrets among the objects may give that one other names.
func (d *decoder) destination(to destination, id gitops.ObjectID) {
	switch {
	case to.Server == inClusterServer, to.Server == "" && to.Name == inClusterName:
		return
	case to.Server == "" && to.Name == "":
		d.problem(id, gitops.OtherCluster, true, "spec.destination names no cluster")
		return
	}
	named := to.Server
	if named == "" {
		named = to.Name
	}
	for _, o := range d.objects {
		c, ok := clusterOf(o)
		if !ok || c.server != to.Server && (to.Server != "" || c.name != to.Name) {
			continue
		}
		switch {
		case c.server == inClusterServer:
			return
		case c.exec:
			d.problem(id, gitops.OtherCluster, true, "spec.destination applies it to %s, whose cluster Secret %s/%s runs a command for its credentials: such Secrets are refused",
				named, o.ID.Namespace, o.ID.Name)
			return
		}
	}
	d.problem(id, gitops.OtherCluster, true, "spec.destination applies it to %s, which is not this cluster", named)
}

// cluster is what a cluster Secret says. Credentials are not kept.
type cluster struct {
	name, server string
	exec         bool
}

func clusterOf(o gitops.Object) (cluster, bool) {
	if !o.IsSecret() || o.Labels()[secretType] != "cluster" {
		return cluster{}, false
	}
	data, _ := o.Content["data"].(map[string]any)
	texts, _ := o.Content["stringData"].(map[string]any)
	value := func(key string) string {
		if text, ok := texts[key].(string); ok {
			return text
		}
		encoded, _ := data[key].(string)
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return ""
		}
		return string(decoded)
	}
	var config struct {
		ExecProviderConfig *json.RawMessage `json:"execProviderConfig"`
	}
	// A config that cannot be read names no command.
	readable := json.Unmarshal([]byte(value("config")), &config) == nil
	return cluster{name: value("name"), server: value("server"), exec: readable && config.ExecProviderConfig != nil}, true
}
