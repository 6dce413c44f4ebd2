package audit

import (
	"strings"
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// at is a time of the tests' day.
func at(clock string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-11-02T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

// said is one event in a table: when, who, what is asked for, and what the object then holds; absent bodies were not
// logged.
func said(t *testing.T, clock, user, manager string, more map[string]any) string {
	t.Helper()
	e := map[string]any{
		"stageTimestamp": "2026-11-02T" + clock + "Z", "user": map[string]any{"username": user}, "auditID": clock + user,
		"requestURI": "/x?fieldManager=" + manager, "requestObject": nil,
	}
	for k, v := range more {
		e[k] = v
	}
	return line(t, e)
}

func spec(replicas any) map[string]any {
	if replicas == nil {
		return map[string]any{"spec": map[string]any{"paused": true}}
	}
	return map[string]any{"spec": map[string]any{"replicas": replicas}}
}

func asks(replicas any) map[string]any  { return map[string]any{"requestObject": spec(replicas)} }
func holds(replicas any) map[string]any { return map[string]any{"responseObject": spec(replicas)} }

// both has a request and what came of it.
func both(request, response map[string]any) map[string]any {
	return map[string]any{"requestObject": request["requestObject"], "responseObject": response["responseObject"]}
}

func put(m map[string]any) map[string]any {
	m["verb"] = "update"
	return m
}

func TestTheValueIsFollowedFromWriteToWrite(t *testing.T) {
	const (
		alice, bob = "alice@example.test", "bob@example.test"
		flux       = "system:serviceaccount:flux-system:kustomize-controller"
		deployer   = "system:serviceaccount:kube-system:deployment-controller"
		engine     = "kustomize-controller"
		byAlice    = alice + " by audit"
		byBob      = bob + " by audit"
		nobody     = "nobody"
		unresolved = string(detect.Unresolved)
	)
	none := map[string]any{}
	edited := &detect.Writer{Manager: "kubectl-edit", Operation: "Update", Time: at("10:00:00"), Confidence: detect.ByManager}
	for _, c := range []struct {
		name   string
		events []string
		writer *detect.Writer // what managedFields tell
		lost   []Window
		want   string
	}{
		{"the newest change counts", []string{said(t, "09:00:00", alice, "e", asks(6)), said(t, "09:01:00", bob, "e", asks(5)), said(t, "09:02:00", bob, "e", asks(6))}, nil, nil, byBob},
		{"a write that changes nothing is no author's", []string{said(t, "09:00:00", alice, "e", asks(6)), said(t, "09:02:00", bob, "e", asks(6))}, nil, nil, byAlice},
		{"what the engine overwrote is nobody's", []string{said(t, "09:00:00", alice, "e", asks(6)), said(t, "09:01:00", flux, engine, asks(4))}, nil, nil, nobody},
		{"a field taken away, so that its default came", []string{said(t, "09:00:00", flux, engine, both(asks(4), holds(4))),
			said(t, "09:01:00", alice, "kubectl-patch", both(map[string]any{"requestObject": map[string]any{"spec": map[string]any{"replicas": nil}}}, holds(6)))}, nil, nil, alice + " by audit-metadata"},
		{"what somebody overwrote is nobody's", []string{said(t, "09:00:00", alice, "e", asks(6)), said(t, "09:01:00", bob, "e", both(asks(5), holds(5)))}, nil, nil, nobody},
		{"a PUT is told by what was before", []string{said(t, "09:00:00", flux, engine, asks(4)), said(t, "09:01:00", bob, "e", put(asks(6)))}, nil, nil, byBob},
		{"a PUT that sends the value back is not its author's", []string{said(t, "09:00:00", alice, "e", asks(6)), said(t, "09:01:00", bob, "e", put(asks(6)))}, nil, nil, byAlice},
		{"a PUT without anything before it names the writer of the object", []string{said(t, "09:00:00", flux, engine, none), said(t, "10:00:01", bob, "kubectl-edit", put(asks(6)))}, edited, nil, bob + " by audit-metadata"},
		{"another object's answer in between shows the value", []string{said(t, "09:00:00", deployer, "kcm", both(map[string]any{"requestObject": map[string]any{"metadata": map[string]any{}}}, holds(4))), said(t, "09:01:00", bob, "e", put(both(asks(6), holds(6))))}, nil, nil, byBob},
		{"what admission added in somebody's request is not theirs", []string{said(t, "09:00:00", alice, "e", both(asks(nil), holds(4))), said(t, "09:01:00", bob, "e", both(map[string]any{"requestObject": map[string]any{"metadata": map[string]any{}}}, holds(6)))}, nil, nil, nobody},
		{"what admission made of a request names the writer of the object", []string{said(t, "09:00:00", flux, engine, asks(4)), said(t, "09:01:00", bob, "e", both(asks(5), holds(6)))}, nil, nil, bob + " by audit-metadata"},
		{"what admission made of the engine's request is nobody's", []string{said(t, "09:01:00", flux, engine, both(asks(4), holds(6)))}, nil, nil, nobody},
		{"at level Metadata two users at the time are nobody", []string{said(t, "08:00:00", flux, engine, none), said(t, "10:00:01", alice, "kubectl-edit", none), said(t, "10:00:02", bob, "kubectl-edit", none)}, edited, nil, unresolved},
		{"at level Metadata the engine beside one user is not counted", []string{said(t, "10:00:00", flux, "kubectl-edit", none), said(t, "10:00:01", alice, "kubectl-edit", none)}, edited, nil, unresolved},
		{"at level Metadata one user twice is that user", []string{said(t, "10:00:00", alice, "kubectl-edit", none), said(t, "10:00:01", alice, "kubectl-edit", none)}, edited, nil, alice + " by audit-metadata"},
		{"at level Metadata a person under the engine's name is a candidate", []string{said(t, "09:00:00", flux, engine, asks(4)), said(t, "09:30:00", flux, engine, none), said(t, "10:00:01", alice, engine, none)}, nil, nil, alice + " by audit-metadata"},
		{"without a time the log must reach back to the last apply", []string{said(t, "09:30:00", alice, "e", none)}, &detect.Writer{Confidence: detect.Unresolved}, nil, unresolved},
		{"a fold of managedFields bounds nothing", []string{said(t, "09:00:00", alice, "e", asks(6))}, &detect.Writer{Manager: "ancient-changes", Operation: "Update", Time: at("08:00:00"), Confidence: detect.Unresolved}, nil, byAlice},
		{"a write after the entry's time did not make the entry", []string{said(t, "10:30:00", alice, "kubectl-edit", asks(6))}, edited, nil, string(detect.ByManager)},
		{"an entry without its event in a log of that time", []string{said(t, "09:00:00", flux, engine, asks(4)), said(t, "11:00:00", flux, engine, none)}, edited, nil, unresolved},
		{"an entry made after the log's last event", []string{said(t, "09:00:00", flux, engine, asks(4))}, edited, nil, unresolved},
		{"an entry made before the log begins", []string{said(t, "11:00:00", flux, engine, none)}, edited, nil, string(detect.ByManager)},
		{"an apply of the same value shares it", []string{said(t, "09:00:00", alice, "e", asks(6)), said(t, "10:00:01", bob, "kubectl-edit", map[string]any{"requestObject": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": 6}}})}, edited, nil, byBob},
		{"events that are missing since leave it open", []string{said(t, "09:00:00", alice, "e", asks(6))}, nil, []Window{{at("09:10:00"), at("09:20:00")}}, nobody},
		{"events that are missing since do not matter where managedFields confirm it", []string{said(t, "10:00:00", alice, "kubectl-edit", asks(6))}, edited, []Window{{at("10:10:00"), at("10:20:00")}}, byAlice},
		{"events that are missing before do not matter", []string{said(t, "09:30:00", alice, "e", asks(6))}, nil, []Window{{at("09:10:00"), at("09:20:00")}}, byAlice},
		{"a write to an object of this name that was deleted is not this one's", []string{said(t, "09:00:00", alice, "e", asks(6)), said(t, "09:10:00", bob, "e", map[string]any{"verb": "delete"})}, nil, nil, nobody},
		{"another object's write, by its uid", []string{said(t, "09:00:00", alice, "e", map[string]any{"requestObject": spec(6), "objectRef": map[string]any{"resource": "deployments", "apiGroup": "apps", "namespace": "shop", "name": "web", "uid": "other"}})}, nil, nil, nobody},
		{"a write from before the object was made", []string{said(t, "07:00:00", alice, "e", asks(6))}, nil, nil, nobody},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := Decode(strings.NewReader(strings.Join(c.events, "\n")))
			if err != nil || log.Broken > 0 {
				t.Fatal(err, log.Notes())
			}
			for _, w := range c.lost {
				log.Lose(w)
			}
			live := live6()
			f := detect.Field{Path: replicasPath(), Git: gitops.Present(int64(4)), Live: gitops.Present(int64(6)), Drift: true, Writer: c.writer}
			got := nobody
			if log.Of(web(), application(), &live).Field(&f) {
				got = f.Writer.Name() + " by " + string(f.Writer.Confidence)
			} else if c.writer != nil {
				got = string(f.Writer.Confidence)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func live6() gitops.Object {
	return gitops.Object{ID: web(), Content: map[string]any{
		"metadata": map[string]any{"uid": "this", "creationTimestamp": "2026-11-02T08:00:00Z"}, "spec": map[string]any{"replicas": int64(6)},
	}}
}

func TestWritersAreTheFlipsOfAField(t *testing.T) {
	const flux = "system:serviceaccount:flux-system:kustomize-controller"
	log, err := Decode(strings.NewReader(strings.Join([]string{
		said(t, "08:30:00", "bob@example.test", "e", asks(9)),
		said(t, "09:00:00", flux, "kustomize-controller", asks(4)),
		said(t, "09:01:00", "alice@example.test", "e", asks(6)),
		said(t, "09:02:00", "alice@example.test", "e", asks(7)),
		said(t, "09:03:00", flux, "kustomize-controller", asks(4)),
		said(t, "09:04:00", flux, "kustomize-controller", asks(4)),
		said(t, "09:05:00", "bob@example.test", "e", map[string]any{}),
		said(t, "09:06:00", "alice@example.test", "e", asks(6)),
	}, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	live := live6()
	for _, f := range log.Of(web(), application(), &live).Writers(replicasPath(), at("09:00:00")) {
		got = append(got, f.Writer.User)
	}
	want := strings.Join([]string{flux, "alice@example.test", flux, "alice@example.test"}, " ")
	if strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var none *Log
	if len(none.Of(web(), application(), &live).Writers(replicasPath(), time.Time{})) > 0 {
		t.Error("no log, but writers")
	}
}

func TestWritersOfASecretsKey(t *testing.T) {
	const flux = "system:serviceaccount:flux-system:kustomize-controller"
	type body = map[string]any
	secret := body{"apiVersion": "v1", "kind": "Secret", "metadata": body{"name": "db", "namespace": "shop"}, "data": body{"pw": "aHVudGVyMg=="}}
	bare := body{"apiVersion": "v1", "kind": "Secret", "metadata": body{"name": "db", "namespace": "shop"}}
	turns := func(verb string, request any, response body) []string {
		var out []string
		for i, clock := range []string{"09:00:00", "09:01:00", "09:02:00", "09:03:00"} {
			user := []string{flux, "alice@example.test"}[i%2]
			out = append(out, said(t, clock, user, "e", body{
				"verb": verb, "requestObject": request, "responseObject": response, "objectRef": body{"resource": "secrets", "namespace": "shop", "name": "db"},
			}))
		}
		return out
	}
	for _, c := range []struct {
		name   string
		events []string
		flips  int
	}{
		{"the whole object is sent back in turn", turns("update", secret, secret), 0},
		{"patches of an annotation", turns("patch", body{"metadata": body{"annotations": body{"a": "b"}}}, secret), 0},
		{"patches that name the key", turns("patch", body{"data": body{"pw": "aHVudGVyMg=="}}, secret), 4},
		{"patches that name it in stringData", turns("patch", body{"stringData": body{"pw": "hunter2"}}, secret), 4},
		{"JSON patches that name it", turns("patch", []any{body{"op": "replace", "path": "/data/pw", "value": "aHVudGVyMg=="}}, secret), 4},
		{"applies that name it", turns("patch", secret, secret), 4},
		{"applies that do not", turns("patch", bare, secret), 0},
		{"after a patch that names it, the whole object", append(turns("patch", body{"data": body{"pw": "aHVudGVyMg=="}}, secret)[:1], turns("update", secret, secret)[1:]...), 1},
		{"an update that adds the key, one that takes it away", append(turns("update", bare, bare)[:1], append(turns("update", secret, secret)[1:2], turns("update", bare, bare)[2:3]...)...), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := Decode(strings.NewReader(strings.Join(c.events, "\n")))
			if err != nil {
				t.Fatal(err)
			}
			live := gitops.NewObject(secret)
			flips := log.Of(live.ID, application(), &live).Writers(gitops.Path{gitops.Field("data"), gitops.Field("pw")}, at("09:00:00"))
			if len(flips) != c.flips {
				t.Errorf("%d flips, want %d: %+v", len(flips), c.flips, flips)
			}
		})
	}
}

func TestWhoActsThroughAnAccountOnGKE(t *testing.T) {
	for _, c := range []struct{ name, info, user, as string }{
		{"a person", `{"principalEmail":"alice@example.test"}`, "alice@example.test", ""},
		{"a person as somebody", `{"principalEmail":"alice@example.test","authoritySelector":"system:admin"}`, "alice@example.test", "system:admin"},
		{"a person through a Google service account", `{"principalEmail":"ops@shop.iam.gserviceaccount.com","serviceAccountDelegationInfo":[{"firstPartyPrincipal":{"principalEmail":"alice@example.test"}}]}`, "alice@example.test", "ops@shop.iam.gserviceaccount.com"},
		{"a person of another identity provider", `{"principalSubject":"principal://iam.googleapis.com/subject/alice@example.test"}`, "principal://iam.googleapis.com/subject/alice@example.test", ""},
		{"a service account", `{"principalEmail":"system:serviceaccount:shop:deployer"}`, "system:serviceaccount:shop:deployer", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			entry := `{"insertId":"1","timestamp":"2026-11-02T09:00:00Z","protoPayload":{"serviceName":"k8s.io","methodName":"io.k8s.core.v1.configmaps.delete",
				"resourceName":"core/v1/namespaces/shop/configmaps/settings","authenticationInfo":` + c.info + `}}`
			log, err := Decode(strings.NewReader(strings.ReplaceAll(entry, "\n", " ")))
			if err != nil {
				t.Fatal(err)
			}
			w, ok := log.Of(gitops.ObjectID{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, application(), nil).Object(detect.GitOnly)
			if !ok || w.User != c.user || w.As != c.as {
				t.Errorf("got %+v, want %s as %s", w, c.user, c.as)
			}
		})
	}
}

func TestRefusedAndDryRunsOnGKEAreNone(t *testing.T) {
	for _, c := range []struct{ name, more string }{
		{"a status", `"status":{"code":7}`},
		{"a response", `"response":{"@type":"core.k8s.io/v1.Status","status":"Failure","code":409}`},
		{"a dry run of a deletion", `"request":{"dryRun":["All"]}`},
		{"another service", `"serviceName":"container.googleapis.com","methodName":"google.container.v1.ClusterManager.DeleteCluster"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			entry := `{"insertId":"1","timestamp":"2026-11-02T09:00:00Z","protoPayload":{"serviceName":"k8s.io","methodName":"io.k8s.core.v1.configmaps.delete","resourceName":"core/v1/namespaces/shop/configmaps/settings",` + c.more + `}}`
			log, _ := Decode(strings.NewReader(entry))
			if log != nil && log.Writes > 0 {
				t.Error("taken for a write")
			}
		})
	}
}

func TestCovers(t *testing.T) {
	log, err := Decode(strings.NewReader(said(t, "09:00:00", "alice@example.test", "e", asks(6)) + "\n" + said(t, "09:10:00", "alice@example.test", "e", asks(6))))
	if err != nil {
		t.Fatal(err)
	}
	live := live6()
	for _, c := range []struct {
		name    string
		changed time.Time
		want    bool
	}{
		{"a change while the log was written", at("09:05:00"), true},
		{"a change before the log begins", at("08:30:00"), false},
		{"a change after the log ends", at("09:30:00"), false},
		{"a change at any time since the object was made", time.Time{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := detect.Field{Writer: &detect.Writer{Time: c.changed}}
			if got, _ := log.Of(web(), application(), &live).Covers(f); got != c.want {
				t.Errorf("covered %v, want %v", got, c.want)
			}
		})
	}
}
