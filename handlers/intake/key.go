package intake

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// envelope is what identifies the thing that an event is about.
type envelope struct {
	Action     string `json:"action"`
	Repository *struct {
		ID int64 `json:"id"`
	} `json:"repository"`
	Label *struct {
		Name string `json:"name"`
	} `json:"label"`
	Issue        *object   `json:"issue"`
	PullRequest  *object   `json:"pull_request"`
	Comment      *object   `json:"comment"`
	Review       *object   `json:"review"`
	CheckRun     *object   `json:"check_run"`
	CheckSuite   *object   `json:"check_suite"`
	Installation *object   `json:"installation"`
	Thread       *struct{} `json:"thread"`
	Changed      *string   `json:"repository_selection"`
}

// object is anything that GitHub numbers.
type object struct {
	ID          int64  `json:"id"`
	UpdatedAt   moment `json:"updated_at"`
	SubmittedAt moment `json:"submitted_at"`
}

// moment is a time as a payload writes it: text in most events, seconds since 1970 in those of
// installations and pushes. It is compared, never read, so that no form of it is refused.
type moment string

// UnmarshalJSON implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		text = string(raw)
	}
	*m = moment(text)
	return nil
}

// required names, per event, a part that its payload always has; a payload without it came under
// another event's header.
var required = map[string]func(envelope) bool{
	"issues":        func(e envelope) bool { return e.Issue != nil && e.Comment == nil },
	"issue_comment": func(e envelope) bool { return e.Issue != nil && e.Comment != nil },
	"pull_request": func(e envelope) bool {
		return e.PullRequest != nil && e.Review == nil && e.Comment == nil && e.Thread == nil
	},
	"pull_request_review":         func(e envelope) bool { return e.PullRequest != nil && e.Review != nil },
	"pull_request_review_comment": func(e envelope) bool { return e.PullRequest != nil && e.Comment != nil },
	"check_run":                   func(e envelope) bool { return e.CheckRun != nil },
	"check_suite":                 func(e envelope) bool { return e.CheckSuite != nil && e.CheckRun == nil },
	"installation":                func(e envelope) bool { return e.Installation != nil && e.Repository == nil && e.Changed == nil },
	"installation_repositories":   func(e envelope) bool { return e.Installation != nil && e.Repository == nil && e.Changed != nil },
	"repository": func(e envelope) bool {
		return e.Repository != nil && e.Issue == nil && e.PullRequest == nil && e.CheckRun == nil && e.CheckSuite == nil && e.Label == nil && e.Comment == nil
	},
}

// maxKey bounds a key; longer ones, of strange payloads, are hashed.
const maxKey = 256

// dedupeKey identifies what happened, whatever the delivery id says (security.md, rule 10): event,
// repository, action, object, label or comment, and time of change. It is empty where an event may
// rightly repeat itself: the buttons and re-runs of checks send the same payload each time. fits is
// false when the payload is not of the event that the header names.
func dedupeKey(event string, payload []byte) (key string, fits bool) {
	var e envelope
	if err := json.Unmarshal(payload, &e); err != nil {
		return "", false
	}
	if check, known := required[event]; known && !check(e) {
		return "", false
	}
	if event == "check_run" || event == "check_suite" {
		return "", true
	}
	parts := []string{event, e.Action}
	if e.Repository != nil {
		parts = append(parts, fmt.Sprint(e.Repository.ID))
	}
	identified := false
	for name, o := range map[string]*object{"issue": e.Issue, "pull": e.PullRequest, "comment": e.Comment, "review": e.Review} {
		if o != nil {
			identified = true
			parts = append(parts, fmt.Sprintf("%s=%d@%s%s", name, o.ID, o.UpdatedAt, o.SubmittedAt))
		}
	}
	if !identified {
		return "", true // nothing numbered: only the delivery id counts
	}
	if e.Label != nil {
		parts = append(parts, "label="+e.Label.Name)
	}
	// Map iteration shuffles the objects.
	slices.Sort(parts[2:])
	key = strings.Join(parts, "|")
	if len(key) > maxKey {
		key = fmt.Sprintf("%x", sha256.Sum256([]byte(key)))
	}
	return key, true
}
