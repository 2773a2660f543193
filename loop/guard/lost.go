package guard

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// checkLost compares what ran: an exit in a TestMain, a hook in a conftest or a build tag makes tests vanish without a
// trace in their files (security.md, case 120). It speaks only where the head is green: a crash loses tests too, and is
// red by itself.
func checkLost(c *change) ([]loop.Finding, error) {
	if c.Base == nil || c.Head == nil || !comparable(c.Base, c.Head) {
		return nil, nil
	}
	if !c.Base.Complete() || !c.Head.Complete() {
		// The tools do not name every test: only their totals can be compared.
		if before, now := c.Base.Passed(), c.Head.Passed(); now < before {
			return []loop.Finding{{Message: fmt.Sprintf("%d tests passed on the base, %d pass now; make the others run again", before, now)}}, nil
		}
		return nil, nil
	}
	tests, err := c.testChanges()
	if err != nil {
		return nil, err
	}
	told := func(id string) bool { // by test-deleted
		return slices.ContainsFunc(tests.gone, func(g goneTest) bool { return idNames(id, g.name) })
	}
	fresh := map[string]int{} // new cases by the name they go under
	leaves := map[string]int{}
	for id, status := range c.Head.Cases {
		if _, old := c.Base.Cases[id]; !old && status != loop.CaseSkipped {
			if stem(id) != "" {
				fresh[stem(id)]++
			}
			leaves[leaf(id)]++
		}
	}
	var lost, replaced []string
	for _, id := range sortedKeys(c.Base.Cases) {
		now, there := c.Head.Cases[id]
		switch {
		case c.Base.Cases[id] != loop.CasePassed || there && now != loop.CaseSkipped:
		case told(id):
		case !there && fresh[stem(id)] > 0:
			fresh[stem(id)]--
			replaced = append(replaced, id)
		case !there && leaves[leaf(id)] > 0:
			leaves[leaf(id)]--
			replaced = append(replaced, id)
		default:
			lost = append(lost, id)
		}
	}
	var findings []loop.Finding
	if len(lost) > 0 {
		findings = append(findings, loop.Finding{Message: fmt.Sprintf("%d test(s) that passed on the base do not run any more: %s; make them run again, and change what they expect where that is what is asked for", len(lost), few(lost))})
	}
	if len(replaced) > 0 {
		findings = append(findings, loop.Finding{Severity: loop.SeverityNote, Message: fmt.Sprintf("%d test(s) of the base go by another name now: %s", len(replaced), few(replaced))})
	}
	return findings, nil
}

// comparable says whether every stage that ran tests on the base ran to its end on the head.
func comparable(base, head *loop.Outcome) bool {
	ran := false
	for _, name := range []loop.StageName{loop.StageUnit, loop.StageIntegration, loop.StageE2E} {
		before, was := base.Verdict.Stages[name]
		if !was || before.NotRun || before.Tests == nil {
			continue
		}
		now, is := head.Verdict.Stages[name]
		if !is || now.NotRun || now.Tests == nil || !now.Pass || len(now.Errors) > len(before.Errors) {
			return false
		}
		ran = true
	}
	return ran
}

// parameter matches what stands behind a test's name for one of its cases.
var parameter = regexp.MustCompile(`[\[({<#].*$`)

// goID matches the id of a Go test: package, test, subtests.
var goID = regexp.MustCompile(`^(.*\.)?((?:Test|Fuzz|Example|Benchmark)\w*)((?:/.*)?)$`)

// suites are what stands between a suite and its case in the ids of the tools that name tests by sentences.
var suites = []string{" > ", " › ", " » "}

// stem is the name that the cases of one test or suite share, "" where a test has none but its own.
func stem(id string) string {
	if m := goID.FindStringSubmatch(id); m != nil {
		if at := strings.LastIndex(id, "/"); m[3] != "" && at > 0 {
			return id[:at]
		}
		return ""
	}
	for _, separator := range suites {
		if at := strings.LastIndex(id, separator); at > 0 {
			return id[:at]
		}
	}
	if name := parameter.ReplaceAllString(id, ""); name != id {
		return name
	}
	return ""
}

// leaf is what stays of a test's id when its file or package moves.
func leaf(id string) string {
	if m := goID.FindStringSubmatch(id); m != nil {
		return m[2] + m[3]
	}
	at := 0
	for _, separator := range append([]string{"::", "/", "//"}, suites...) {
		if i := strings.LastIndex(id, separator); i >= 0 {
			at = max(at, i+len(separator))
		}
	}
	if at == 0 { // Class.method
		if parts := strings.Split(id, "."); len(parts) > 2 {
			return strings.Join(parts[len(parts)-2:], ".")
		}
	}
	return id[at:]
}

// shown is how many tests a message names.
const shown = 5

func few(names []string) string {
	text := strings.Join(names[:min(shown, len(names))], ", ")
	if len(names) > shown {
		text += fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return text
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
