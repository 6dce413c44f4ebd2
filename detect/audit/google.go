package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// google reads a LogEntry of GKE's audit log. Sources:
// https://cloud.google.com/kubernetes-engine/docs/how-to/audit-logging and
// https://cloud.google.com/logging/docs/reference/audit/auditlog/rest/Shared.Types/AuditLog
//
// Such an entry names no field manager, no stage and no query: entries are written when the request is done, and a
// dry run of a write looks like the write.
type google struct {
	ServiceName        string `json:"serviceName"`
	MethodName         string `json:"methodName"`   // io.k8s.apps.v1.deployments.scale.update
	ResourceName       string `json:"resourceName"` // apps/v1/namespaces/shop/deployments/web/scale
	AuthenticationInfo struct {
		PrincipalEmail    string `json:"principalEmail"`
		PrincipalSubject  string `json:"principalSubject"`
		AuthoritySelector string `json:"authoritySelector"`
		// ServiceAccountDelegationInfo lists who acted through the service account that signed in, first to last.
		ServiceAccountDelegationInfo []struct {
			PrincipalSubject    string `json:"principalSubject"`
			FirstPartyPrincipal struct {
				PrincipalEmail string `json:"principalEmail"`
			} `json:"firstPartyPrincipal"`
		} `json:"serviceAccountDelegationInfo"`
	} `json:"authenticationInfo"`
	Status struct {
		Code int `json:"code"` // google.rpc.Code; 0 is OK
	} `json:"status"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
}

func (l *Log) google(place string, r *record) {
	var payload google
	if err := json.Unmarshal(r.ProtoPayload, &payload); err != nil {
		l.broken(place, plainError(err))
		return
	}
	if payload.ServiceName != "k8s.io" && !strings.HasPrefix(payload.MethodName, "io.k8s.") && payload.ServiceName != "" {
		l.Skipped++ // of Google's own API
		return
	}
	var at time.Time
	if json.Unmarshal(r.Timestamp, &at) != nil || at.IsZero() {
		l.broken(place, "timestamp is no time")
		return
	}
	l.Events++
	l.Cover(at)
	if payload.Status.Code != 0 || failed(payload.Response) || dryRun(payload.Request) {
		return
	}
	target, subresource, ok := splitResourceName(payload.ResourceName)
	if !ok {
		return
	}
	user, as := payload.who()
	e := Event{
		Time: at, User: user, As: as, Verb: payload.MethodName[strings.LastIndex(payload.MethodName, ".")+1:], Subresource: subresource,
		id: string(unquoted(r.InsertID)), target: target,
	}
	if !e.complete(payload.Request, payload.Response) {
		return
	}
	e.creates = e.creates || e.Verb == "patch" && isNew(payload.Response, at)
	l.Add(e)
}

// who gives the person behind a request, and whom that person acted as.
func (g google) who() (user, as string) {
	signedIn := g.AuthenticationInfo.PrincipalEmail
	if signedIn == "" {
		signedIn = g.AuthenticationInfo.PrincipalSubject
	}
	if chain := g.AuthenticationInfo.ServiceAccountDelegationInfo; len(chain) > 0 {
		first := chain[0].FirstPartyPrincipal.PrincipalEmail
		if first == "" {
			_, first, _ = strings.Cut(chain[0].PrincipalSubject, ":")
		}
		if first != "" {
			return first, signedIn
		}
	}
	return signedIn, g.AuthenticationInfo.AuthoritySelector
}

// splitResourceName reads group/version/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, each part from the third on
// where it has a place.
func splitResourceName(name string) (target key, subresource string, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) < 3 || slices.Contains(parts, "") {
		return key{}, "", false
	}
	group, parts := parts[0], parts[2:]
	if group == "core" {
		group = ""
	}
	namespace := ""
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
		namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	return key{group, parts[0], namespace, parts[1]}, parts[2], true
}

// failed says whether a response is the Status of a request that was refused.
func failed(response json.RawMessage) bool {
	var status struct {
		Kind   string `json:"kind"`
		Type   string `json:"@type"`
		Code   int    `json:"code"`
		Status any    `json:"status"`
	}
	return json.Unmarshal(response, &status) == nil && (status.Kind == "Status" || strings.HasSuffix(status.Type, "v1.Status")) &&
		(status.Code >= 400 || status.Status == "Failure")
}

func dryRun(request json.RawMessage) bool {
	var options struct {
		DryRun []string `json:"dryRun"`
	}
	return json.Unmarshal(request, &options) == nil && len(options.DryRun) > 0
}

// isNew says whether the object in a response was made by the request that ended at this time.
func isNew(response json.RawMessage, at time.Time) bool {
	var object struct {
		Metadata struct {
			CreationTimestamp time.Time `json:"creationTimestamp"`
			Generation        int64     `json:"generation"`
		} `json:"metadata"`
	}
	return json.Unmarshal(response, &object) == nil && object.Metadata.Generation <= 1 &&
		!object.Metadata.CreationTimestamp.IsZero() && at.Sub(object.Metadata.CreationTimestamp) <= slack
}
