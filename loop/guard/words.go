package guard

import (
	"regexp"
	"strings"
)

// wordExpr matches what a test is made of: names, strings and numbers.
var wordExpr = regexp.MustCompile("\"(?:[^\"\\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\\n]|\\\\.)*'|`[^`]*`|[A-Za-z_]\\w*|\\d+(?:\\.\\d+)?")

// literalExpr matches strings and numbers.
var literalExpr = regexp.MustCompile("\"(?:[^\"\\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\\n]|\\\\.)*'|`[^`\\n]*`|-?\\b\\d[\\d_]*(?:\\.\\d+)?(?:[eE][-+]?\\d+)?\\b|\\b(?:[Tt]rue|[Ff]alse|nil|null|None|undefined|Nothing)\\b")

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range wordExpr.FindAllString(text, -1) {
		set[plainWord(w)] = true
	}
	return set
}

// plainWord makes the quotes of a literal alike.
func plainWord(w string) string {
	if w != "" && strings.ContainsRune("\"'`", rune(w[0])) {
		return `"` + strings.Trim(w, "\"'`") + `"`
	}
	return w
}

// share is how much of a lies in b, from 0 to 1.
func share(a, b map[string]bool) float64 {
	if len(a) == 0 {
		return 0
	}
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

// alike is the share of their words that two bodies have in common, from 0 to 1.
func alike(a, b string) float64 {
	x, y := words(a), words(b)
	return min(share(x, y), share(y, x))
}

// literals lists the strings and numbers of a text, with quotes made alike.
func literals(text string) []string {
	var list []string
	for _, l := range literalExpr.FindAllString(text, -1) {
		list = append(list, plainWord(l))
	}
	return list
}

// mask replaces literals, so that two lines can be compared without them.
func mask(line string) string {
	return strings.Join(strings.Fields(literalExpr.ReplaceAllString(line, "§")), " ")
}

// assertion matches lines that check something in a test.
var assertion = regexp.MustCompile(`\b(?:assert\w*|expect\w*|EXPECT_\w+|ASSERT_\w+|XCTAssert\w*|REQUIRE\w*|CHECK\w*|BOOST_(?:CHECK|REQUIRE|TEST)\w*|must\w*|refute\w*|should)\b\s*[!.( ]|\b(?:require|is|check|verify|chai|t)\.\w+\(|\.(?:should|must|Should)\b|\.(?:Errorf?|Fatalf?|Fail|FailNow)\(|\bverify\(|\bpytest\.raises|\bfail\(`)

// notAssertion matches lines that look like an assertion and check nothing.
var notAssertion = regexp.MustCompile(`\bt\.(?:Run|Helper|Parallel|Cleanup|Log|Logf|Setenv|TempDir|Context|Name|Skip|Skipf|SkipNow|plan|end|teardown|Chdir)\(|^\s*(?:import|from|use|using|require)\s|\brequire\(['"]|^\s*(?:#|//|\*)|^\s*(?:"[^"]*"|'[^']*')\s*;?\s*$`)

// asserts says whether a line checks something.
func asserts(line string) bool {
	return assertion.MatchString(line) && !notAssertion.MatchString(line)
}

// countAsserts counts the lines of a body that check something.
func countAsserts(body string) int {
	n := 0
	for line := range strings.SplitSeq(body, "\n") {
		if asserts(line) {
			n++
		}
	}
	return n
}
