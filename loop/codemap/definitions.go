package codemap

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop/syntax"
)

// listedDefinitions is how many definitions are named that are not shown, of the best source files by their rank:
// the cause is often a method that no word of the issue names, in the file that the issue is about.
var listedDefinitions = [...]int{60, 30, 15}

// definitions names what else the best source files define: a line per class or file, each name with its first line.
func (p *packer) definitions(context.Context) (string, []string, error) {
	var lines []string
	rank := 0
	for _, pg := range p.pages {
		if pg.class != classSource || pg.aside || pg.guest || len(pg.shown) == 0 {
			continue
		}
		if rank == len(listedDefinitions) {
			break
		}
		if !pg.whole {
			lines = append(lines, pg.unshown(listedDefinitions[rank])...)
		}
		rank++
	}
	return "further definitions of these files, not shown: name line", lines, nil
}

// unshown lists at most so many definitions that are not shown. The nearest are in: members of the types that are
// shown in part, then what the shown text calls.
func (pg *page) unshown(most int) []string {
	content := []byte(strings.Join(pg.lines, ""))
	shows := func(line int) bool {
		return slices.ContainsFunc(pg.shown, func(r lineRange) bool { return line >= r.start && line <= r.end })
	}
	symbols := symbolsOf(pg.path, content)
	shownParents := map[string]bool{}
	for _, s := range symbols {
		if s.Parent != "" && shows(s.Start) {
			shownParents[s.Parent] = true
		}
	}
	called := map[string]bool{}
	for _, r := range syntax.References(syntax.LanguageOf(pg.path, content), content) {
		if shows(r.Line) {
			called[r.Name] = true
		}
	}
	order := func(s syntax.Symbol) int {
		switch {
		case shownParents[s.Parent]:
			return 0
		case called[s.Name]:
			return 1
		}
		return 2
	}
	symbols = slices.DeleteFunc(symbols, func(s syntax.Symbol) bool { return shows(s.Start) })
	slices.SortStableFunc(symbols, func(a, b syntax.Symbol) int { return order(a) - order(b) })
	symbols = symbols[:min(len(symbols), most)]
	slices.SortStableFunc(symbols, func(a, b syntax.Symbol) int { return a.Start - b.Start })

	var owners []string
	named := map[string][]string{}
	for _, s := range symbols {
		if !slices.Contains(owners, s.Parent) {
			owners = append(owners, s.Parent)
		}
		named[s.Parent] = append(named[s.Parent], fmt.Sprintf("%s %d", s.Name, s.Start))
	}
	var lines []string
	for _, owner := range owners {
		head := path.Base(pg.path)
		if owner != "" {
			head += " " + owner
		}
		lines = append(lines, head+": "+strings.Join(named[owner], ", "))
	}
	return lines
}
