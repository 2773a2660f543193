package model

import (
	"regexp"
	"strings"
)

// keyForms are the shapes of keys that endpoints like to quote in their errors.
var keyForms = regexp.MustCompile(`(?i)\bbearer\s+[^\s"']+|\b(?:sk|pk|rk|gsk|xai|key)[-_][A-Za-z0-9*_-]{6,}`)

// minSecret is the shortest configured key that is looked for: shorter ones occur in any text.
const minSecret = 6

// redact takes the configured keys, and what looks like a key, out of a text.
func redact(text string, secrets []string) string {
	for _, s := range secrets {
		if len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, "[key]")
		}
	}
	return keyForms.ReplaceAllString(text, "[key]")
}
