package guard

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// files is a tree by path. A name may carry a mode: "run.sh*" is executable, "link@" a symbolic link, "lib%" a submodule,
// "logo.png!" binary.
type files map[string]string

var modes = map[byte]loop.FileMode{'*': loop.ModeExecutable, '@': loop.ModeSymlink, '%': loop.ModeSubmodule}

func plain(name string) (string, loop.FileMode, bool) {
	last := name[len(name)-1]
	if mode, ok := modes[last]; ok {
		return name[:len(name)-1], mode, false
	}
	if last == '!' {
		return name[:len(name)-1], loop.ModeRegular, true
	}
	return name, loop.ModeRegular, false
}

func (f files) Commit() string { return "0123456789012345678901234567890123456789" }

func (f files) Files(context.Context) ([]loop.TreeFile, error) {
	var list []loop.TreeFile
	for name := range f {
		p, mode, _ := plain(name)
		list = append(list, loop.TreeFile{Path: p, Mode: mode})
	}
	slices.SortFunc(list, func(a, b loop.TreeFile) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

func (f files) Read(_ context.Context, p string) ([]byte, error) {
	for name, text := range f {
		if n, _, _ := plain(name); n == p {
			return []byte(text), nil
		}
	}
	return nil, fs.ErrNotExist
}

func (f files) ReadAll(context.Context, []string, int64, func(string, []byte) error) error {
	return nil
}
func (f files) History(context.Context, int) ([]loop.HistoryCommit, error) { return nil, nil }

// compareTrees makes the diff of two trees as git prints it: three lines of context, and a rename where a file that is
// gone and a new one share more than half of their lines.
func compareTrees(base, head files) loop.Diff {
	type side struct {
		text   string
		mode   loop.FileMode
		binary bool
	}
	read := func(f files) map[string]side {
		m := map[string]side{}
		for name, text := range f {
			p, mode, binary := plain(name)
			m[p] = side{text, mode, binary}
		}
		return m
	}
	old, now := read(base), read(head)
	var d loop.Diff
	renamed := map[string]bool{}
	for _, p := range slices.Sorted(maps.Keys(now)) {
		n := now[p]
		f := loop.FileDiff{Path: p, Op: loop.OpAdd, NewMode: n.mode, Binary: n.binary}
		o, there := old[p]
		if there && o == n {
			continue
		}
		if there {
			f.Op, f.OldPath, f.OldMode = loop.OpModify, p, o.mode
		} else {
			for _, q := range slices.Sorted(maps.Keys(old)) {
				if _, kept := now[q]; !kept && !renamed[q] && share(lineSet(old[q].text), lineSet(n.text)) > 0.5 {
					f.Op, f.OldPath, f.OldMode, o = loop.OpRename, q, old[q].mode, old[q]
					renamed[q] = true
					break
				}
			}
		}
		if !n.binary {
			f.Lines = diffLines(o.text, n.text)
		}
		d.Files = append(d.Files, f)
	}
	for _, p := range slices.Sorted(maps.Keys(old)) {
		if _, kept := now[p]; !kept && !renamed[p] {
			d.Files = append(d.Files, loop.FileDiff{Path: p, OldPath: p, Op: loop.OpDelete, OldMode: old[p].mode, Binary: old[p].binary, Lines: diffLines(old[p].text, "")})
		}
	}
	return d
}

func lineSet(text string) map[string]bool {
	set := map[string]bool{}
	for l := range strings.SplitSeq(text, "\n") {
		set[trim(l)] = true
	}
	return set
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// diffLines is the longest common subsequence, cut to three lines of context.
func diffLines(before, after string) []loop.DiffLine {
	a, b := splitLines(before), splitLines(after)
	best := make([][]int, len(a)+1)
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				best[i][j] = best[i+1][j+1] + 1
			} else {
				best[i][j] = max(best[i+1][j], best[i][j+1])
			}
		}
	}
	var all []loop.DiffLine
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, loop.DiffLine{Op: loop.LineContext, Old: i + 1, New: j + 1, Text: a[i]})
			i++
			j++
		case i < len(a) && (j == len(b) || best[i+1][j] >= best[i][j+1]):
			all = append(all, loop.DiffLine{Op: loop.LineRemoved, Old: i + 1, Text: a[i]})
			i++
		default:
			all = append(all, loop.DiffLine{Op: loop.LineAdded, New: j + 1, Text: b[j]})
			j++
		}
	}
	var shown []loop.DiffLine
	for i, l := range all {
		near := slices.ContainsFunc(all[max(0, i-3):min(len(all), i+4)], func(o loop.DiffLine) bool { return o.Op != loop.LineContext })
		if near {
			shown = append(shown, l)
		}
	}
	return shown
}

// theGuard is built once: gitleaks' rules take long to compile.
var theGuard = sync.OnceValues(func() (*Guard, error) { return New(Config{Secrets: []string{serverSecret, serverPassword}}) })

// The server's values of these tests are random characters that open nothing.
const (
	serverSecret   = "whsec-Zq8vT3mKx9Rw2LpYb7NcJd5HsG4fEaU6"
	serverPassword = "k8#Xq!v2"
)

// request is the start of a test: two trees and the defaults.
func request(base, head files) loop.GuardRequest {
	return loop.GuardRequest{Diff: compareTrees(base, head), BaseTree: base, HeadTree: head, Limits: loop.DefaultLimits(), Policy: loop.PathPolicy{}, Spec: &loop.Spec{Kind: loop.KindBug, Zone: loop.ZoneGreen}}
}

// check runs the whole guard.
func check(t *testing.T, r loop.GuardRequest) []loop.Finding {
	t.Helper()
	g, err := theGuard()
	if err != nil {
		t.Fatal(err)
	}
	findings, err := g.Check(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

// of returns the findings of a rule.
func of(findings []loop.Finding, rule string) []loop.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f loop.Finding) bool { return f.Rule != rule })
}

// with is a tree with some files changed; "-" deletes.
func (f files) with(changes files) files {
	head := maps.Clone(f)
	for name, text := range changes {
		if text == "-" {
			delete(head, name)
		} else {
			head[name] = text
		}
	}
	return head
}

// sample is a case of a rule: what changes, and the severity of the rule's first finding, "" for none.
type sample struct {
	name    string
	base    files
	change  files
	want    loop.Severity
	file    string // of the first finding, where it matters
	line    int
	request func(*loop.GuardRequest)
}

// runSamples checks one rule on its samples.
func runSamples(t *testing.T, rule string, samples []sample) {
	t.Helper()
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			r := request(s.base, s.base.with(s.change))
			if s.request != nil {
				s.request(&r)
			}
			all := check(t, r)
			found := of(all, rule)
			var got loop.Severity
			if len(found) > 0 {
				got = found[0].Severity
			}
			if got != s.want {
				t.Fatalf("rule %s: severity %q, want %q; all findings: %+v", rule, got, s.want, all)
			}
			if s.file != "" && found[0].File != s.file || s.line != 0 && found[0].Line != s.line {
				t.Errorf("found at %s:%d, want %s:%d", found[0].File, found[0].Line, s.file, s.line)
			}
		})
	}
}

const (
	block   = loop.SeverityBlock
	approve = loop.SeverityApprove
	note    = loop.SeverityNote
	nothing = loop.Severity("")
)

// lines joins lines, so that cases can be read as what they are.
func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func indexOf(text, part string) int {
	at := strings.Index(text, part)
	if at < 0 {
		panic("no " + part)
	}
	return at
}

func replaceOnce(text, from, to string) string { return strings.Replace(text, from, to, 1) }
