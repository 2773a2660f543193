package verify

import (
	"context"
	"slices"
	"strings"
)

// interpreter is a Python that the sandbox has.
type interpreter struct {
	path    string
	version string
	modules []string // of those asked for, the ones it can import
}

// probeScript asks every python3 of the search path, and the project's virtual environment before
// them, for its version and for the modules named in its arguments. One that a version manager
// refuses to start (a .python-version that is not installed) prints nothing and is passed over.
const probeScript = `
venv=$1; shift
IFS=:
for d in "$venv/bin" $PATH; do
	[ -x "$d/python3" ] || continue
	unset IFS
	"$d/python3" -c '
import sys, importlib.util as u
print("python3", sys.argv[1], "%d.%d.%d" % sys.version_info[:3], *[m for m in sys.argv[2:] if u.find_spec(m)], sep="\t")
' "$d/python3" "$@" 2>/dev/null
done
exit 0`

// choosePython picks the interpreter of a project: the first that is new enough and has what the
// tests need, else the first that has at least one of both, else the first. Where none can run
// the tests' runner, the jobs that do without take its place.
func (s *session) choosePython(ctx context.Context, p *project) error {
	if p.python == nil {
		return nil
	}
	probe := job{args: slices.Concat([]string{"/bin/sh", "-c", probeScript, "sh", venvDir}, p.python.modules, []string{"coverage"})}
	r, err := s.run(ctx, *p, probe, reach{})
	if err != nil {
		return err
	}
	best, bestScore := interpreter{}, -1
	for line := range strings.Lines(string(r.result.Stdout)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		const fixed = 3 // the marker, the path, the version
		if len(fields) < fixed || fields[0] != "python3" {
			continue
		}
		i := interpreter{path: fields[1], version: fields[2], modules: fields[fixed:]}
		if score := p.python.score(i); score > bestScore {
			best, bestScore = i, score
		}
	}
	if bestScore < 0 {
		return nil // none: the environment stage says so
	}
	p.interpreter = best
	if len(p.python.missing(best)) > 0 && p.python.without != nil {
		jobs := slices.DeleteFunc(slices.Clone(p.jobs), job.needsPytest)
		p.jobs = append(jobs, p.python.without...)
		needs := *p.python
		needs.modules = nil
		p.python = &needs
	}
	return nil
}

// needsPytest says whether a job runs pytest.
func (j job) needsPytest() bool { return slices.Contains(j.args, "pytest") && j.args[0] == "python3" }

// missing lists what an interpreter lacks.
func (n pythonNeeds) missing(i interpreter) []string {
	return slices.DeleteFunc(slices.Clone(n.modules), func(m string) bool { return slices.Contains(i.modules, m) })
}

// score orders interpreters.
func (n pythonNeeds) score(i interpreter) int {
	const newEnough, complete = 2, 1
	score := 0
	if n.least == "" || !older(i.version, n.least) {
		score += newEnough
	}
	if len(n.missing(i)) == 0 {
		score += complete
	}
	return score
}
