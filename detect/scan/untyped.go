package scan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/detect/live"
	"holdfast/gitops/typed"
)

// untyped notes the kinds of declared objects of which no schema was read: what the API server fills in there by
// itself cannot be told from what somebody added.
func untyped(schemas *typed.Schemas, members []*member, snapshot *live.Snapshot) []string {
	kinds := map[string]bool{}
	for _, m := range members {
		for _, d := range m.declared {
			if _, known := schemas.Lookup(d.APIVersion, d.ID.Kind); !known && snapshot.Objects.Has(d.ID) {
				kinds[d.ID.Kind+" ("+d.APIVersion+")"] = true
			}
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	note := fmt.Sprintf("no schema of %s was read from a CustomResourceDefinition: defaults there may pass for additions", strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	for _, u := range snapshot.Unread {
		if u.Kind == "CustomResourceDefinition" && !u.NotServed && u.Place == "" {
			return []string{note + " (" + unreadText(u) + ")"}
		}
	}
	return []string{note}
}
