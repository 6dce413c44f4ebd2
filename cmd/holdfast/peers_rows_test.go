package main

import (
	"fmt"
	"strings"

	"holdfast/detect"
)

// peerRow is one drift that alice makes under each engine, to an object of its own.
type peerRow struct {
	name   string
	object string // Kind/name
	git    string // what Git declares of it; empty for what it does not
	do     func(peerEngine) []peerStep
	field  string       // JSONPath of what changes; empty for the whole object
	clean  string       // what Git says there; empty: what is there before the drift
	path   string       // Holdfast's path of it
	drift  bool         // whether it is drift
	cause  detect.Cause // what Holdfast must say
	argo   detect.Cause // what it must say under Argo CD, where that is another
	why    string       // why an engine does not see what Holdfast sees, or the other way round
}

// peerStep is one call of kubectl.
type peerStep struct {
	stdin string
	args  []string
}

// peerEngine is the engine under which a drift is made.
type peerEngine struct {
	name     string // of its Application, and of the namespace
	tracking string // Argo CD's tracking method; empty for Flux
}

func kubectl(args ...string) func(peerEngine) []peerStep {
	return func(peerEngine) []peerStep { return []peerStep{{args: args}} }
}

func (e peerEngine) manager() string {
	if e.tracking == "" {
		return "kustomize-controller"
	}
	return "argocd-controller"
}

// mark is the metadata by which the engine knows an object as its own.
func (e peerEngine) mark(kind, name string) string {
	switch e.tracking {
	case "":
		return fmt.Sprintf("labels: {kustomize.toolkit.fluxcd.io/name: %s, kustomize.toolkit.fluxcd.io/namespace: flux-system}", e.name)
	case "label":
		return "labels: {app.kubernetes.io/instance: " + e.name + "}"
	}
	return fmt.Sprintf("annotations: {argocd.argoproj.io/tracking-id: %q}", fmt.Sprintf("%s:/%s:%[1]s/%[3]s", e.name, kind, name))
}

// peerDeployment gives a Deployment; container is more of its container, in lines without indentation.
func peerDeployment(name, container string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  labels: {app: %[1]s, tier: web}
spec:
  replicas: 2
  revisionHistoryLimit: 3
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: web
        image: registry.example.test/shop/web:2.4.0
%[2]s`, name, linesAt(container, "        "))
}

func peerConfigMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {level: info}\n"
}

func linesAt(text, by string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(by + line)
	}
	return out.String()
}

const peerPolicy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: %s}\nspec: {podSelector: {}, policyTypes: [Ingress], ingress: []}\n"

// peerAutoscaler wants three replicas where Git says two.
const peerAutoscaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaled}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: scaled}
  minReplicas: 3
  maxReplicas: 9
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
---
`

// Why engines do not see it, where that holds for more than one drift.
const (
	mergesAdditions = "Argo CD compares what Git declares, and what it once applied by last-applied-configuration; fields that others add are in neither, so it calls the object Synced, and its apply leaves them."
	kubectlOnly     = "Flux undoes additions of managers whose name begins with kubectl, and of no others: their entries in managedFields stay."
	inventoryOnly   = "Flux prunes what is in its inventory of applied objects, Argo CD what carries its mark; neither looks at other objects of the namespace."
)

// peerRows are the drifts. A path of Holdfast has c for the container.
func peerRows() []peerRow {
	const container, c = ".spec.template.spec.containers[0]", "spec.template.spec.containers[name=web]"
	json := func(kind, name, patch string, more ...string) func(peerEngine) []peerStep {
		return kubectl(append([]string{"patch", kind + "/" + name, "--type=json", "--patch=" + patch}, more...)...)
	}
	env := func(name string) string {
		return `{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"` + name + `","value":"1"}]}]}}}}`
	}
	manual := detect.CauseManual
	return []peerRow{
		{name: "replicas, by kubectl scale", object: "Deployment/replicas", git: peerDeployment("replicas", ""),
			do: kubectl("scale", "deployment/replicas", "--replicas=5"), field: ".spec.replicas", path: "spec.replicas", drift: true, cause: manual},
		{name: "image, by kubectl set image", object: "Deployment/image", git: peerDeployment("image", ""),
			do: kubectl("set", "image", "deployment/image", "web=registry.example.test/shop/web:9"), field: container + ".image", path: c + ".image", drift: true, cause: manual},
		{name: "image, taken over by server-side apply", object: "Deployment/taken", git: peerDeployment("taken", ""),
			do: func(peerEngine) []peerStep {
				return []peerStep{{"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: taken}\nspec: {template: {spec: {containers: [{name: web, image: 'registry.example.test/shop/web:9'}]}}}\n",
					[]string{"apply", "--server-side", "--force-conflicts", "--field-manager=alice", "-f", "-"}}}
			}, field: container + ".image", path: c + ".image", drift: true, cause: manual},
		{name: "variable added, by kubectl set env", object: "Deployment/env-kubectl", git: peerDeployment("env-kubectl", "env: [{name: LEVEL, value: info}]\n"),
			do: kubectl("set", "env", "deployment/env-kubectl", "EXTRA=1"), field: container + `.env[?(@.name=="EXTRA")].value`, path: c + ".env[name=EXTRA]", drift: true, cause: manual, why: mergesAdditions},
		{name: "variable added, by k9s", object: "Deployment/env-k9s", git: peerDeployment("env-k9s", "env: [{name: LEVEL, value: info}]\n"),
			do:    kubectl("patch", "deployment/env-k9s", "--type=strategic", "--patch="+env("EXTRA"), "--field-manager=k9s"),
			field: container + `.env[?(@.name=="EXTRA")].value`, path: c + ".env[name=EXTRA]", drift: true, cause: manual, why: kubectlOnly + " " + mergesAdditions},
		{name: "field added, by server-side apply", object: "Deployment/ssa", git: peerDeployment("ssa", ""),
			do: func(peerEngine) []peerStep {
				return []peerStep{{"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ssa}\nspec: {minReadySeconds: 7}\n",
					[]string{"apply", "--server-side", "--field-manager=alice", "-f", "-"}}}
			}, field: ".spec.minReadySeconds", path: "spec.minReadySeconds", drift: true, cause: manual, why: kubectlOnly + " " + mergesAdditions},
		{name: "variable removed", object: "Deployment/env-removed", git: peerDeployment("env-removed", "env: [{name: LEVEL, value: info}, {name: REGION, value: north}]\n"),
			do: kubectl("set", "env", "deployment/env-removed", "REGION-"), field: container + `.env[?(@.name=="REGION")].value`, path: c + ".env[name=REGION]", drift: true, cause: manual},
		{name: "arguments in another order", object: "Deployment/args-order", git: peerDeployment("args-order", "args: [serve, --quiet]\n"),
			do: json("deployment", "args-order", `[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["--quiet","serve"]}]`), field: container + ".args", path: c + ".args", drift: true, cause: manual},
		{name: "argument added to an atomic list", object: "Deployment/args-added", git: peerDeployment("args-added", "args: [serve]\n"),
			do: json("deployment", "args-added", `[{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--debug"}]`), field: container + ".args", path: c + ".args", drift: true, cause: manual},
		{name: "a value where Git has an empty one", object: "Deployment/env-empty", git: peerDeployment("env-empty", "env: [{name: LEVEL, value: ''}]\n"),
			do: kubectl("set", "env", "deployment/env-empty", "LEVEL=debug"), field: container + `.env[?(@.name=="LEVEL")].value`, path: c + ".env[name=LEVEL].value", drift: true, cause: manual},
		{name: "variable repeated", object: "Deployment/env-twice", git: peerDeployment("env-twice", "env: [{name: LEVEL, value: info}]\n"),
			do: json("deployment", "env-twice", `[{"op":"add","path":"/spec/template/spec/containers/0/env/-","value":{"name":"LEVEL","value":"debug"}}]`), field: container + ".env[*].value", path: c + ".env", drift: true, cause: manual, why: mergesAdditions},
		{name: "limits spelt otherwise than in Git", object: "Deployment/spelling", git: peerDeployment("spelling", "resources: {limits: {cpu: '0.5', memory: 1024Mi}}\n"),
			field: container + ".resources.limits.cpu", path: c + ".resources.limits.cpu", cause: detect.CauseAPI},
		{name: "declared field taken away, so that its default is back", object: "Deployment/default", git: peerDeployment("default", ""),
			do: json("deployment", "default", `[{"op":"remove","path":"/spec/revisionHistoryLimit"}]`), field: ".spec.revisionHistoryLimit", path: "spec.revisionHistoryLimit", drift: true, cause: manual},
		{name: "paused, by kubectl rollout pause", object: "Deployment/paused", git: peerDeployment("paused", ""),
			do: kubectl("rollout", "pause", "deployment/paused"), field: ".spec.paused", path: "spec.paused", drift: true, cause: manual, why: mergesAdditions},
		{name: "restarted, by kubectl rollout restart", object: "Deployment/restarted", git: peerDeployment("restarted", ""),
			do:    kubectl("rollout", "restart", "deployment/restarted"),
			field: `.spec.template.metadata.annotations.kubectl\.kubernetes\.io/restartedAt`, path: `spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`, drift: true, cause: manual, why: mergesAdditions},
		{name: "label changed", object: "Deployment/label-changed", git: peerDeployment("label-changed", ""),
			do: kubectl("label", "--overwrite", "deployment/label-changed", "tier=back"), field: ".metadata.labels.tier", path: "metadata.labels.tier", drift: true, cause: manual},
		{name: "label added, by kubectl label", object: "Deployment/label-added", git: peerDeployment("label-added", ""),
			do: kubectl("label", "deployment/label-added", "team=checkout"), field: ".metadata.labels.team", path: "metadata.labels.team", drift: true, cause: manual, why: mergesAdditions},
		{name: "annotation added, by kubectl annotate", object: "ConfigMap/annotated", git: peerConfigMap("annotated"),
			do: kubectl("annotate", "configmap/annotated", "note=mine"), field: ".metadata.annotations.note", path: "metadata.annotations.note", drift: true, cause: manual, why: mergesAdditions},
		{name: "key added, by kubectl patch", object: "ConfigMap/key", git: peerConfigMap("key"),
			do: kubectl("patch", "configmap/key", "--type=merge", `--patch={"data":{"extra":"1"}}`), field: ".data.extra", path: "data.extra", drift: true, cause: manual, why: mergesAdditions},
		{name: "Service deleted", object: "Service/deleted", git: "apiVersion: v1\nkind: Service\nmetadata: {name: deleted}\nspec:\n  selector: {app: web}\n  ports: [{port: 80}]\n",
			do: kubectl("delete", "service/deleted"), drift: true, cause: detect.CauseMissing},
		{name: "object made with the engine's mark on it", object: "ConfigMap/stray",
			do: func(e peerEngine) []peerStep {
				return []peerStep{{"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: stray\n  " + e.mark("ConfigMap", "stray") + "\ndata: {a: '1'}\n", []string{"create", "-f", "-"}}}
			}, drift: true, cause: manual, argo: detect.CauseOrphaned,
			why: "Flux prunes what its inventory lists, and this it never applied. Argo CD takes whatever carries its mark for its own, and would prune it."},
		{name: "RoleBinding made past Git", object: "RoleBinding/hand",
			do: kubectl("create", "rolebinding", "hand", "--clusterrole=view", "--user=bob@example.test"), drift: true, cause: manual, why: inventoryOnly},
		{name: "value changed on an object that opts out", object: "ConfigMap/opted-out", git: peerConfigMap("opted-out"),
			do: func(peerEngine) []peerStep {
				return []peerStep{
					{args: []string{"annotate", "configmap/opted-out", "kustomize.toolkit.fluxcd.io/reconcile=disabled", "argocd.argoproj.io/compare-options=IgnoreExtraneous", "argocd.argoproj.io/sync-options=Prune=false"}},
					{args: []string{"patch", "configmap/opted-out", "--type=merge", `--patch={"data":{"level":"debug"}}`}},
				}
			}, field: ".data.level", path: "data.level", drift: true, cause: manual,
			why: "Flux leaves an object alone that says reconcile: disabled, whoever wrote that on it. Argo CD's annotations of this kind are about pruning only. Holdfast reports the annotation as well."},
		{name: "key added under the engine's own name", object: "ConfigMap/spoofed", git: peerConfigMap("spoofed"),
			do: func(e peerEngine) []peerStep {
				return []peerStep{{args: []string{"patch", "configmap/spoofed", "--type=merge", "--field-manager=" + e.manager(), `--patch={"data":{"extra":"1"}}`}}}
			}, field: ".data.extra", path: "data.extra", drift: true, cause: manual,
			why: "Flux takes entries of its own name that are no apply for its own of earlier versions, and undoes them. " + mergesAdditions},
		{name: "replicas that an autoscaler writes", object: "Deployment/scaled", git: peerAutoscaler + peerDeployment("scaled", ""),
			field: ".spec.replicas", clean: "2", path: "spec.replicas", cause: detect.CauseAutoscaler,
			why: "Git declares a field that an autoscaler writes: the engines set it back, and the autoscaler sets it again. Holdfast knows the autoscaler by its target and its bounds."},
		{name: "NetworkPolicy opened, [] to [{}], by kubectl", object: "NetworkPolicy/open-kubectl", git: fmt.Sprintf(peerPolicy, "open-kubectl"),
			do: kubectl("patch", "networkpolicy/open-kubectl", "--type=merge", `--patch={"spec":{"ingress":[{}]}}`), field: ".spec.ingress", path: "spec.ingress", drift: true, cause: manual},
		{name: "NetworkPolicy opened, [] to [{}], by k9s", object: "NetworkPolicy/open-k9s", git: fmt.Sprintf(peerPolicy, "open-k9s"),
			do:    kubectl("patch", "networkpolicy/open-k9s", "--type=merge", "--field-manager=k9s", `--patch={"spec":{"ingress":[{}]}}`),
			field: ".spec.ingress", path: "spec.ingress", drift: true, cause: manual,
			why: "Flux puts what it applies through Go's types, which leave an empty list out: for it this is an addition. " + kubectlOnly},
		{name: "Secret's value changed", object: "Secret/token", git: "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\ndata: {token: Zmlyc3Q=}\n",
			do: kubectl("patch", "secret/token", "--type=merge", `--patch={"data":{"token":"c2Vjb25k"}}`), field: ".data.token", path: "data.token", drift: true, cause: manual},
		{name: "custom resource changed", object: "Widget/changed", git: "apiVersion: example.test/v1\nkind: Widget\nmetadata: {name: changed}\nspec: {size: 2}\n",
			do: kubectl("patch", "widget/changed", "--type=merge", `--patch={"spec":{"size":3}}`), field: ".spec.size", path: "spec.size", drift: true, cause: manual},
		{name: "field added to a custom resource, by kubectl", object: "Widget/added", git: "apiVersion: example.test/v1\nkind: Widget\nmetadata: {name: added}\nspec: {size: 2}\n",
			do: kubectl("patch", "widget/added", "--type=merge", `--patch={"spec":{"color":"red"}}`), field: ".spec.color", path: "spec.color", drift: true, cause: manual, why: mergesAdditions},
	}
}
