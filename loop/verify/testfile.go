package verify

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// testNames matches the base names of test files by the conventions of the ecosystems that
// verification detects. Case counts: latest.java is no test.
var testNames = regexp.MustCompile(`^test_.*\.py$|_test\.(?:py|go|rb|exs?|cc|cpp|cxx|c|dart)$|^tests?\.(?:py|[cm]?[jt]sx?)$|^conftest\.py$|` +
	`[._-](?:test|spec)\.[cm]?[jt]sx?$|_spec\.rb$|^test-.*\.[cm]?[jt]sx?$|[a-z0-9](?:Tests?|Spec|IT|TestCase)\.(?:java|kt|cs|fs|php|scala|groovy|swift)$|` +
	`^Tests?[A-Z].*\.(?:java|kt|php)$|\.(?:bats|t|snap)$`)

// testDirs are directories whose every file belongs to the tests.
var testDirs = []string{"test", "tests", "__tests__", "testdata", "__snapshots__", "fixtures", "__fixtures__", "__mocks__"}

// specDirs are so only for the languages that write specifications; elsewhere a spec may be anything.
var (
	specDirs      = []string{"spec", "specs"}
	specLanguages = []string{".rb", ".js", ".mjs", ".cjs", ".ts", ".jsx", ".tsx", ".php", ".lua", ".coffee"}
)

// IsTestFile says whether a path belongs to the tests: by its name or by a directory above it. Go's
// tests are told by their name alone, as the go command does, beside testdata.
func IsTestFile(p string) bool {
	if testNames.MatchString(path.Base(p)) {
		return true
	}
	dirs := strings.Split(strings.ToLower(path.Dir(p)), "/")
	below := func(names []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return slices.Contains(names, dir) })
	}
	switch ext := path.Ext(p); {
	case ext == ".go":
		return below([]string{"testdata"})
	case below(testDirs):
		return true
	default:
		return slices.Contains(specLanguages, ext) && below(specDirs)
	}
}
