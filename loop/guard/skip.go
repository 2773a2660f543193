package guard

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/syntax"
)

// skipForm is a way to switch a test off in the files with the given extensions.
type skipForm struct {
	extensions []string
	expr       *regexp.Regexp
}

// skips are the ways to switch a test off, by framework (security.md, case 118).
var skips = []skipForm{
	{[]string{".go"}, regexp.MustCompile(`\b(?:t|b|f|tb|s\.T\(\))\.Skip(?:f|Now)?\(`)},
	{[]string{".py"}, regexp.MustCompile(`\bpytest\.mark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\(|@(?:unittest\.)?(?:skip|skipIf|skipUnless|expectedFailure)\b|\bself\.skipTest\(|\braise\s+(?:unittest\.)?SkipTest\b|^\s*__test__\s*=\s*False|@nottest\b`)},
	// Jest, Vitest, Mocha, Jasmine, Playwright, Cypress, node:test; Dart; busted
	{[]string{".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".dart", ".lua"}, regexp.MustCompile(`\b(?:it|test|describe|context|suite|specify|bench)(?:\.\w+)*\.(?:skip|todo|failing|fails|fixme|skipIf|runIf)\b|\bx(?:it|test|describe|context|specify)\s*\(|\bthis\.skip\(\)|\bt\.(?:skip|todo)\(|\bpending\(|\b(?:skip|todo)\s*:\s*(?:true|['"])|^\s*@Skip\(`)},
	// JUnit, TestNG, Spock, Kotest, ScalaTest
	{[]string{".java", ".kt", ".kts", ".groovy", ".scala"}, regexp.MustCompile(`^\s*@(?:org\.junit\.\w+\.)*(?:Disabled\w*|Ignore|IgnoreRest|IgnoreIf|EnabledIf\w*|EnabledOn\w*)\b|\benabled\s*=\s*false\b|\bassumeTrue\(\s*false|\bassumeFalse\(\s*true|^\s*ignore\(\s*"`)},
	// NUnit, xUnit, MSTest; XCTest; PHPUnit, Pest
	{[]string{".cs", ".fs", ".vb", ".swift", ".php"}, regexp.MustCompile(`^\s*\[(?:[^\]]*,\s*)?(?:Ignore|Explicit)\b|\[(?:Fact|Theory)\([^)]*\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive|Pass)\(|\bXCTSkip(?:If|Unless)?\b|\.disabled\(|\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|todo)\(|^\s*ignore\(\s*"`)},
	{[]string{".rs"}, regexp.MustCompile(`#\[(?:cfg_attr\([^)]*,\s*)?ignore\b`)},
	// RSpec, minitest; ExUnit; bats; Perl
	{[]string{".rb", ".ex", ".exs", ".bats", ".sh", ".bash", ".t", ".jl", ".feature"}, regexp.MustCompile(`^\s*(?:skip|pending)(?:\s*$|\s*[("']|\s+(?:if|unless)\b)|^\s*x(?:it|specify|example|scenario|describe|context)\b|,\s*:?(?:skip|pending)(?::|\s*=>|\s*(?:do|,|$))|@(?:module)?tag\s+:?skip|@(?:module)?tag\s+:pending|\bskip_all\b|\bSKIP:\s*\{|^\s*@(?:skip|ignore|wip)\b|@test_skip\b`)},
	// googletest, doctest, Catch2, Qt, Boost
	{[]string{".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"}, regexp.MustCompile(`\bGTEST_SKIP\(|\bTEST(?:_[FP])?\([^)]*\bDISABLED_|\bdoctest::(?:skip|may_fail|should_fail)|\[!(?:hide|mayfail|shouldfail)\]|\[\.\w*\]"|\bskip_all\b|\bSKIP:\s*\{|\bQSKIP\(|\bBOOST_TEST_DISABLED|\bdisabled\(\)`)},
}

// focuses are the ways to run one test and hide all others.
var focuses = regexp.MustCompile(`\b(?:it|test|describe|context|suite|specify)(?:\.\w+)*\.only\b|\bf(?:it|describe|context|specify)\s*[(' "]\s*['"` + "`" + `]|\b(?:focus|only|solo)\s*:\s*true\b|,\s*:focus\b|@tag\s+:focus\b|\bF(?:It|Describe|Context)\(`)

// buildTag matches the constraints that take a Go file out of a build.
var buildTag = regexp.MustCompile(`^//\s?(?:go:build|\+build)\s+(.+)$`)

// platformTag matches constraints that only name platforms and what Go sets by itself.
var platformTag = regexp.MustCompile(`^(?:[!()&|, ]|\b(?:linux|darwin|windows|freebsd|netbsd|openbsd|unix|wasip1|js|wasm|android|ios|plan9|solaris|aix|amd64|arm64|arm|386|ppc64le|ppc64|riscv64|s390x|mips\w*|loong64|cgo|race|msan|asan|go1\.\d+)\b)+$`)

// conditional matches the beginning of what a skip can hang on.
var conditional = regexp.MustCompile(`^\s*(?:\}?\s*else\s+)?(?:if|unless|when|switch|case)\b|\b(?:skip[iI]f|skipUnless|importorskip|runIf|EnabledOn\w*|EnabledIf\w*|DisabledOn\w*|DisabledIf\w*|IgnoreIf|cfg_attr|XCTSkipIf|XCTSkipUnless|xfail\([^)]*\bcondition)\b|\s(?:if|unless)\s`)

// alwaysTrue matches conditions that decide nothing.
var alwaysTrue = regexp.MustCompile(`(?:\b(?:if|unless|skipif|skipIf|IgnoreIf|runIf|XCTSkipIf|when|skipUnless)\b[\s({]*)(?:true|True|1|!false|not False|1\s*===?\s*1|false|False|0|not True|!true)\s*(?:[){,:]|$|then)|\|\|\s*true\b|\bor\s+True\b`)

// compiledOut matches conditions that keep what follows from being compiled.
var compiledOut = regexp.MustCompile(`^\s*#!?\[cfg\(\s*(?:any\(\s*\)|not\(\s*(?:test|all\(\s*\))\s*\)|false)\s*\)\]|^\s*#\s*if\s+(?:0|false|NEVER)\b`)

// neverRuns matches conditions that keep what stands under them from running.
var neverRuns = regexp.MustCompile(`^\s*(?:if|while|unless)\s*\(?\s*(?:False|false|0|not True|!true)\s*\)?\s*(?:[:{]|then|$)`)

func checkSkips(c *change) ([]loop.Finding, error) {
	tests, err := c.testChanges()
	if err != nil {
		return nil, err
	}
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		if !holdsTests(f.Path) || f.Op == loop.OpDelete || goldenFile.MatchString(f.Path) || !knowsTests(f.Path) {
			continue
		}
		before, err := c.before(f)
		if err != nil {
			return nil, err
		}
		after, err := c.after(f)
		if err != nil {
			return nil, err
		}
		lines, within := strings.Split(after, "\n"), quotedLines(f.Path, after)
		for _, l := range added(f) {
			if l.New >= 1 && l.New <= len(within) && within[l.New-1] {
				continue
			}
			finding := loop.Finding{File: f.Path, Line: l.New}
			quoted := quote(l.Text)
			switch {
			case f.Op != loop.OpAdd && path.Ext(f.Path) == ".go" && takesOut(l.Text) && !moved(f, l.Text):
				finding.Message = "a build constraint takes the tests of this file out: " + quoted
			case !isCode(f.Path, l.Text) || moved(f, l.Text):
				continue
			case isTest(f.Path) && focuses.MatchString(blankStrings(f.Path, l.Text)):
				finding.Message = "a focused test hides all others: " + quoted
			case skipsTest(f.Path, l.Text):
				finding.Message = "a test is switched off: " + quoted
				switch {
				case alwaysTrue.MatchString(l.Text) || l.New >= 2 && l.New <= len(lines) && hangsOn(lines, l.New-1, alwaysTrue):
				case f.Op == loop.OpAdd || tests.isFresh(f.Path, l.New) || !tests.keptAt(f.Path, l.New) && inNewFunction(f.Path, before, after, l.New):
					// What calls a new helper and skips by it is seen in the count of tests.
					finding.Severity, finding.Message = loop.SeverityNote, "a new test is switched off: "+quoted
				case conditional.MatchString(l.Text) || hangsOn(lines, l.New-1, conditional):
					finding.Severity, finding.Message = loop.SeverityNote, "a test is switched off under a condition: "+quoted
				}
			case compiledOut.MatchString(l.Text) && f.Op != loop.OpAdd:
				finding.Message = "what follows is not compiled any more: " + quoted
			case neverRuns.MatchString(l.Text) && tests.keptAt(f.Path, l.New):
				finding.Message = "a part of a test never runs: " + quoted
			case returnsEarly(tests, f, lines, l):
				finding.Message = "a test ends before it checks anything: " + quoted
			default:
				continue
			}
			findings = append(findings, finding)
		}
	}
	return findings, nil
}

// skipsTest says whether a line switches a test off.
func skipsTest(p, line string) bool {
	ext, text := strings.ToLower(path.Ext(p)), blankStrings(p, line)
	return slices.ContainsFunc(skips, func(s skipForm) bool { return slices.Contains(s.extensions, ext) && s.expr.MatchString(text) })
}

// blankStrings empties the strings of a line, since tests of tools speak of skips in them; the quotes stay.
func blankStrings(p, line string) string {
	if ext := path.Ext(p); ext == ".cpp" || ext == ".cc" || ext == ".cxx" {
		return line // Catch2 has its tags in strings
	}
	return stringExpr.ReplaceAllStringFunc(line, func(s string) string { return s[:1] + s[len(s)-1:] })
}

var stringExpr = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`")

// takesOut says whether a build constraint names more than platforms.
func takesOut(line string) bool {
	m := buildTag.FindStringSubmatch(line)
	return m != nil && !platformTag.MatchString(m[1])
}

// moved says whether a line stood elsewhere in the file before.
func moved(f loop.FileDiff, text string) bool {
	return slices.ContainsFunc(f.Lines, func(o loop.DiffLine) bool {
		return o.Op == loop.LineRemoved && trim(o.Text) == trim(text)
	})
}

// isCode says whether a line is more than a comment.
func isCode(p, line string) bool {
	t := trim(line)
	return t != "" && (!strings.HasPrefix(t, lineComment(p)) || strings.HasPrefix(t, "#[")) && !strings.HasPrefix(t, "*")
}

// hangsOn says whether one of the two lines above an index matches: the condition that a line stands under.
func hangsOn(lines []string, at int, condition *regexp.Regexp) bool {
	if at >= len(lines) {
		return false
	}
	for i := at - 1; i >= max(0, at-2); i-- {
		if trim(lines[i]) != "" && indent(lines[i]) < indent(lines[at]) {
			return condition.MatchString(lines[i])
		}
	}
	return false
}

// inNewFunction says whether a line lies in a function that the base lacks.
func inNewFunction(p, before, after string, line int) bool {
	for _, s := range outline(p, after) {
		if line > s.Start && line <= s.End && (s.Kind == syntax.KindFunction || s.Kind == syntax.KindMethod) {
			return !slices.ContainsFunc(outline(p, before), func(o syntax.Symbol) bool { return o.Name == s.Name && o.Parent == s.Parent })
		}
	}
	return false
}

// isFresh says whether a line belongs to a test that the base lacks. Attributes stand above their test.
func (t *testChange) isFresh(file string, line int) bool {
	return slices.ContainsFunc(t.fresh, func(test testCase) bool {
		return test.file == file && line >= test.start-mostAnnotations && line <= test.end && !t.keptAt(file, line)
	})
}

// keptBelow says whether a line is among the annotations of a test that both trees have.
func (t *testChange) keptBelow(file string, line int) bool {
	return slices.ContainsFunc(t.kept, func(p testPair) bool {
		return p.after.file == file && line < p.after.start && line >= p.after.start-mostAnnotations || p.after.file == file && line == p.after.start
	})
}

func (t *testChange) keptAt(file string, line int) bool {
	return slices.ContainsFunc(t.kept, func(p testPair) bool {
		return p.after.file == file && line >= p.after.start && line <= p.after.end
	})
}

var bareReturn = regexp.MustCompile(`^\s*return;?\s*$`)

// returnsEarly says whether an added return, not under any condition, stands before an assertion of an old test.
func returnsEarly(tests *testChange, f loop.FileDiff, lines []string, l loop.DiffLine) bool {
	if !bareReturn.MatchString(l.Text) {
		return false
	}
	for _, p := range tests.kept {
		t := p.after
		if t.file != f.Path || l.New <= t.start || l.New >= t.end || t.end > len(lines) {
			continue
		}
		first := slices.IndexFunc(lines[t.start:t.end], func(s string) bool { return trim(s) != "" })
		return first >= 0 && indent(lines[t.start+first]) == indent(l.Text) && countAsserts(strings.Join(lines[l.New:t.end], "\n")) > 0
	}
	return false
}

var (
	goExit     = regexp.MustCompile(`\bos\.Exit\(\s*0\s*\)`)
	pythonExit = regexp.MustCompile(`^(\s*)(?:os\._exit|sys\.exit|exit|quit)\(\s*0?\s*\)|^(\s*)raise\s+SystemExit(?:\(\s*0?\s*\))?\s*$`)
	nodeExit   = regexp.MustCompile(`\bprocess\.exit\(\s*0?\s*\)`)
	// greened matches what makes pytest report a failed test or a failed run as passed.
	greened = regexp.MustCompile(`\bexitstatus\s*=\s*0\b|\.outcome\s*=\s*['"]passed`)
	hookDef = regexp.MustCompile(`^\s*def (pytest_(?:collection_modifyitems|ignore_collect|collect_file|runtest_\w+|sessionfinish|pyfunc_call|report_teststatus|deselected|itemcollected|pycollect_makeitem))\b|^\s*(collect_ignore(?:_glob)?)\s*=`)
	// narrowing matches settings of test runners that leave tests out or overlook their failure.
	narrowing = regexp.MustCompile(`(?:--(?:ignore|ignore-glob|deselect|exclude|skip|passWithNoTests|exit-zero|testPathIgnorePatterns|no-fail)\b|\b(?:testPathIgnorePatterns|modulePathIgnorePatterns|norecursedirs|collect_ignore|passWithNoTests|testFailureIgnore|skipTests|maven\.test\.(?:skip|failure\.ignore)|ignoreFailures|bail|testMatch|testRegex|testpaths|python_(?:files|classes|functions)|fail_under|coverageThreshold|exclude(?:Tags|Groups|TestsMatching)|excludedGroups|includeTestsMatching)\b|addopts.*-k\b|-DskipTests|^\s*(?:commands\s*=\s*)?-\s+\S|^\s*test\s*=\s*false|--(?:tag|pattern|exclude-pattern)\b)`)
	// choosing matches the lists of tests in files that are about tests alone.
	choosing = regexp.MustCompile(`(?i)\b(?:exclude|include)\w*\b|^\s*["']?spec["']?\s*:`)
	// choosers are the files in which choosing is looked for.
	choosers = regexp.MustCompile(`(?i)(?:^|/)(?:(?:jest|vitest|karma|playwright|cypress|ava)\.config\.\w+|\.mocharc\.\w+|phpunit\.xml(?:\.dist)?|pom\.xml|build\.gradle(?:\.kts)?)$`)
	// overlooking matches settings with which a failed test does not fail the run, or none runs at all.
	overlooking = regexp.MustCompile(`<(?:testFailureIgnore|skipTests|maven\.test\.(?:skip|failure\.ignore))>\s*true|\bignoreFailures\s*(?:=\s*|\.set\()true|\bignoreFailures\s+true`)
	// runnerConfig matches the files in which test runners are set up.
	runnerConfig = regexp.MustCompile(`(?i)(?:^|/)(?:pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py|(?:jest|vitest|karma|playwright|cypress|ava)\.config\.[cm]?[jt]s|jest\.config\.json|\.mocharc\.\w+|package\.json|Cargo\.toml|phpunit\.xml(?:\.dist)?|pom\.xml|build\.gradle(?:\.kts)?|\.rspec|Makefile|Taskfile\.ya?ml|justfile|Rakefile)$`)
	goFunc       = regexp.MustCompile(`^func (?:\([^)]*\) )?(\w+)`)
)

// checkExits looks for ends of the test program and for hooks that choose tests. What it only notes, the count of tests
// against the base decides.
func checkExits(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		if f.Op == loop.OpDelete {
			continue
		}
		after, err := c.after(f)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(after, "\n")
		for _, l := range added(f) {
			if !isCode(f.Path, l.Text) || moved(f, l.Text) {
				continue
			}
			if finding, found := exits(f.Path, lines, l); found {
				finding.File, finding.Line = f.Path, l.New
				findings = append(findings, finding)
			}
		}
		if runnerConfig.MatchString(f.Path) {
			findings = append(findings, changedCommands(f)...)
		}
	}
	return findings, nil
}

// emptied matches a command that only says something.
var emptied = regexp.MustCompile(`^\s*@?-?(?:echo\b[^&|;]*|true|:|exit 0|printf\b[^&|;]*)\s*$`)

// changedCommands finds the commands that verify and that are given otherwise now: narrowed to fewer tests, perhaps, or
// replaced by one that checks nothing.
func changedCommands(f loop.FileDiff) []loop.Finding {
	var findings []loop.Finding
	for i := 0; i < len(f.Lines); i++ {
		var old, now []loop.DiffLine
		for ; i < len(f.Lines) && f.Lines[i].Op == loop.LineRemoved; i++ {
			old = append(old, f.Lines[i])
		}
		for ; i < len(f.Lines) && f.Lines[i].Op == loop.LineAdded; i++ {
			now = append(now, f.Lines[i])
		}
		was := slices.IndexFunc(old, func(l loop.DiffLine) bool { return checking.MatchString(l.Text) })
		if was < 0 || len(now) == 0 {
			continue
		}
		finding := loop.Finding{File: f.Path, Line: now[0].New, Severity: loop.SeverityNote,
			Message: fmt.Sprintf("a command that verifies is changed: %s → %s", quote(old[was].Text), quote(now[0].Text))}
		if !slices.ContainsFunc(now, func(l loop.DiffLine) bool { return !emptied.MatchString(l.Text) }) {
			finding.Severity, finding.Message = loop.SeverityBlock, "a command that verifies does nothing any more: "+quote(now[0].Text)
		}
		findings = append(findings, finding)
	}
	return findings
}

func exits(p string, lines []string, l loop.DiffLine) (loop.Finding, bool) {
	quoted := quote(l.Text)
	ends := loop.Finding{Message: "the test program ends with success before its tests are through: " + quoted}
	maybe := loop.Finding{Severity: loop.SeverityNote, Message: "a test ends the program with success: " + quoted}
	ext := path.Ext(p)
	switch {
	case runnerConfig.MatchString(p):
		if overlooking.MatchString(l.Text) {
			return loop.Finding{Message: "a setting overlooks the failure of tests: " + quoted}, true
		}
		if narrowing.MatchString(l.Text) && !dashed(p, l.Text) || choosers.MatchString(p) && choosing.MatchString(l.Text) {
			return loop.Finding{Severity: loop.SeverityNote, Message: "a setting leaves tests out or overlooks their failure: " + quoted}, true
		}
	case !isTest(p):
	case ext == ".go" && goExit.MatchString(blankStrings(p, l.Text)):
		for i := min(l.New, len(lines)) - 1; i >= 0; i-- {
			if m := goFunc.FindStringSubmatch(lines[i]); m != nil {
				if m[1] == "TestMain" || m[1] == "init" {
					return ends, true
				}
				break // such as the helper process that os/exec's own tests have
			}
		}
		return maybe, true
	case ext == ".py" && greened.MatchString(l.Text):
		return loop.Finding{Message: "tests are left out, or their failure is turned into success: " + quoted}, true
	case ext == ".py" && hookDef.MatchString(l.Text):
		return loop.Finding{Severity: loop.SeverityNote, Message: fmt.Sprintf("a hook of pytest can change which tests run or how they end: %s", quoted)}, true
	case ext == ".py" && pythonExit.MatchString(l.Text):
		if indent(l.Text) == 0 || strings.Contains(l.Text, "os._exit") || inPytestHook(lines, l.New-1) {
			return ends, true
		}
		return maybe, true
	case strings.Contains(ext, "js") || strings.Contains(ext, "ts"):
		if nodeExit.MatchString(l.Text) {
			if indent(l.Text) == 0 {
				return ends, true
			}
			return maybe, true
		}
	}
	return loop.Finding{}, false
}

// dashed says whether a line is only a list's item: a leading dash overlooks a failure in tox.ini and nowhere else.
func dashed(p, line string) bool {
	return path.Base(p) != "tox.ini" && strings.HasPrefix(trim(line), "- ")
}

var pythonDef = regexp.MustCompile(`^\s*(?:async\s+)?def (\w+)`)

// inPytestHook says whether a line lies in a hook of pytest.
func inPytestHook(lines []string, at int) bool {
	for i := min(at, len(lines)-1); i >= 0; i-- {
		if m := pythonDef.FindStringSubmatch(lines[i]); m != nil && indent(lines[i]) < indent(lines[at]) {
			return strings.HasPrefix(m[1], "pytest_")
		}
	}
	return false
}
