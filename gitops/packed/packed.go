// Package packed holds many objects in little memory: as maps an object of a live cluster takes some 40 KiB,
// packed with others like it about one. Texts, and whole mappings and lists, that come up again are kept once
// for all.
package packed

import (
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"sync"

	"holdfast/gitops"
)

// Set holds objects, one for each identity. It is safe for concurrent use; New makes it.
type Set struct {
	mu         sync.RWMutex
	objects    map[gitops.ObjectID]string
	dictionary dictionary
}

// Object is a packed object. Only the Set that packed it can unpack it.
type Object struct {
	ID   gitops.ObjectID
	data string
}

// Size is the number of bytes that the object takes, beside what it shares with others.
func (o Object) Size() int { return len(o.data) }

// New gives a Set of objects; of several with one identity the last counts.
func New(objects ...gitops.Object) *Set {
	s := &Set{objects: map[gitops.ObjectID]string{}, dictionary: dictionary{
		seed: maphash.MakeSeed(), once: map[uint64]struct{}{}, words: map[string]uint64{}, nodes: map[string]uint64{},
	}}
	for _, o := range objects {
		s.Add(s.Pack(o))
	}
	return s
}

// Pack packs an object without adding it, for callers that know only later whether they want it. It panics
// on content that is no plain JSON, which gitops.Object rules out.
func (s *Set) Pack(o gitops.Object) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Object{o.ID, s.dictionary.pack(o.Content)}
}

// Add puts in objects that this Set has packed, in the place of those with the same identity.
func (s *Set) Add(objects ...Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range objects {
		s.objects[o.ID] = o.data
	}
}

// Get unpacks an object. Its content shares parts with that of others, as every gitops.Object may.
func (s *Set) Get(id gitops.ObjectID) (o gitops.Object, found bool) {
	s.mu.RLock()
	data, found := s.objects[id]
	r := reader{values: s.dictionary.values, rest: data}
	s.mu.RUnlock()
	if !found {
		return gitops.Object{}, false
	}
	content, _ := r.value().(map[string]any)
	apiVersion, _ := content["apiVersion"].(string)
	return gitops.Object{ID: id, APIVersion: apiVersion, Content: content}, true
}

// Has says whether there is an object of this identity.
func (s *Set) Has(id gitops.ObjectID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, found := s.objects[id]
	return found
}

// Len is the number of objects.
func (s *Set) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.objects)
}

// IDs lists the identities in their order.
func (s *Set) IDs() []gitops.ObjectID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ids := make([]gitops.ObjectID, 0, len(s.objects))
	for id := range s.objects {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, gitops.ObjectID.Compare)
	return ids
}

// All unpacks the objects one after the other, in the order of their identities.
func (s *Set) All() iter.Seq[gitops.Object] {
	return s.Where(func(gitops.ObjectID) bool { return true })
}

// Where unpacks the objects whose identity is wanted, in the order of their identities.
func (s *Set) Where(wanted func(gitops.ObjectID) bool) iter.Seq[gitops.Object] {
	return func(yield func(gitops.Object) bool) {
		for _, id := range s.IDs() {
			if !wanted(id) {
				continue
			}
			if o, found := s.Get(id); found && !yield(o) {
				return
			}
		}
	}
}

// String keeps contents out of what %v prints.
func (s *Set) String() string { return fmt.Sprintf("%d packed objects", s.Len()) }
