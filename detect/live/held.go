package live

import (
	"encoding/json"
	"fmt"

	"holdfast/detect/live/internal/jsonvalue"
	"holdfast/gitops"
)

// Held is an object as JSON text: a Deployment takes some 4 KiB in place of 30 as maps. It is for whoever
// keeps many objects and looks at one at a time.
type Held struct {
	ID         gitops.ObjectID
	APIVersion string
	text       []byte
}

// Hold packs an object. The error is for content that is no plain JSON.
func Hold(o gitops.Object) (Held, error) {
	text, err := json.Marshal(o.Content)
	if err != nil {
		return Held{}, fmt.Errorf("%s: %w", o.ID, err)
	}
	return Held{ID: o.ID, APIVersion: o.APIVersion, text: text}, nil
}

// Size is the length of the text in bytes.
func (h Held) Size() int { return len(h.text) }

// Object unpacks it: a new object each time.
func (h Held) Object() gitops.Object {
	value, err := jsonvalue.NewDecoder().Decode(h.text)
	if err != nil {
		panic(fmt.Sprintf("live: %s was packed from plain JSON and does not unpack: %v", h.ID, err))
	}
	content, _ := value.(map[string]any)
	return gitops.Object{ID: h.ID, APIVersion: h.APIVersion, Content: content}
}
