package codemap

import (
	"regexp"
	"strings"
)

const (
	// shortLicence is how many lines a comment must have to be left out: a line or two cost less than the word that they
	// are missing.
	shortLicence = 4
	// longLicence bounds it: what is longer is more than a licence.
	longLicence = 80
)

// licenceWords tell a licence from what a file says of itself.
var licenceWords = regexp.MustCompile(`(?i)\bcopyright\b|\blicen[sc]ed? (?:under|to)\b|permission is hereby granted|redistribution and use`)

// licenceOf is how many lines of a licence a file begins with, 0 for none: the comment at its very beginning. A model
// needs none of it, and it stands in every file.
func licenceOf(lines []string) int {
	if len(lines) == 0 {
		return 0
	}
	end := commentEnd(lines)
	if end < shortLicence || end > longLicence || !licenceWords.MatchString(strings.Join(lines[:end], "")) {
		return 0
	}
	return end
}

// commentEnd is how many lines the comment at the beginning has.
func commentEnd(lines []string) int {
	first := strings.TrimSpace(lines[0])
	for opening, closing := range map[string]string{"/*": "*/", "<!--": "-->", "{-": "-}", "(*": "*)"} {
		if !strings.HasPrefix(first, opening) {
			continue
		}
		for i, l := range lines[:min(len(lines), longLicence+1)] {
			if strings.Contains(l, closing) {
				return i + 1
			}
		}
		return 0
	}
	for _, mark := range []string{"//", "#", "--", ";", "%"} {
		if !strings.HasPrefix(first, mark) || strings.HasPrefix(first, "#!") {
			continue
		}
		n := 0
		for n < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n]), mark) {
			n++
		}
		return n
	}
	return 0
}
