package classify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// Stray judges a live object that no Application declares, tracks or lists, and that stands in a namespace of
// s.App, or bears on one. It is drift when a person made it and it opens access or isolation. An engine's name
// excuses such an object only with that engine's own mark, which must name an Application that is there (see Outside);
// a controller's name only with what vouched and owned check.
func (f *Facts) Stray(s Subject) (cause detect.Cause, drift bool, writer *detect.Writer, reason string) {
	live := *s.Live
	maker := f.maker(s.App, live)
	opens := f.OpensAccess(live)
	if why := f.systemObject(live); why != "" {
		return detect.CauseController, false, maker.writer, why
	}
	if why := podEdited(live, maker); why != "" {
		return detect.CauseManual, true, maker.writer, why
	}
	if why := f.installed(live, maker); why != "" {
		return detect.CauseController, false, maker.writer, why
	}
	if f.fromInstaller(live, maker) {
		return detect.CauseController, false, maker.writer, "It is as old as the cluster: whoever installed the cluster made it."
	}
	if why := f.owned(live, maker); why != "" {
		return detect.CauseController, false, maker.writer, why
	}
	if w := maker.writer; w != nil && f.Rules.who(w.Manager) == actorEngine {
		if opens {
			delivered, why := f.deliveredElsewhere(live, w.Manager, s.App)
			if !delivered {
				return detect.CauseUnknown, true, w, why
			}
			return detect.CauseController, false, w, why
		}
		return detect.CauseController, false, w, fmt.Sprintf("%s, a GitOps engine, made it.", w.Manager)
	}
	if maker.engine && opens && !maker.edited { // a pipeline's own manager, whose name people's tools may share
		if s.History != nil && len(s.History()) > 0 {
			return detect.CauseOrphaned, true, maker.writer, "An earlier revision of Git declared it, and Git does no more."
		}
		return detect.CauseUnknown, true, maker.writer, fmt.Sprintf("It carries the name %s, which the pipeline uses, but neither Git nor its recent revisions declare it.", maker.writer.Manager)
	}
	return f.neverManaged(s.App, live, maker)
}

// neverManaged judges an object that no engine made. Of what opens access, a name alone excuses nothing: the client
// chooses it, and the API server's own entries name nobody.
func (f *Facts) neverManaged(app gitops.Application, live gitops.Object, maker made) (cause detect.Cause, drift bool, writer *detect.Writer, reason string) {
	opens := f.OpensAccess(live)
	for _, c := range f.Rules.children {
		if c.matches(live) && !maker.tool && (!opens || f.confirms(c, live, maker)) {
			return detect.CauseController, false, maker.writer, c.Reason
		}
	}
	if opens {
		if why := f.vouched(live, maker, app); why != "" {
			return detect.CauseController, false, maker.writer, why
		}
	}
	switch w := maker.writer; {
	case opens && w == nil:
		return detect.CauseUnknown, true, unresolved(), "Nothing says who made it, and such an object changes who may do what: its managedFields were cleared, or the dump was taken without --show-managed-fields."
	case opens && f.Rules.who(w.Manager) == actorBookkeeping:
		w.Confidence = detect.Unresolved
		return detect.CauseUnknown, true, w, fmt.Sprintf("Who made it was folded into %s, which names nobody, and such an object changes who may do what.", w.Manager)
	case opens && !maker.tool && !maker.stranger:
		return detect.CauseUnknown, true, w, fmt.Sprintf("It carries the name %s, and nothing on this cluster confirms that a controller made it: the name may be borrowed.", w.Manager)
	case opens:
		return detect.CauseManual, true, maker.writer, fmt.Sprintf("%s %s it past Git, and such an object changes who may do what.", maker.writer.Manager, maker.act())
	case maker.tool:
		return detect.CauseManual, false, maker.writer, fmt.Sprintf("%s %s it by hand; no engine ever managed it.", maker.writer.Manager, maker.act())
	case maker.writer != nil:
		return detect.CauseController, false, maker.writer, fmt.Sprintf("%s made it; no engine ever managed it.", maker.writer.Manager)
	}
	return detect.CauseUnknown, false, unresolved(), "Nothing says who made it, and no engine ever managed it."
}

// podEdited says that a person put another image into a pod that was made from a template: what runs then is neither in
// Git nor in the cluster's own workload. Empty where nobody did.
func podEdited(live gitops.Object, maker made) string {
	image := func(e entry) bool { return e.Writer == *maker.writer && namesField(e.fields, "f:image") }
	if live.ID.GroupKind() != (gitops.GroupKind{Kind: "Pod"}) || !maker.edited || maker.writer.Subresource != "" ||
		len(ownerReferences(live)) == 0 || !slices.ContainsFunc(managedEntries(live), image) {
		return ""
	}
	return fmt.Sprintf("%s changed what the pod runs, past the template that it was made from.", maker.writer.Manager)
}

// WorthReading says whether an object, of which only metadata is known, may be somebody's own, or has a hold on its
// node: not what a controller made for an owner.
func (r *Rules) WorthReading(metadata gitops.Object) bool {
	if len(ownerReferences(metadata)) == 0 {
		return true
	}
	entries := managedEntries(metadata)
	for _, e := range entries {
		if e.Subresource != "status" && e.Subresource != "scale" && r.who(e.Manager) != actorController || namesField(e.fields, nodeMarks()...) {
			return true
		}
	}
	return len(entries) == 0
}

// PastEngines says whether people's tools alone have written an object: no engine has, and it carries no mark of the
// Application.
func (f *Facts) PastEngines(s Subject) bool {
	maker := f.maker(s.App, *s.Live)
	return maker.tool && f.trackingMark(s) == markNone && !slices.ContainsFunc(managedEntries(*s.Live), func(e entry) bool {
		return isEngine(s.App, e.Writer) || f.Rules.who(e.Manager) == actorEngine
	})
}

// installTime is how long after a cluster's first Namespace its installer may go on making objects of the system.
const installTime = time.Hour

// fromInstaller recognises what an installer puts into the namespaces of the control plane, and kubeadm into the
// cluster, by the one time that no client can choose: people's tools are what installers are made of. What somebody
// wrote after the installer, upgrades by kubeadm left out, is not the installer's.
func (f *Facts) fromInstaller(live gitops.Object, maker made) bool {
	const kubeadm = "kubeadm"
	whole := live.ID.Namespace == "" && maker.writer != nil && maker.writer.Manager == kubeadm
	if !whole && !strings.HasPrefix(live.ID.Namespace, "kube-") {
		return false
	}
	born, known := f.neighbours.born["kube-system"]
	at := live.Created()
	if !known || born.IsZero() || at.IsZero() || at.Sub(born) >= installTime {
		return false
	}
	return !slices.ContainsFunc(managedEntries(live), func(e entry) bool {
		return e.ownsAccess(live.ID) && e.Manager != kubeadm && f.Rules.who(e.Manager) != actorController && e.Time.Sub(born) >= installTime
	})
}
