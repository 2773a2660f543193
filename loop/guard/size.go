package guard

import (
	"fmt"

	"github.com/seed-7a986423/autocode/loop"
)

func checkFiles(c *change) ([]loop.Finding, error) {
	if n := len(c.Diff.Files); n > c.Limits.Files {
		return []loop.Finding{{File: c.Diff.Files[0].Path, Message: fmt.Sprintf("%d files are changed, at most %d are allowed: make a smaller change, or ask for a larger budget", n, c.Limits.Files)}}, nil
	}
	return nil, nil
}

// checkLines leaves lockfiles out: a tool writes them, and one dependency may move a thousand lines.
func checkLines(c *change) ([]loop.Finding, error) {
	total, most, where := 0, -1, ""
	for _, f := range c.Diff.Files {
		if isLockfile(f.Path) {
			continue
		}
		n := len(added(f)) + len(removed(f))
		if total += n; n > most {
			most, where = n, f.Path
		}
	}
	if total > c.Limits.Lines {
		return []loop.Finding{{File: where, Message: fmt.Sprintf("%d lines are changed, at most %d are allowed (most of them, %d, in %s): make a smaller change, or ask for a larger budget", total, c.Limits.Lines, most, where)}}, nil
	}
	return nil, nil
}

// checkOpaque refuses what no reader and no scanner sees in a diff. A lockfile may be that large by itself.
func checkOpaque(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		switch {
		case !f.Binary || f.Op == loop.OpDelete:
		case isLockfile(f.Path):
			findings = append(findings, loop.Finding{File: f.Path, Severity: loop.SeverityApprove, Message: "the lockfile is too large to be read in a diff"})
		default:
			findings = append(findings, loop.Finding{File: f.Path, Message: f.Path + " is binary or above 2 MiB, so that nobody can review it: leave it out, a person can add it"})
		}
	}
	return findings, nil
}
