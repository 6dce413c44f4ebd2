package chart_test

import (
	"context"
	"sync"
)

// watchedContext counts how often it is asked whether it is over.
type watchedContext struct {
	context.Context
	mu    sync.Mutex
	asked *int
}

// Err counts the question.
func (w *watchedContext) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	*w.asked++
	return w.Context.Err()
}

func (w *watchedContext) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.asked
}
