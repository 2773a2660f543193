package verify

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-7a986423/autocode/loop"
)

// separators are what tools put between the parts of a test's name: pkg.Test/sub, file::Class::test,
// suite > case, suite › case, Class#method, module.Class.test.
var separators = regexp.MustCompile(`\s*(?:::|//|/|\\|>|›|»|#|\.py\b|:)\s*|\.`)

// unittestID is how unittest prints a test: name (module.Class) or, since 3.11, name (module.Class.name).
var unittestID = regexp.MustCompile(`^(.*?)(\w+) \(([\w.]+)\)$`)

// nameParts splits an id at whatever its tool puts between parts. Go writes spaces of subtests as
// underscores, so both count as one.
func nameParts(id string) []string {
	id = strings.TrimSpace(id)
	if m := unittestID.FindStringSubmatch(id); m != nil {
		id = m[1] + strings.TrimSuffix(m[3], "."+m[2]) + "." + m[2]
	}
	parts := separators.Split(id, -1)
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(p, " ", "_")
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}

// filePath is the same with the directories above it, up to those of the project.
var filePath = regexp.MustCompile(`(?:[^/:>\s]+/)*[^/:>\s]+\.[A-Za-z]{1,4}\s*(?:::|:|>|›|#)\s*`)

// fileName is a file within a hook, for tools whose ids do not name files.
var fileName = regexp.MustCompile(`[^/:>\s]+\.[A-Za-z]{1,4}\s*(?:::|:|>|›|#)\s*`)

// sameTest says whether two spellings name the same test: one of them may leave out leading parts
// (the package, the file, the suite).
func sameTest(a, b string) bool {
	if a == b {
		return true
	}
	x, y := nameParts(a), nameParts(b)
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	if len(x) < len(y) {
		x, y = y, x
	}
	return slices.Equal(x[len(x)-len(y):], y)
}

// hookCases returns the cases that a criterion's hook names: the test itself, else its subtests or
// parameters; for a hook that names a file or a suite, every test in it.
func hookCases(hook string, cases map[string]loop.CaseStatus) []string {
	hook = strings.TrimSpace(hook)
	if hook == "" {
		return nil
	}
	if _, exact := cases[hook]; exact {
		return []string{hook}
	}
	var same, under []string
	want := nameParts(hook)
	for id := range cases {
		switch {
		case sameTest(id, hook):
			same = append(same, id)
		case isUnder(nameParts(id), want):
			under = append(under, id)
		}
	}
	if len(same) == 0 && len(under) == 0 {
		for _, file := range []*regexp.Regexp{fileName, filePath} {
			if short := file.ReplaceAllString(hook, ""); short != hook {
				if ids := hookCases(short, cases); len(ids) > 0 {
					return ids
				}
			}
		}
	}
	if len(same) == 0 && len(under) == 0 {
		return belowDirectory(hook, cases)
	}
	if len(same) > 0 {
		slices.Sort(same)
		return same
	}
	slices.Sort(under)
	return under
}

// belowDirectory finds the cases of a project below the root where the hook names its directory and then the test
// as it is called from there, while the id has a module's name in between: services/api//slug/TestMake, or
// services/api/slug/TestMake, for services/api//example.org/team/api/slug.TestMake.
func belowDirectory(hook string, cases map[string]loop.CaseStatus) []string {
	projects := map[string]map[string]loop.CaseStatus{}
	for id, status := range cases {
		if dir, rest, below := strings.Cut(id, "//"); below && dir != "" {
			if projects[dir] == nil {
				projects[dir] = map[string]loop.CaseStatus{}
			}
			projects[dir][rest] = status
		}
	}
	dirs := slices.SortedFunc(maps.Keys(projects), func(a, b string) int { // the deepest first
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, dir := range dirs {
		rest, below := strings.CutPrefix(hook, dir+"/")
		if rest = strings.TrimLeft(rest, "/"); !below || rest == "" {
			continue
		}
		ids := hookCases(rest, projects[dir])
		for i := range ids {
			ids[i] = dir + "//" + ids[i]
		}
		if len(ids) > 0 {
			return ids
		}
	}
	return nil
}

// nearestNew finds, among the tests that the change brings, the one that a hook means though it is spelled
// otherwise: a suite left out or put in, another case or separator. One of the two names then holds the other's
// words in their order, and few more. Two candidates are none: a proof is not guessed. The result are the cases of
// that one test, with its parameters.
func nearestNew(hook string, fresh []string) []string {
	want := nameWords(hook)
	var found []string
	for _, id := range fresh {
		got := nameWords(id)
		short, long := want, got
		if len(short) > len(long) {
			short, long = long, short
		}
		if float64(len(short)) >= nearShare*float64(len(long)) && isSubsequence(short, long) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	for _, id := range found {
		if withoutParameters(id) != withoutParameters(found[0]) && !isUnder(nameParts(id), nameParts(found[0])) {
			return nil
		}
	}
	return found
}

// nearShare is how much of the longer name the shorter one must tell for both to mean one test: with two words of
// three in common, test_total and test_total_empty would be one.
const nearShare = 0.75

// nameWords are the words of a test's name in lower case, with parts and camel case taken apart.
func nameWords(id string) []string {
	if !unittestID.MatchString(id) {
		id = withoutParameters(id)
	}
	text := camel.ReplaceAllString(strings.Join(nameParts(id), " "), "$1 $2")
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// withoutParameters is a test's name without the parameters at its end; a pair of brackets within it, as in
// `cart.add() keeps items`, is part of the name.
func withoutParameters(id string) string { return lastParameters.ReplaceAllString(id, "") }

var lastParameters = regexp.MustCompile(`\s*(?:\[[^\[\]]+\]|\([^()]+\))$`)

// camel is where a capital begins a word.
var camel = regexp.MustCompile(`([\p{Ll}\p{Nd}])(\p{Lu})`)

// isSubsequence says whether long holds the words of short in their order; no words are in nothing.
func isSubsequence(short, long []string) bool {
	rest := short
	for _, word := range long {
		if len(rest) > 0 && rest[0] == word {
			rest = rest[1:]
		}
	}
	return len(short) > 0 && len(rest) == 0
}

// parameters are what a test framework puts behind the name of a parametrised test.
var parameters = regexp.MustCompile(`[\[(].*$`)

// isUnder says whether a test lies below what a hook names: somewhere in its name the hook's parts
// stand in a row, or its last part is the hook's with parameters.
func isUnder(id, hook []string) bool {
	if len(hook) == 0 {
		return false
	}
	for i := 0; i+len(hook) <= len(id); i++ {
		match := true
		for j, part := range hook {
			if id[i+j] != part && parameters.ReplaceAllString(id[i+j], "") != part {
				match = false
				break
			}
		}
		if match {
			return true
		}
	}
	return false
}

// stateOf is the common state of several cases: fail if one failed, pass if all passed.
func stateOf(ids []string, cases map[string]loop.CaseStatus) loop.ProofState {
	if len(ids) == 0 {
		return loop.ProofMissing
	}
	passed := 0
	for _, id := range ids {
		switch cases[id] {
		case loop.CaseFailed:
			return loop.ProofFail
		case loop.CasePassed:
			passed++
		case loop.CaseSkipped:
		}
	}
	if passed == 0 {
		return loop.ProofMissing // skipped: it proves nothing
	}
	return loop.ProofPass
}
