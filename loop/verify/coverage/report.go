package coverage

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Format is how a report is written.
type Format string

// The formats.
const (
	GoProfile  Format = "go"        // go test -coverprofile
	Cobertura  Format = "cobertura" // coverage.py xml, and many others
	LCOV       Format = "lcov"      // lcov.info: c8, jest, node, cargo llvm-cov
	JaCoCo     Format = "jacoco"    // jacoco.xml
	CoveragePy Format = "coverage.py"
	V8         Format = "v8" // what Node leaves where NODE_V8_COVERAGE is set; by ReadV8
)

// Report says which lines were run. Only lines that a tool calls executable are in it.
type Report struct {
	// Files holds, by the name that the tool gives a file, whether each executable line was run.
	Files map[string]map[int]bool
	// Covered and Statements are the tool's unit of the total: statements for Go, lines elsewhere.
	Covered, Statements int

	lines int
}

// mostLines bounds the executable lines of a report, at some 50 bytes each; the largest repositories
// that are tested as one have a few million.
const mostLines = 10_000_000

// highestLine bounds a line's number; no source file is longer.
const highestLine = 10_000_000

// errTooMany is the error of a report that is beyond these bounds.
var errTooMany = errors.New("the coverage report names more lines than any repository has")

// Read reads a report. What does not belong to the format is an error, since half a report would
// tell covered lines uncovered.
func Read(format Format, r io.Reader) (*Report, error) {
	report := &Report{Files: map[string]map[int]bool{}}
	var err error
	switch format {
	case GoProfile:
		err = report.goProfile(r)
	case Cobertura:
		err = report.cobertura(r)
	case LCOV:
		err = report.lcov(r)
	case JaCoCo:
		err = report.jacoco(r)
	case CoveragePy:
		err = report.coveragePy(r)
	case V8:
		err = errors.New("V8's offsets need the sources: ReadV8")
	default:
		err = errors.New("there is no such format")
	}
	if err != nil {
		return nil, fmt.Errorf("read the %s coverage report: %w", format, err)
	}
	if format != GoProfile {
		report.Recount()
	}
	return report, nil
}

// mark notes an executable line; run anywhere is run.
func (r *Report) mark(file string, line int, run bool) error {
	if line < 1 || line > highestLine {
		return fmt.Errorf("line %d of %q cannot be", line, file)
	}
	lines := r.Files[file]
	if lines == nil {
		lines = map[int]bool{}
		r.Files[strings.Clone(file)] = lines
	}
	if was, known := lines[line]; !known {
		if r.lines++; r.lines > mostLines {
			return errTooMany
		}
		lines[line] = run
	} else if run && !was {
		lines[line] = true
	}
	return nil
}

// Rename gives the files other names; "" leaves one out. Files that get one name are one.
func (r *Report) Rename(name func(string) string) {
	renamed := map[string]map[int]bool{}
	for _, old := range slices.Sorted(maps.Keys(r.Files)) {
		now := name(old)
		if now == "" {
			continue
		}
		if renamed[now] == nil {
			renamed[now] = map[int]bool{}
		}
		for line, run := range r.Files[old] {
			renamed[now][line] = renamed[now][line] || run
		}
	}
	r.Files = renamed
}

// Add takes another report in.
func (r *Report) Add(other *Report) {
	for file, lines := range other.Files {
		if r.Files[file] == nil {
			r.Files[file] = map[int]bool{}
		}
		for line, run := range lines {
			r.Files[file][line] = r.Files[file][line] || run
		}
	}
	r.Covered += other.Covered
	r.Statements += other.Statements
}

// Recount takes the lines for the unit of the total, after reports of several processes of the same
// tests were added: a line that two of them know is one line.
func (r *Report) Recount() {
	r.Covered, r.Statements = 0, 0
	for _, lines := range r.Files {
		r.Statements += len(lines)
		for _, run := range lines {
			if run {
				r.Covered++
			}
		}
	}
}

// Percent is a share of a hundred; of nothing, all is covered.
func Percent(covered, of int) float64 {
	const all = 100
	if of == 0 {
		return all
	}
	return all * float64(covered) / float64(of)
}
