package classify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/argocd"
)

// neighbours holds what live objects say about others.
type neighbours struct {
	// claims are the claim templates of StatefulSets: namespace/template-set.
	claims map[string]string
	// labels are the key=value pairs that some live object carries, for tracking labels only.
	labels map[string]bool
	// tracked are the Applications that Argo CD's tracking ids of live objects name.
	tracked map[string]bool
	// namespaces holds the annotations of Namespaces.
	namespaces map[string]map[string]string
	// born are the times at which Namespaces were made.
	born map[string]time.Time
	// roles are the ClusterRoles.
	roles []gitops.Object
	// rollouts holds the names that Rollouts and Canaries route through: namespace/kind/name to the owner.
	routed map[string]gitops.ObjectID
}

func newNeighbours() neighbours {
	return neighbours{claims: map[string]string{}, labels: map[string]bool{}, tracked: map[string]bool{},
		namespaces: map[string]map[string]string{}, born: map[string]time.Time{}, routed: map[string]gitops.ObjectID{}}
}

func (n *neighbours) add(object gitops.Object) {
	for key, value := range object.Labels() {
		if strings.Contains(key, ".toolkit.fluxcd.io/") || key == "app.kubernetes.io/instance" {
			n.labels[key+"="+value] = true
		}
	}
	if name, rest, _ := strings.Cut(object.Annotations()[argoTrackingKey], ":"); namesObject(rest, object.ID) {
		n.tracked[name] = true
	}
	spec, _ := object.Content["spec"].(map[string]any)
	switch object.ID.GroupKind() {
	case gitops.GroupKind{Kind: "Namespace"}:
		n.namespaces[object.ID.Name] = object.Annotations()
		n.born[object.ID.Name] = object.Created()
	case gitops.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:
		n.roles = append(n.roles, object)
	case gitops.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		for _, template := range mappings(spec["volumeClaimTemplates"]) {
			metadata, _ := template["metadata"].(map[string]any)
			if name, ok := metadata["name"].(string); ok {
				n.claims[object.ID.Namespace+"/"+name+"-"+object.ID.Name] = object.ID.Name
			}
		}
	case gitops.GroupKind{Group: "argoproj.io", Kind: "Rollout"}, gitops.GroupKind{Group: "flagger.app", Kind: "Canary"}:
		n.addRouted(object.ID, spec)
	}
}

// addRouted notes every object that a Rollout's strategy, or a Canary, names: Services, VirtualServices,
// routes and Ingresses. The key of a reference tells its kind.
func (n *neighbours) addRouted(id gitops.ObjectID, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if name, ok := value.(string); ok && (strings.HasSuffix(key, "Service") || strings.HasSuffix(key, "Ingress") ||
				key == "name" || key == "httpRoute" || key == "tcpRoute") {
				n.routed[id.Namespace+"/"+name] = id
			}
			n.addRouted(id, value)
		}
	case []any:
		for _, item := range v {
			n.addRouted(id, item)
		}
	}
}

// Extra says what a live object is that Git does not declare: an orphan that the engine made and Git has
// dropped, a stray that somebody made, or an object that a controller makes. Only the first, a stray under
// the engine's tracking mark, and what opens access or isolation are drift.
func (f *Facts) Extra(s Subject) (cause detect.Cause, drift bool, writer *detect.Writer, reason string) {
	live := *s.Live
	maker := f.maker(s.App, live)

	if why := f.systemObject(live); why != "" {
		return detect.CauseController, false, maker.writer, why
	}
	if why := podEdited(live, maker); why != "" {
		return detect.CauseManual, true, maker.writer, why
	}
	if why := f.owned(live, maker); why != "" {
		return detect.CauseController, false, maker.writer, why
	}
	if set, ok := f.fromTemplate(live); ok {
		return detect.CauseController, false, maker.writer, fmt.Sprintf("The StatefulSet %s made it from a claim template; it holds data.", set)
	}

	mark := f.trackingMark(s)
	if mark == markOurs && provesLittle(s) && !maker.engine && !f.inventoried(s) {
		mark = markNone
	}
	if mark == markNone && elsewhere(s) {
		return detect.CauseNone, false, maker.writer, "It stands in a namespace that this Application has nothing in."
	}
	opens := f.OpensAccess(live)
	switch {
	case mark == markOfAnother && opens && maker.engine && !maker.edited:
		return detect.CauseUnknown, true, maker.writer, fmt.Sprintf("It carries the name %s and a tracking mark that names another object, which the engine never sets: the name may be borrowed.", maker.writer.Manager)
	case mark == markOfAnother && opens && maker.writer == nil:
		return detect.CauseUnknown, true, unresolved(), "Its tracking mark was copied from another object, and nothing says who made it."
	case mark == markOfAnother && opens:
		return f.neverManaged(s.App, live, maker) // a copied mark excuses nothing
	case mark == markOfAnother:
		return detect.CauseController, false, maker.writer, "Its tracking mark was copied from another object, which the mark names."
	case maker.engine && s.App.Engine == gitops.ArgoCD && hookOf(live) != "":
		return detect.CauseController, false, maker.writer, "It is a hook (" + hookOf(live) + ") that Argo CD ran at a sync; it stays until it is run again."
	case maker.engine && (mark == markOurs || f.inventoried(s)):
		meant, why := f.meantToStay(s)
		return detect.CauseOrphaned, opens || !meant, maker.writer, "The engine made it for this Application and Git declares it no more." + prunes(s.App) + why
	case f.inventoried(s):
		return detect.CauseOrphaned, true, maker.writer, "The engine lists it in its inventory and Git declares it no more." + prunes(s.App)
	case mark == markOurs && maker.tool:
		return detect.CauseManual, true, maker.writer, fmt.Sprintf("It carries this Application's tracking mark, but %s %s it: the engine does not list it, and Git never declared it.", maker.writer.Manager, maker.act())
	case mark == markOurs && maker.writer == nil:
		return detect.CauseUnknown, true, unresolved(), "It carries this Application's tracking mark, and nothing says who made it."
	case mark == markOurs && opens:
		return f.neverManaged(s.App, live, maker)
	case mark == markOurs:
		return detect.CauseController, false, maker.writer, fmt.Sprintf("%s made it and copied the labels of its parent.", maker.writer.Manager)
	}
	return f.neverManaged(s.App, live, maker)
}

// Copied says whether an object carries a tracking mark of the Application that names another object.
func (f *Facts) Copied(s Subject) bool { return f.trackingMark(s) == markOfAnother }

// prunes says why an orphan stays, where the Application tells.
func prunes(app gitops.Application) string {
	switch {
	case app.Suspended:
		return " The Application is suspended, so it stays."
	case !app.Prune:
		return " The Application does not prune, so it stays."
	}
	return ""
}

// meantToStay says what Git's own marks on an object that it declares no more say about that: the engine has set them. It
// is meant where the engine, too, takes it for no difference.
func (f *Facts) meantToStay(s Subject) (meant bool, why string) {
	for _, found := range f.optOuts(s) {
		if len(found.owners) > 0 && isEngine(s.App, found.owners[0]) {
			meant, why = meant || found.keeps, why+" "+found.what+" Git had it say so."
		}
	}
	return meant, why
}

// elsewhere says whether the object stands in a namespace where the Application is known to have nothing.
func elsewhere(s Subject) bool {
	if s.Live.ID.Namespace == "" || s.Live.ID.Namespace == s.App.Render.Namespace {
		return false
	}
	for _, id := range s.App.Inventory {
		if id.Namespace == s.Live.ID.Namespace {
			return false
		}
	}
	return s.App.Render.Namespace != "" && !s.App.Render.NamespaceAssumed || len(s.App.Inventory) > 0
}

// made says who made a live object: the oldest entry in managedFields that is no subresource, and that owns more
// than metadata where some does. An entry's time is that of its last change, so that a label of today may well be
// older than its maker's last word. A person who later wrote what the object opens counts before whoever made it.
type made struct {
	writer       *detect.Writer
	engine, tool bool
	// stranger: nobody knows the name. It may be an operator, or a person's script.
	stranger bool
	// edited: the writer did not make the object, but wrote since what it opens.
	edited bool
}

func (f *Facts) maker(app gitops.Application, live gitops.Object) made {
	var m made
	entries := managedEntries(live)
	substance := false
	for _, e := range entries {
		if isEngine(app, e.Writer) {
			m.engine = true
		}
		older := m.writer == nil || !e.Time.IsZero() && e.Time.Before(m.writer.Time)
		if e.Subresource == "" && (older && e.substance() == substance || e.substance() && !substance) {
			w := e.Writer
			m.writer, substance = &w, e.substance()
		}
	}
	if m.writer != nil && !isEngine(app, *m.writer) {
		who := f.Rules.who(m.writer.Manager)
		m.tool = who == actorTool || who == actorEngine && !m.engine
		m.stranger = who == actorUnknown
	}
	if w := f.editor(app, live, entries, m.writer); w != nil {
		m.writer, m.tool, m.stranger, m.edited = w, true, false, true
	}
	return m
}

// act says what the writer did to the object.
func (m made) act() string {
	if m.edited {
		return "changed"
	}
	return "made"
}

// systemObject names the objects that every namespace or cluster gets from the control plane.
func (f *Facts) systemObject(live gitops.Object) string {
	switch id := live.ID; {
	case id.Group == "" && id.Kind == "ConfigMap" && id.Name == "kube-root-ca.crt":
		return "The control plane puts its root certificate into every namespace."
	case id.Group == "" && id.Kind == "ConfigMap" && id.Name == "openshift-service-ca.crt":
		return "OpenShift puts its service certificate into every namespace."
	case id.Group == "" && id.Kind == "ServiceAccount" && id.Name == "default":
		return "The control plane makes a default service account in every namespace."
	case id.Group == "" && id.Kind == "Service" && id.Namespace == "default" && id.Name == "kubernetes":
		return "The control plane makes the Service of its own API."
	case id.Group == "" && (id.Kind == "Event" || id.Kind == "Endpoints") || id.Kind == "Lease" && id.Group == "coordination.k8s.io",
		id.Kind == "Event" && id.Group == "events.k8s.io", id.Kind == "EndpointSlice" && id.Group == "discovery.k8s.io":
		return "Controllers make objects of this kind by themselves."
	}
	return ""
}

// fromTemplate recognises the claims of a StatefulSet: template-set-ordinal, without an owner reference
// unless the set asks for one (k8s.io docs, StatefulSet, persistentVolumeClaimRetentionPolicy).
func (f *Facts) fromTemplate(live gitops.Object) (string, bool) {
	if live.ID.Kind != "PersistentVolumeClaim" {
		return "", false
	}
	at := strings.LastIndex(live.ID.Name, "-")
	if at < 0 || strings.Trim(live.ID.Name[at+1:], "0123456789") != "" || at == len(live.ID.Name)-1 {
		return "", false
	}
	set, ok := f.neighbours.claims[live.ID.Namespace+"/"+live.ID.Name[:at]]
	return set, ok
}

type trackingMark int

const (
	markNone trackingMark = iota
	markOurs
	markOfAnother
)

// trackingMark reads the marks that tell the Application's objects. An annotation names application and
// object, so a copied one gives itself away; a label does not.
func (f *Facts) trackingMark(s Subject) trackingMark {
	if key := s.App.Tracking.Annotation; key != "" {
		if value, ok := s.Live.Annotations()[key]; ok {
			app, rest, _ := strings.Cut(value, ":")
			switch id := s.Live.ID; {
			case !namesObject(rest, id):
				return markOfAnother
			case argocd.IsTrackingName(app, s.App.Namespace, s.App.Name):
				return markOurs
			}
			return markNone
		}
	}
	if len(s.App.Tracking.Labels) == 0 {
		return markNone
	}
	have := s.Live.Labels()
	for key, want := range s.App.Tracking.Labels {
		if have[key] != want {
			return markNone
		}
	}
	return markOurs
}

// provesLittle says whether the mark is the label that every Helm chart sets to the name of its release: an object that
// has it may well be of a release, or of another Application, of the same name.
func provesLittle(s Subject) bool {
	_, instance := s.App.Tracking.Labels["app.kubernetes.io/instance"]
	_, annotated := s.Live.Annotations()[s.App.Tracking.Annotation]
	return instance && len(s.App.Tracking.Labels) == 1 && !(annotated && s.App.Tracking.Annotation != "")
}

// argoTrackingKey holds application:group/kind:namespace/name (argoproj/argo-cd util/argo/resource_tracking.go).
const argoTrackingKey = "argocd.argoproj.io/tracking-id"

func trackingID(id gitops.ObjectID) string {
	return id.Group + "/" + id.Kind + ":" + id.Namespace + "/" + id.Name
}

// namesObject says whether a tracking mark, after the Application's name, names the object. Of an object of the whole
// cluster Argo CD writes the Application's namespace (argoproj/argo-cd util/argo/resource_tracking.go, SetAppInstance).
func namesObject(mark string, id gitops.ObjectID) bool {
	if id.Namespace == "" {
		kind, rest, _ := strings.Cut(mark, ":")
		_, name, ok := strings.Cut(rest, "/")
		return ok && kind+":/"+name == trackingID(id)
	}
	return mark == trackingID(id)
}

// OpensAccess tells what people make to get past a control: bindings, roles that others take rules from or that
// Git binds, webhooks and admission policies, network policies, and workloads with a hold on the node.
func (f *Facts) OpensAccess(live gitops.Object) bool {
	switch id := live.ID; id.Group {
	case "rbac.authorization.k8s.io":
		return opensRights(live) || f.widens(live)
	case "admissionregistration.k8s.io":
		return true
	case "networking.k8s.io":
		return id.Kind == "NetworkPolicy"
	case "cilium.io":
		return id.Kind == "CiliumNetworkPolicy" || id.Kind == "CiliumClusterwideNetworkPolicy"
	}
	if f.Privileged != nil {
		return f.Privileged(live)
	}
	return privileged(live.Content["spec"], 0)
}

// privileged looks for a privileged container, a host namespace or a host path anywhere in a pod template.
func privileged(v any, depth int) bool {
	if depth > 12 {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch key {
			case "privileged", "hostNetwork", "hostPID", "hostIPC":
				if value == true {
					return true
				}
			case "hostPath":
				if _, isMap := value.(map[string]any); isMap {
					return true
				}
			}
			if privileged(value, depth+1) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if privileged(item, depth+1) {
				return true
			}
		}
	}
	return false
}

// hookOf gives the annotation that makes an object a hook; empty where it is none.
func hookOf(o gitops.Object) string {
	marks := o.Annotations()
	for _, key := range []string{"helm.sh/hook", "argocd.argoproj.io/hook"} {
		if value, ok := marks[key]; ok && value != "Skip" {
			return key
		}
	}
	return ""
}

// Missing says why a declared object is not in the cluster.
func (f *Facts) Missing(s Subject) (cause detect.Cause, drift bool, reason string) {
	declared := s.Declared.Object
	marks := declared.Annotations()
	if key := hookOf(declared); key != "" && s.App.Engine == gitops.ArgoCD { // to others such a mark means nothing
		return detect.CauseController, false, "It is a hook (" + key + "): it runs at a sync and need not stay."
	}
	spec, _ := declared.Content["spec"].(map[string]any)
	if declared.ID.Group == "batch" && declared.ID.Kind == "Job" && spec["ttlSecondsAfterFinished"] != nil {
		return detect.CauseController, false, "The Job asks to be removed once it has finished (ttlSecondsAfterFinished)."
	}
	if value := marks[createOnceKey]; strings.EqualFold(value, "Ignore") {
		return detect.CausePending, false, "Git tells the engine to leave it alone (" + createOnceKey + ": " + value + ")."
	}
	reason = "Git declares it and the cluster does not have it. A deletion leaves no trace in the cluster."
	if s.App.Suspended {
		reason += " The Application is suspended, so the engine does not bring it back."
	}
	return detect.CauseMissing, true, reason
}

func sortOptOuts(list []optOut) {
	slices.SortFunc(list, func(a, b optOut) int { return cmp.Compare(a.path.String(), b.path.String()) })
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
