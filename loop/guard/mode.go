package guard

import (
	"fmt"
	"path"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

func checkModes(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		if f.Op == loop.OpDelete {
			continue
		}
		fresh := f.NewMode != f.OldMode
		switch f.NewMode {
		case loop.ModeSymlink:
			if finding, found := judgeLink(f, fresh); found {
				findings = append(findings, finding)
			}
		case loop.ModeSubmodule:
			if fresh || f.Op == loop.OpModify {
				findings = append(findings, loop.Finding{File: f.Path, Message: "a submodule is new or points to another commit: take it back; autocode does not fetch submodules"})
			}
		case loop.ModeExecutable:
			if fresh {
				findings = append(findings, loop.Finding{File: f.Path, Severity: loop.SeverityNote, Message: "the executable bit is new"})
			}
		case loop.ModeRegular, "":
		}
	}
	return findings, nil
}

// judgeLink refuses new links, and old ones that now leave the repository.
func judgeLink(f loop.FileDiff, fresh bool) (loop.Finding, bool) {
	target := ""
	if lines := added(f); len(lines) > 0 {
		target = lines[len(lines)-1].Text
	}
	switch {
	case fresh:
		return loop.Finding{File: f.Path, Message: "a symbolic link is new: write a plain file in its place"}, true
	case target == "":
		return loop.Finding{}, false
	case leaves(f.Path, target):
		return loop.Finding{File: f.Path, Message: fmt.Sprintf("the symbolic link now points out of the repository, to %q", quote(target))}, true
	default:
		return loop.Finding{File: f.Path, Severity: loop.SeverityNote, Message: fmt.Sprintf("the symbolic link now points to %q", quote(target))}, true
	}
}

// leaves says whether a link at p leads out of the repository.
func leaves(p, target string) bool {
	if path.IsAbs(target) || strings.ContainsAny(target, `\:`) {
		return true
	}
	to := path.Join(path.Dir(p), target)
	return to == ".." || strings.HasPrefix(to, "../")
}
