package guard

import (
	"path"
	"regexp"
	"strings"
)

// testNames matches the base names of test files by the conventions of the ecosystems.
var testNames = regexp.MustCompile(`(?i)(?:^test_.*\.py$|_tests?\.(?:py|go|rb|exs?|cc|cpp|cxx|c|dart|rs|erl|jl)$|^tests?\.(?:py|[cm]?[jt]sx?|rs)$|^conftest\.py$|[._-](?:test|spec|e2e|cy)\.[cm]?[jt]sx?$|_spec\.(?:rb|lua)$|^test-.*\.[cm]?[jt]s$|\.bats$|\.t$|\.feature$|^test_.*\.(?:c|cc|cpp|rb|rs|sh)$|_(?:unit)?test\.(?:c|cc|cpp|sh)$)|(?:Test|Tests|Spec|IT|TestCase)\.(?:java|kt|kts|cs|fs|vb|php|scala|groovy|swift)$|^Test[A-Z]\w*\.(?:java|php|hs)$`)

// testDirs matches directories whose every file belongs to the tests.
var testDirs = regexp.MustCompile(`(?i)(?:^|/)(?:tests?|__tests__|specs?|testdata|__snapshots__|fixtures|__fixtures__|__mocks__|testing|e2e|cypress)/`)

// isTest says whether a path belongs to the tests: by its name or by a directory above it.
func isTest(p string) bool {
	return testNames.MatchString(path.Base(p)) || testDirs.MatchString(p)
}

// goldenFile matches files that hold what a test expects.
var goldenFile = regexp.MustCompile(`(?i)\.(?:snap|golden|approved\.\w+|expected)$|(?:^|/)(?:__snapshots__|goldens?)/`)

// testCase is one test as it stands in a file.
type testCase struct {
	name       string
	file       string
	start, end int // lines, from 1, both included
	body       string
}

// declaration says how tests are declared in a family of languages.
type declaration struct {
	// direct matches the line of a declaration; its first group that is not empty is the name.
	direct *regexp.Regexp
	// marker matches an annotation, after which named matches the declaration.
	marker, named *regexp.Regexp
	// broken matches the line of a declaration whose name stands on the next one, as formatters write it; nil: there is no such.
	broken *regexp.Regexp
	// stop matches the lines, no deeper than the declaration, that end a body; nil: every such line does.
	stop *regexp.Regexp
}

const jsTests = `^\s*(?:Deno\.)?[xf]?(?:it|test|specify)(?:\.\w+)*(?:\((?:[^()]|\([^()]*\))*\))?\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|` + "`([^`]*)`)"

var (
	annotated = declaration{
		marker: regexp.MustCompile(`^\s*(?:@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b|\[(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b)`),
		named:  regexp.MustCompile("(?:`([^`]+)`|\\b(\\w+))\\s*\\("),
		direct: regexp.MustCompile(`^\s*(?:override\s+)?(?:public\s+)?(?:func|void)\s+(test\w*)\s*\(`),
	}
	javascript   = declaration{direct: regexp.MustCompile(jsTests), broken: regexp.MustCompile(`^\s*(?:Deno\.)?[xf]?(?:it|test|specify)(?:\.\w+)*(?:\((?:[^()]|\([^()]*\))*\))?\(\s*$`)}
	native       = declaration{direct: regexp.MustCompile(`^\s*(?:TYPED_)?(?:TEST|TEST_F|TEST_P|TEST_CASE|TEST_METHOD|SCENARIO|START_TEST|BOOST_AUTO_TEST_CASE|CTEST|UTEST)\s*\(([^)]*)|^\s*(?:static\s+)?(?:void|int)\s+(test_\w+)\s*\(`)}
	shell        = declaration{direct: regexp.MustCompile(`^\s*@test\s+["'](.*)["']|^\s*(?:function\s+)?(test\w*)\s*\(\)`)}
	declarations = map[string]declaration{
		".go": {direct: regexp.MustCompile(`^func ((?:Test|Benchmark|Fuzz|Example)(?:[^a-z(]\w*)?)\(|^func \([^)]*\) (Test\w*)\(`), stop: regexp.MustCompile(`^[})]|^func `)},
		".py": {direct: regexp.MustCompile(`^\s*(?:async\s+)?def (test\w*)\s*\(`), stop: regexp.MustCompile(`^\s*(?:def|class|async|@|if __name__)`)},
		".rb": {direct: regexp.MustCompile(`^\s*[xf]?(?:it|specify|example|scenario|test|should)\s*\(?\s*(?:'([^']*)'|"([^"]*)")|^\s*def (test_\w+)`)},
		".rs": {marker: regexp.MustCompile(`^\s*#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck)\b`), named: regexp.MustCompile(`\bfn (\w+)`)},
		".ex": {direct: regexp.MustCompile(`^\s*(?:test|property)\s+"([^"]*)"`)}, ".exs": {direct: regexp.MustCompile(`^\s*(?:test|property)\s+"([^"]*)"`)},
		".php": {
			direct: regexp.MustCompile(`^\s*(?:public\s+)?function (test\w*)\s*\(|^\s*(?:it|test)\(\s*['"]([^'"]*)['"]`),
			marker: regexp.MustCompile(`@test\b|#\[Test\b`), named: regexp.MustCompile(`function (\w+)`),
		},
		".java": annotated, ".kt": annotated, ".kts": annotated, ".groovy": annotated, ".scala": annotated, ".cs": annotated, ".fs": annotated, ".vb": annotated, ".swift": annotated,
		".js": javascript, ".jsx": javascript, ".mjs": javascript, ".cjs": javascript, ".ts": javascript, ".tsx": javascript, ".mts": javascript, ".cts": javascript, ".dart": javascript, ".vue": javascript, ".lua": javascript,
		".c": native, ".cc": native, ".cpp": native, ".cxx": native, ".h": native, ".hpp": native,
		".bats": shell, ".sh": shell, ".bash": shell,
		".t":       {direct: regexp.MustCompile(`^\s*subtest\s+['"]([^'"]*)['"]`)},
		".feature": {direct: regexp.MustCompile(`^\s*Scenario(?: Outline)?:\s*(.+)$`)},
		".jl":      {direct: regexp.MustCompile(`^\s*@testset\s+"([^"]*)"`)},
	}
)

// knowsTests says whether the tests in a file can be told apart.
func knowsTests(p string) bool {
	_, known := declarations[strings.ToLower(path.Ext(p))]
	return known
}

// unlisted says whether tests that move from one file to another are not found there by their runner: the new name is not one
// of a test file's, or Go passes it over (go help packages).
func unlisted(from, to string) bool {
	if from == to {
		return false
	}
	if path.Ext(from) == ".go" && goPassesOver.MatchString(to) && !goPassesOver.MatchString(from) {
		return true
	}
	return testNames.MatchString(path.Base(from)) && !testNames.MatchString(path.Base(to))
}

var (
	goPassesOver = regexp.MustCompile(`(?:^|/)(?:[_.][^/]*|testdata/.*)$|(?:^|/)[_.][^/]*/`)
	// platformFile matches Go files that are built for one platform only, by their name.
	platformFile = regexp.MustCompile(`_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris|wasip1|windows|386|amd64|arm|arm64|loong64|mips\w*|ppc64\w*|riscv64|s390x|wasm)(?:_test)?\.go$`)
)

// holdsTests says whether a file may hold tests: Rust keeps them beside the source.
func holdsTests(p string) bool { return isTest(p) || path.Ext(p) == ".rs" }

// testsIn lists the tests that a file declares. What stands in comments is not there.
func testsIn(p, text string) []testCase {
	d, known := declarations[strings.ToLower(path.Ext(p))]
	if !known || !holdsTests(p) {
		return nil
	}
	lines := strings.Split(uncomment(p, text), "\n")
	var found []testCase
	marked := 0 // how many more lines may stand between an annotation and its declaration
	quoted := quotedLines(p, text)
	for i, line := range lines {
		if quoted[i] {
			continue
		}
		name := firstGroup(d.direct, line)
		if name == "" && d.broken != nil && i+1 < len(lines) && d.broken.MatchString(line) {
			name = firstGroup(d.direct, line+trim(lines[i+1]))
		}
		if d.marker != nil && d.marker.MatchString(line) {
			marked = mostAnnotations
		}
		if name == "" && marked > 0 && !annotationLine.MatchString(line) {
			name = firstGroup(d.named, line)
			marked--
		}
		if name == "" {
			continue
		}
		marked = 0
		end := bodyEnd(lines, i, d.stop)
		found = append(found, testCase{name: name, file: p, start: i + 1, end: end + 1, body: strings.Join(lines[i+1:end+1], "\n")})
	}
	return found
}

// mostAnnotations is how many lines may stand between a test's annotation and its name.
const mostAnnotations = 6

var annotationLine = regexp.MustCompile(`^\s*(?:[@*]|#\[|//|/\*|\[\w)`)

func firstGroup(expr *regexp.Regexp, line string) string {
	if expr == nil {
		return ""
	}
	if m := expr.FindStringSubmatch(line); m != nil {
		for _, group := range m[1:] {
			if group != "" {
				return group
			}
		}
	}
	return ""
}

// bodyEnd returns the index of the last line of what begins at a line: the next line that is not deeper ends it, and
// belongs to it where it closes something.
func bodyEnd(lines []string, start int, stop *regexp.Regexp) int {
	depth, last := indent(lines[start]), start
	if strings.HasSuffix(trim(lines[start]), "}") && strings.Count(lines[start], "{") == strings.Count(lines[start], "}") {
		return start // on one line
	}
	for i := start + 1; i < len(lines); i++ {
		line := lines[i]
		if trim(line) == "" {
			continue
		}
		if indent(line) > depth || stop != nil && !stop.MatchString(line) {
			last = i
			continue
		}
		if !closing.MatchString(line) {
			return last
		}
		last = i
		// A signature over several lines closes, too, and opens the body.
		if t := trim(line); !strings.HasSuffix(t, "{") && !strings.HasSuffix(t, ":") && !strings.HasSuffix(t, "do") {
			return i
		}
	}
	return last
}

var closing = regexp.MustCompile(`^\s*(?:[})\]]|end\b|END_TEST|\{\s*$)`)

func indent(line string) int {
	n := 0
	for _, r := range line {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

// lineComment says how a comment to the end of the line begins.
func lineComment(p string) string {
	switch strings.ToLower(path.Ext(p)) {
	case ".py", ".rb", ".ex", ".exs", ".sh", ".bash", ".bats", ".yml", ".yaml", ".toml", ".t", ".pl", ".jl", ".mk", ".feature", ".cfg", ".ini", "":
		return "#"
	case ".lua", ".sql", ".hs":
		return "--"
	}
	return "//"
}

// uncomment blanks lines that are comments, and block comments of the C family; the lines keep their numbers.
func uncomment(p, text string) string {
	mark := lineComment(p)
	var b strings.Builder
	inside := false // a block comment
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch {
		case !inside && strings.HasPrefix(trim(line), mark) && !(mark == "#" && strings.HasPrefix(trim(line), "#[")):
		case mark == "//":
			line, inside = withoutBlocks(line, inside)
			b.WriteString(line)
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// withoutBlocks blanks what lies within /* and */, which mean nothing within quotes.
func withoutBlocks(line string, inside bool) (string, bool) {
	if !inside && !strings.Contains(line, "/*") {
		return line, false
	}
	out := []byte(line)
	quoted := byte(0)
	for i := 0; i < len(line); i++ {
		two := line[i:min(i+2, len(line))]
		switch {
		case inside:
			out[i] = ' '
			if two == "*/" {
				out[i+1], inside = ' ', false
				i++
			}
		case quoted != 0:
			switch line[i] {
			case '\\':
				i++
			case quoted:
				quoted = 0
			}
		case line[i] == '"' || line[i] == '\'' || line[i] == '`':
			quoted = line[i]
		case two == "//":
			return string(out), false
		case two == "/*":
			out[i], out[i+1], inside = ' ', ' ', true
			i++
		}
	}
	return string(out), inside
}
