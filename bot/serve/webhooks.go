package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/store"
	"holdfast/gitops"
)

const (
	// maxBody bounds one delivery, in bytes: GitHub sends 25 MB at most (docs.github.com, "Webhook events and payloads").
	maxBody = 25 << 20
	// bodiesAtOnce bounds the memory that unverified deliveries take: so many large ones are read at the same time, and
	// a further one waits so long. Those that say that they are small do not count.
	bodiesAtOnce = 8
	smallBody    = 1 << 20
	bodyPatience = 5 * time.Second
	// mostChanged bounds the paths that are kept of a push; with more, everything counts as changed.
	mostChanged = 3000
	// mostText bounds the text that is kept of a comment. Forges take 65,536 characters; commands stand on short lines.
	mostText = 256 << 10
)

// outcome is what became of a delivery, as metrics and logs name it.
type outcome string

const (
	accepted   outcome = "accepted"
	seenBefore outcome = "seen"
	ignored    outcome = "ignored" // of a kind that nothing is done about
	foreign    outcome = "foreign" // about a repository that this hook is not for
	forged     outcome = "forged"
	unreadable outcome = "unreadable"
	tooLarge   outcome = "too-large"
	limited    outcome = "limited"
	failed     outcome = "failed"
)

// answers are what the forge is told.
func (o outcome) answer() (code int, text string) {
	switch o {
	case accepted:
		return http.StatusAccepted, "accepted"
	case seenBefore:
		return http.StatusOK, "seen"
	case ignored:
		return http.StatusOK, "nothing to do"
	case foreign:
		return http.StatusOK, "this webhook is not for that repository"
	case forged:
		return http.StatusUnauthorized, "not signed with this webhook's secret"
	case unreadable:
		return http.StatusBadRequest, "the delivery cannot be read"
	case tooLarge:
		return http.StatusRequestEntityTooLarge, "at most 25 MB are taken"
	case limited:
		return http.StatusTooManyRequests, "too many requests"
	}
	return http.StatusServiceUnavailable, "try again later"
}

// webhook takes the deliveries of one hook. It answers once the delivery is durable, and acts on it later.
func (s *Server) webhook(hook Hook) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		what, event, err := s.take(w, r, hook)
		s.options.Metrics.delivery(hook.Name, what)
		log := s.log.With("hook", hook.Name, "request", requestID(r.Context()), "source", source(r), "outcome", what)
		if event.Kind != "" {
			log = log.With("delivery", event.Delivery, "kind", event.Kind, "action", event.Action, "repository", event.FullName)
		}
		switch what {
		case accepted, seenBefore, ignored:
			log.Info("webhook")
		case failed:
			log.Error("webhook", "error", err.Error())
		default:
			log.Warn("webhook")
		}
		if what == limited || what == failed {
			w.Header().Set("Retry-After", "30")
		}
		code, text := what.answer()
		answer(w, code, text)
	})
}

func (s *Server) take(w http.ResponseWriter, r *http.Request, hook Hook) (outcome, bot.Event, error) {
	var none bot.Event
	if !s.limits.allows(source(r)) {
		return limited, none, nil
	}
	if r.ContentLength > maxBody {
		return tooLarge, none, nil
	}
	if r.ContentLength < 0 || r.ContentLength > smallBody {
		patience, cancel := context.WithTimeout(r.Context(), bodyPatience)
		defer cancel()
		select {
		case s.reading <- struct{}{}:
			defer func() { <-s.reading }()
		case <-patience.Done():
			return failed, none, errors.New("too many large deliveries at the same time")
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if over := new(http.MaxBytesError); errors.As(err, &over) {
		return tooLarge, none, nil
	}
	if err != nil {
		return unreadable, none, nil
	}
	event, err := hook.Reader.Read(r.Header, body)
	switch {
	case errors.Is(err, forge.ErrSignature):
		s.limits.punish(source(r))
		return forged, none, nil
	case err != nil:
		return unreadable, none, nil
	case event.Kind == bot.EventPing || event.Kind == bot.EventOther:
		return ignored, event, nil
	case !slices.ContainsFunc(hook.Repositories, func(url string) bool { return gitops.SameRepository(url, event.Repo) }):
		return foreign, event, nil
	}
	fresh, err := s.options.Store.Deliver(r.Context(), store.Delivery{
		Hook: hook.Name, Request: requestID(r.Context()), Event: bounded(event), Received: s.options.Now().UTC(),
	}, deliveryIDs(event, body)...)
	switch {
	case err != nil:
		return failed, event, err
	case !fresh:
		return seenBefore, event, nil
	}
	return accepted, event, nil
}

// deliveryIDs are what a delivery is known again by: the forge's ID, which no signature covers, and for what people
// do also the signed body, which tells when it was done. A push may rightly have the same body twice, and a second
// round costs little.
func deliveryIDs(e bot.Event, body []byte) []string {
	digest := sha256.Sum256(body)
	byBody := "body " + hex.EncodeToString(digest[:])
	switch {
	case e.Delivery == "":
		return []string{byBody}
	case e.Kind == bot.EventPush || e.Kind == bot.EventRerun:
		return []string{"id " + shorter(e.Delivery)}
	}
	return []string{"id " + shorter(e.Delivery), byBody}
}

func shorter(text string) string { return text[:min(len(text), 200)] }

// bounded is the event as it is kept.
func bounded(e bot.Event) bot.Event {
	if len(e.Changed) > mostChanged {
		e.Changed, e.ChangedAll = nil, false
	}
	e.Delivery = shorter(e.Delivery)
	e.Comment.Body = e.Comment.Body[:min(len(e.Comment.Body), mostText)]
	return e
}
