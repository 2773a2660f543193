package guard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

var (
	// trivial matches assertions that cannot fail.
	trivial = regexp.MustCompile(`^\s*assert\s*\(?\s*(?:True|true|1|not False|"[^"]*"|'[^']*')\s*\)?\s*(?:,.*|#.*)?;?$|(?:\bassertTrue|\bassert_|\bassert!?|\bassertThat|\bisTrue|\bok|XCTAssert(?:True)?|ASSERT_TRUE|EXPECT_TRUE|\bCHECK|\bREQUIRE|\bTrue|\bIsTrue|\bassert_true|debug_assert!)\(\s*(?:t\s*,\s*|self\s*,\s*)?(?:true|True|1)\s*[,)]|(?:\bassertFalse|\bFalse|\bIsFalse|EXPECT_FALSE|ASSERT_FALSE)\(\s*(?:t\s*,\s*)?(?:false|False|0)\s*[,)]|\bor True\b|\|\|\s*true\s*[);]|^\s*assert \(.*,\s*["'][^"']*["']\s*\)\s*$`)
	// compared matches assertions that two sides are equal; both groups alike, they cannot fail either.
	compared = regexp.MustCompile(`^\s*assert\s+(\w+)\s*==\s*(\w+)\s*(?:,.*)?$|\bexpect\(\s*([^()]+?)\s*\)\.(?:to\.)?(?:be|equal|eql|eq|toBe|toEqual|toStrictEqual)\(\s*([^()]+?)\s*\)|\b(?:assert_?[eE]quals?|assert_eq!|assertSame|Equal|AreEqual|EXPECT_EQ|ASSERT_EQ|strictEqual|deepEqual)\(\s*(?:t\s*,\s*)?([^(),]+?)\s*,\s*([^(),]+?)\s*[,)]`)
	// tolerance matches assertions that allow a difference.
	tolerance = regexp.MustCompile(`(?i)\b(?:delta|atol|rtol|abs_tol|rel_tol|abs|rel|places|decimal|tol|tolerance|eps|epsilon|offset)\b\s*[=:]|InDelta|InEpsilon|toBeCloseTo|closeTo|isclose|approx|AlmostEqual|within|_NEAR\(`)
	// lax matches assertions that only ask whether there is something.
	lax = regexp.MustCompile(`\b(?:assertTrue|assertIsNotNone|assertNotNull|assertIsNotNull|toBeTruthy|toBeDefined|not\.toBeNull|not\.toThrow|NotNil|NotEmpty|NotNull|IsNotNull|assert_not_nil|be_truthy|exist|isNotNull|is_ok|is_some|EXPECT_TRUE|ASSERT_TRUE)\b|^\s*assert\s+[^=<>!]+$`)
	// vague matches expectations that anything meets.
	vague = regexp.MustCompile(`\bexpect\.any(?:thing)?\(|\bmock\.ANY\b|\b(?:gomock|mock)\.Any\w*\b|\bMatchers?\.any\w*\(|\bbe_(?:a|an|kind_of)\b`)
	// mocked matches what puts something else in the place of what a test calls.
	mocked = regexp.MustCompile(`\bmonkeypatch\.setattr\(|\bpatch(?:\.object|\.dict)?\(|\b(?:jest|vi)\.(?:mock|doMock|spyOn)\(|\bsinon\.(?:stub|replace)\(|\.mock(?:Return|Resolved|Implementation)\w*\(|\bMockito\.|\bdoReturn\(|\ballow\(.*\)\.to receive\b|\.stubs?\(`)
	// turned matches what makes an existing test want its own failure.
	turned = regexp.MustCompile(`#\[should_panic\b|@Test\(\s*expected\b|\[ExpectedException\b|@expectedException\b`)
	// opposites are words and signs that turn a check into its contrary.
	opposites = regexp.MustCompile(`[!=]==?|\bnot\b\s*|\bNot(\p{Lu})|\bnot_?|\.not\b|!|\b(?:True|False|true|false)\b|(?:True|False)\(`)
	// strict matches assertions that ask for a value.
	strict = regexp.MustCompile(`==|\b(?:assert_?[eE]quals?|assertIs|toBe|toEqual|toStrictEqual|toMatchObject|Equal|AreEqual|assert_eq|EXPECT_EQ|ASSERT_EQ|eq|strictEqual|deepEqual|isEqualTo|assertSame)\b`)
	// row matches a line of a table of cases.
	row = regexp.MustCompile(`^\s*(?:\w+:\s*)?[\[{(].*[\]})],?\s*(?:(?://|#).*)?$`)
	// wanted matches a line that holds what a test expects, outside of an assertion.
	wanted = regexp.MustCompile(`(?i)\b(?:want|expect|exp)\w*\b|[!=]=`)
	// caught matches what keeps a failed assertion from the test's result.
	caught = regexp.MustCompile(`^\s*except\s*(?:\(?\s*(?:AssertionError|Exception|BaseException)\b[^:]*)?:|\bcontextlib\.suppress\(\s*(?:AssertionError|Exception|BaseException)|\bcatch\s*(?:\([^)]*\))?\s*\{|^\s*rescue\b|\bcatch_unwind\(|\brecover\(\)`)
	// assertionError matches the errors that only a failed assertion has.
	assertionError = regexp.MustCompile(`\b(?:except\s*\(?|suppress\(|catch\s*\(|rescue\s+)\s*(?:\w+\s*,\s*)*(?:AssertionError|AssertionFailedError|Minitest::Assertion|ExpectationNotMetError|XunitException)\b`)
)

// cannotFail says whether an assertion holds whatever the code does.
func cannotFail(line string) bool {
	bare := blankStrings("", line) // a test of tools may speak of such assertions
	if trivial.MatchString(bare) {
		return true
	}
	m := compared.FindStringSubmatch(line)
	if m == nil || !compared.MatchString(bare) {
		return false
	}
	for i := 1; i+1 < len(m); i += 2 {
		if m[i] != "" && plainWord(m[i]) == plainWord(m[i+1]) {
			return true
		}
	}
	return false
}

// checkWeakened compares the tests that both trees have. A change of behaviour changes what tests expect, so this is
// for the reader's eye; only what can no longer fail is refused.
func checkWeakened(c *change) ([]loop.Finding, error) {
	tests, err := c.testChanges()
	if err != nil {
		return nil, err
	}
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		switch {
		case f.Op == loop.OpAdd || f.Binary:
		case goldenFile.MatchString(oldPath(f)):
			if lines := removed(f); len(lines) > 0 {
				findings = append(findings, loop.Finding{File: f.Path, Line: lines[0].Old, Message: "what a test expects is rewritten in " + f.Path})
			}
		case holdsTests(f.Path):
			findings = append(findings, flips(tests, f)...)
			findings = append(findings, catches(tests, f)...)
		}
	}
	for _, p := range tests.kept {
		if p.before.body == p.after.body {
			continue
		}
		before, after := countAsserts(p.before.body), countAsserts(p.after.body)
		line, vain := vainLine(p)
		switch {
		case vain && (before > 0 && realAsserts(p.after.body) == 0 || realAsserts(p.after.body) < realAsserts(p.before.body)):
			findings = append(findings, loop.Finding{File: p.after.file, Line: line, Severity: loop.SeverityBlock, Message: fmt.Sprintf("the test %q checks with an assertion that cannot fail where it had a real one", quote(p.after.name))})
		case vain:
			findings = append(findings, loop.Finding{File: p.after.file, Line: line, Message: fmt.Sprintf("the test %q has an assertion that cannot fail", quote(p.after.name))})
		case before > 0 && after == 0 && !strings.Contains(p.after.body, "("):
			findings = append(findings, loop.Finding{File: p.after.file, Line: p.after.start, Severity: loop.SeverityBlock, Message: fmt.Sprintf("the test %q does nothing any more", quote(p.after.name))})
		case after < before:
			findings = append(findings, loop.Finding{File: p.after.file, Line: p.after.start, Message: fmt.Sprintf("the test %q checks less than before: %d assertion(s), it had %d", quote(p.after.name), after, before)})
		}
	}
	for _, t := range tests.fresh {
		if line, vain := vainLine(testPair{testCase{}, t}); vain {
			findings = append(findings, loop.Finding{File: t.file, Line: line, Message: fmt.Sprintf("the new test %q has an assertion that cannot fail", quote(t.name))})
		}
	}
	return findings, nil
}

// vainLine returns the line of an assertion that cannot fail and that the test did not have before.
func vainLine(p testPair) (int, bool) {
	for i, line := range strings.Split(p.after.body, "\n") {
		if cannotFail(line) && !strings.Contains(p.before.body, trim(line)) {
			return p.after.start + 1 + i, true
		}
	}
	return 0, false
}

// realAsserts counts the assertions of a body that can fail.
func realAsserts(body string) int {
	n := 0
	for line := range strings.SplitSeq(body, "\n") {
		if asserts(line) && !cannotFail(line) {
			n++
		}
	}
	return n
}

// flips finds the removed and added lines that differ in their literals alone, and strict assertions that became lax.
func flips(tests *testChange, f loop.FileDiff) []loop.Finding {
	var findings []loop.Finding
	for i := 0; i < len(f.Lines); {
		var old, now []loop.DiffLine
		for ; i < len(f.Lines) && f.Lines[i].Op == loop.LineRemoved; i++ {
			old = append(old, f.Lines[i])
		}
		for ; i < len(f.Lines) && f.Lines[i].Op == loop.LineAdded; i++ {
			now = append(now, f.Lines[i])
		}
		if len(old) == 0 && len(now) == 0 {
			i++
			continue
		}
		for _, o := range old {
			at := slices.IndexFunc(now, func(n loop.DiffLine) bool { return mask(n.Text) == mask(o.Text) })
			if at < 0 {
				if at = contrary(o, now); at >= 0 && tests.keptAt(f.Path, now[at].New) {
					findings = append(findings, loop.Finding{File: f.Path, Line: now[at].New, Message: fmt.Sprintf("a check of an existing test is turned round: %s → %s", quote(o.Text), quote(now[at].Text))})
					continue
				}
				if at = softened(o, now); at < 0 {
					continue
				}
				findings = append(findings, loop.Finding{File: f.Path, Line: now[at].New, Message: fmt.Sprintf("an assertion asks for less: %s → %s", quote(o.Text), quote(now[at].Text))})
				continue
			}
			n := now[at]
			now = slices.Delete(now, at, at+1)
			from, to := literals(o.Text), literals(n.Text)
			if slices.Equal(from, to) || !asserts(o.Text) && !wanted.MatchString(o.Text) && !row.MatchString(o.Text) || !tests.keptAt(f.Path, n.New) && !row.MatchString(o.Text) {
				continue
			}
			what := "what an existing test expects or is given is changed"
			if tolerance.MatchString(o.Text) {
				what = "an existing assertion allows another difference"
			}
			findings = append(findings, loop.Finding{File: f.Path, Line: n.New, Message: fmt.Sprintf("%s: %s → %s", what, quote(o.Text), quote(n.Text))})
		}
	}
	return findings
}

// softened returns the index of a lax assertion about what a strict one was about, -1 for none.
func softened(o loop.DiffLine, now []loop.DiffLine) int {
	if !asserts(o.Text) || !strict.MatchString(o.Text) || lax.MatchString(o.Text) && !strings.Contains(o.Text, "==") {
		return -1
	}
	return slices.IndexFunc(now, func(n loop.DiffLine) bool {
		if vague.MatchString(n.Text) && !vague.MatchString(o.Text) {
			return asserts(n.Text) && share(words(o.Text), words(n.Text)) >= softenedShare
		}
		return asserts(n.Text) && lax.MatchString(n.Text) && !strict.MatchString(n.Text) && share(words(n.Text), words(o.Text)) >= softenedShare
	})
}

// contrary returns the index of a line that differs from a check in what turns it round alone, -1 for none.
func contrary(o loop.DiffLine, now []loop.DiffLine) int {
	if !asserts(o.Text) && !wanted.MatchString(o.Text) {
		return -1
	}
	bare := func(text string) string { return trim(opposites.ReplaceAllString(text, "")) }
	return slices.IndexFunc(now, func(n loop.DiffLine) bool {
		return trim(n.Text) != trim(o.Text) && bare(n.Text) == bare(o.Text)
	})
}

// softenedShare is how much of a lax assertion must stand in the strict one for both to speak of the same thing.
const softenedShare = 0.5

// catches finds handlers that were put around what an existing test does.
func catches(tests *testChange, f loop.FileDiff) []loop.Finding {
	var findings []loop.Finding
	for _, l := range added(f) {
		if !isCode(f.Path, l.Text) || moved(f, l.Text) {
			continue
		}
		if turned.MatchString(l.Text) && tests.keptBelow(f.Path, l.New) {
			findings = append(findings, loop.Finding{File: f.Path, Line: l.New, Message: "an existing test is now expected to fail: " + quote(l.Text)})
			continue
		}
		if !tests.keptAt(f.Path, l.New) {
			continue
		}
		if mocked.MatchString(l.Text) {
			findings = append(findings, loop.Finding{File: f.Path, Line: l.New, Message: "an existing test now replaces a part of what it calls: " + quote(l.Text)})
			continue
		}
		finding := loop.Finding{File: f.Path, Line: l.New, Message: "an existing test now catches what may be its own failure: " + quote(l.Text)}
		switch {
		case assertionError.MatchString(l.Text):
			finding.Severity = loop.SeverityBlock
		case !caught.MatchString(l.Text):
			continue
		}
		findings = append(findings, finding)
	}
	return findings
}
