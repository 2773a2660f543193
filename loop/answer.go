package loop

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// asked are the questions that are put to people together.
func asked(s Snapshot) []Question {
	switch {
	case s.Question == nil:
		return nil
	case s.Spec != nil && len(s.Spec.Questions) > 0 && s.Plan == nil:
		return s.Spec.Questions
	default:
		return []Question{*s.Question}
	}
}

// choiceNumber matches an answer that is the number of a choice and nothing else.
var choiceNumber = regexp.MustCompile(`^(?:#|option |choice )?\(?(\d{1,2})[.)]*$`)

// ChosenAnswer is an answer in words: where one question was asked and the answer is the number of one of
// its choices, the choice itself, since whoever reads the answer later does not see the list.
func ChosenAnswer(s Snapshot, text string) string {
	questions := asked(s)
	m := choiceNumber.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if len(questions) != 1 || m == nil {
		return text
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n < 1 || n > len(questions[0].Choices) {
		return text
	}
	return fmt.Sprintf("%s (to the question: %s)", questions[0].Choices[n-1], questions[0].Text)
}
