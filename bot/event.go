package bot

import "time"

// EventKind is what a forge tells by a webhook.
type EventKind string

// The kinds of events that Holdfast acts on. All else is EventOther, which is answered and dropped.
const (
	EventPing        EventKind = "ping"
	EventPush        EventKind = "push"
	EventComment     EventKind = "comment"
	EventPullRequest EventKind = "pull-request"
	EventIssue       EventKind = "issue"
	EventReview      EventKind = "review"
	EventRerun       EventKind = "rerun" // somebody asks for the status check once more
	EventOther       EventKind = "other"
)

// Event is one webhook delivery, decoded and verified. It is a hint that something may have changed: what is
// acted on is asked of the forge.
type Event struct {
	// Delivery is the forge's ID of the delivery, for seeing each once.
	Delivery string
	Kind     EventKind
	// Action is the forge's own word, in lower case: opened, closed, created, edited, deleted.
	Action string
	// Repo is the repository's URL for Git over HTTP, FullName its owner and name ("group/sub/name" on GitLab).
	Repo, FullName string
	Sender         Actor
	// Thread and Number name the pull request or issue, for all kinds but EventPush and EventPing.
	Thread Kind
	Number int
	// Comment is set for EventComment.
	Comment Comment
	// Branch and Before, After are set for EventPush: the branch without refs/heads/, and its commits.
	Branch, Before, After string
	// Changed are the paths that an EventPush names, sorted; ChangedAll is false where the list is a part only.
	Changed    []string
	ChangedAll bool
	// Head is the head commit of the pull request, where the event has it.
	Head string
	Time time.Time
}
