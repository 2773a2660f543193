package guard

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// pair matches an entry of a map from one literal to another.
const pair = "(?:\"[^\"]*\"|'[^']*'|\\b\\d+)\\s*:\\s*(?:\"[^\"]*\"|'[^']*'|-?\\d+)"

var (
	// branch matches a comparison with a literal, by which a function could recognise a test's input.
	branch = regexp.MustCompile("(?:^|[\\s({])(?:if|elif|elsif|unless|when|while|return)\\b.*(?:===?|\\.equals\\(|\\.eql\\?|\\beq\\b|\\bis\\b)|^\\s*case\\s+[^:]+(?::|=>|->)|\\?.*:|^\\s*(?:[\"'`][^\"'`]*[\"'`]|-?\\d+(?:\\.\\d+)?)\\s*=>|" + pair)
	// giving matches what a branch gives back.
	giving = regexp.MustCompile(`\b(?:return|yield|then)\b|=>|->|\?.*:|^\s*\w+\s*=\s|` + pair)
	// constantReturn matches a function's result that depends on nothing.
	constantReturn = regexp.MustCompile("^\\s*return\\s+(\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`|-?\\d+(?:\\.\\d+)?)\\s*(?:,\\s*nil)?\\s*;?\\s*$")
	plainReturn    = regexp.MustCompile(`^\s*return\b`)
)

// commonLiterals are values that any code returns for any reason.
var commonLiterals = map[string]bool{
	`""`: true, "0": true, "1": true, "-1": true, "true": true, "false": true, "True": true, "False": true,
	"nil": true, "null": true, "None": true, "undefined": true, "Nothing": true, "0.0": true, "1.0": true,
}

// reach is how many lines below a comparison its result is looked for.
const reach = 3

// checkHardCoded finds new source that compares with one literal of a test of the change, or of a failing one, and gives
// another literal of the same test back; and functions that computed something and return such a literal now.
func checkHardCoded(c *change) ([]loop.Finding, error) {
	findings := askingForTests(c)
	sets, err := c.testLiterals()
	if err != nil || len(sets) == 0 {
		return findings, err
	}
	for _, f := range c.Diff.Files {
		if isTest(f.Path) || f.Op == loop.OpDelete || isLockfile(f.Path) || !knowsTests(f.Path) {
			continue
		}
		lines := added(f)
		for i, l := range lines {
			if !isCode(f.Path, l.Text) || strings.HasPrefix(trim(l.Text), "#[") {
				continue
			}
			input, output, found := "", "", false
			if branch.MatchString(l.Text) {
				input, output, found = recognises(lines, i, sets)
			}
			if !found {
				output, found = constant(f, l, sets)
			}
			if !found {
				continue
			}
			message := fmt.Sprintf("returns %s for %s: both are literals of a test of this change; it must hold for every input", quote(output), quote(input))
			if input == "" {
				message = fmt.Sprintf("returns %s, which a test of this change expects, whatever the input", quote(output))
			}
			findings = append(findings, loop.Finding{File: f.Path, Line: l.New, Message: message})
		}
	}
	return findings, nil
}

// recognises says whether a branch compares with a literal of a test and gives another of the same test back.
func recognises(lines []loop.DiffLine, i int, sets []map[string]bool) (input, output string, found bool) {
	in := literals(lines[i].Text)
	var out []string
	if giving.MatchString(lines[i].Text) && len(in) > 1 {
		in, out = in[:1], in[len(in)-1:]
	}
	for j := i + 1; j < len(lines) && j <= i+reach && lines[j].New == lines[i].New+j-i; j++ {
		if branch.MatchString(lines[j].Text) && !plainReturn.MatchString(lines[j].Text) || indent(lines[j].Text) < indent(lines[i].Text) {
			break
		}
		if giving.MatchString(lines[j].Text) {
			out = append(out, literals(lines[j].Text)...)
			break
		}
	}
	for _, set := range sets {
		for _, a := range in {
			for _, b := range out {
				if a != b && set[a] && set[b] && !commonLiterals[a] && !commonLiterals[b] {
					return a, b, true
				}
			}
		}
	}
	return "", "", false
}

// constant says whether a computed result became a literal of a test.
func constant(f loop.FileDiff, l loop.DiffLine, sets []map[string]bool) (string, bool) {
	m := constantReturn.FindStringSubmatch(l.Text)
	if m == nil || commonLiterals[plainWord(m[1])] {
		return "", false
	}
	computed := false
	for _, o := range removed(f) {
		beside := o.Old-l.New < reach*reach && l.New-o.Old < reach*reach
		computed = computed || beside && plainReturn.MatchString(o.Text) && mask(o.Text) != mask(l.Text) && !constantReturn.MatchString(o.Text)
	}
	for _, set := range sets {
		if computed && set[plainWord(m[1])] {
			return m[1], true
		}
	}
	return "", false
}

// testLiterals returns the literals that stand close together in a test that is new or changed, and of each failure on the base.
func (c *change) testLiterals() ([]map[string]bool, error) {
	tests, err := c.testChanges()
	if err != nil {
		return nil, err
	}
	var sets []map[string]bool
	add := func(texts ...string) {
		set := map[string]bool{}
		for _, text := range texts {
			for _, l := range literals(text) {
				set[l] = true
				// A negative number may be written with a unary minus that belongs to an operator.
				set[strings.TrimPrefix(l, "-")] = true
			}
		}
		if len(set) > 1 {
			sets = append(sets, set)
		}
	}
	for _, t := range tests.fresh {
		addNear(t.body, add)
	}
	for _, p := range tests.kept {
		if p.before.body != p.after.body {
			addNear(p.after.body, add)
		}
	}
	if c.Base != nil {
		for _, f := range c.Base.Verdict.Failures() {
			text, err := c.failingTest(f)
			if err != nil {
				return nil, err
			}
			add(text, f.Message, f.Expected)
		}
	}
	return sets, nil
}

// near is how many lines of a test speak of one input and its result. A long table holds unrelated literals.
const near = 3

// addNear adds the literals of each few lines of a test.
func addNear(body string, add func(...string)) {
	lines := strings.Split(body, "\n")
	add(lines[:min(near, len(lines))]...)
	for i := 1; i+near <= len(lines); i++ {
		add(lines[i : i+near]...)
	}
}

// failingTest returns the test in which a failure of the base lies, "" where it cannot be found.
func (c *change) failingTest(f loop.Failure) (string, error) {
	if f.File == "" || !isTest(f.File) {
		return "", nil
	}
	text, err := read(c.ctx, c.BaseTree, c.base, f.File)
	if err != nil {
		return "", err
	}
	for _, t := range testsIn(f.File, text) {
		if f.Line >= t.start && f.Line <= t.end || f.Line == 0 && idNames(f.ID, t.name) {
			return t.body, nil
		}
	}
	return "", nil
}
