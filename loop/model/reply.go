package model

import (
	"regexp"
	"strings"
)

// thinkTags are the pairs in which reasoning models without a separate field put their thoughts.
var thinkTags = []string{"think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad"}

// thinkOpen is a thought at the beginning of a reply, thinkMark Kimi's way to write one.
var (
	thinkOpen = regexp.MustCompile(`(?i)^\s*<(` + strings.Join(thinkTags, "|") + `)(?:\s[^>\n]*)?>`)
	thinkEnd  = regexp.MustCompile(`(?i)</(` + strings.Join(thinkTags, "|") + `)>`)
	thinkMark = strings.NewReplacer("◁think▷", "<think>", "◁/think▷", "</think>")
)

// finalMark begins what gpt-oss means to say, after channels of thought.
var finalMark = regexp.MustCompile(`<\|channel\|>final[^<\n]*<\|message\|>`)

// lastToken are the tokens with which templates end a reply, where a server leaves them in.
var lastToken = regexp.MustCompile(`\s*(?:<\|(?:im_end|eot_id|end|return|endoftext|end_of_text|eom_id)\|>|<｜end▁of▁sentence｜>|</s>|<end_of_turn>)\s*$`)

// stripThinking takes the thoughts off the beginning of a reply and the template's token off its
// end. A block that is never closed is all thought; a closing tag without an opening one, as some
// chat templates leave it, ends one.
func stripThinking(text string) string {
	text = thinkMark.Replace(lastToken.ReplaceAllString(text, ""))
	if marks := finalMark.FindAllStringIndex(text, -1); len(marks) > 0 {
		return strings.TrimSpace(text[marks[len(marks)-1][1]:])
	}
	for {
		open := thinkOpen.FindStringSubmatchIndex(text)
		if open == nil {
			break
		}
		tag, end := text[open[2]:open[3]], -1
		for _, m := range thinkEnd.FindAllStringSubmatchIndex(text, -1) {
			if strings.EqualFold(text[m[2]:m[3]], tag) {
				end = m[1]
				break
			}
		}
		if end < 0 {
			return ""
		}
		text = strings.TrimSpace(text[end:])
	}
	// Only before anything that could be the content of a file.
	if end := thinkEnd.FindStringSubmatchIndex(text); end != nil {
		before := text[:end[0]]
		if !strings.Contains(strings.ToLower(before), "<"+strings.ToLower(text[end[2]:end[3]])+">") &&
			!strings.Contains(before, "<<<<<") && !strings.Contains(before, "```") {
			return strings.TrimSpace(text[end[1]:])
		}
	}
	return text
}

// refuses matches the whole of a short reply in which a model declines.
var refuses = regexp.MustCompile(`(?i)^\s*(i'?m (really |very )?sorry|i am sorry|sorry|i apologi[sz]e|unfortunately)?[,.]?\s*(but )?(as an ai[^,]*, )?(i|we) (can'?t|cannot|can not|won'?t|am not able to|'?m not able to|am unable to|'?m unable to|must decline to) (help|assist|comply|fulfil|fulfill|continue|provide|do that|engage|support)`)

// maxRefusal is the longest reply, in bytes, that is taken for a refusal: a longer one has content.
const maxRefusal = 600

// isRefusal says whether a reply without calls does nothing but decline.
func isRefusal(text string) bool {
	text = strings.ReplaceAll(text, "’", "'")
	return len(text) <= maxRefusal && !strings.ContainsAny(text, "{`<") && refuses.MatchString(text)
}

// Bounds of the overlap that is looked for when a cut-off reply is continued: models repeat the
// last words or lines; less than minOverlap bytes is chance.
const (
	minOverlap = 12
	maxOverlap = 400
)

// join puts the continuation of a cut-off reply behind it, without what the model said twice.
func join(text, more string) string {
	for n := min(maxOverlap, len(text), len(more)); n >= minOverlap; n-- {
		if strings.HasSuffix(text, more[:n]) {
			return text + more[n:]
		}
	}
	return text + more
}
