package verify

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// checkEnvironment finds out whether the programs are there, in the versions that the manifests
// ask for, and tells what could not be installed. A failed installation is no failure by itself:
// what it was needed for speaks in the later stages, and is read with this in mind.
func (s *session) checkEnvironment(ctx context.Context) (*loop.Stage, error) {
	began := time.Now()
	stage := &loop.Stage{Pass: true}
	if len(s.projects) == 0 {
		stage.Reason = "nothing to verify was found: no manifest of a known toolchain, no Makefile with a target test or check, no bats or prove tests, no commands in the configuration"
	}
	var notes []string
	fail := func(p project, file, rule, message string) {
		failure := loop.Failure{File: p.file(file), Kind: string(feedback.KindEnvironment), Rule: rule, Message: message}
		if !slices.ContainsFunc(stage.Errors, func(f loop.Failure) bool { return f.Message == message }) {
			stage.Errors = append(stage.Errors, failure)
		}
		stage.Pass = false
	}
	for _, p := range s.projects {
		for _, program := range p.needs {
			if s.missing[program] {
				fail(p, manifestOf(p), "toolchain-missing", fmt.Sprintf(
					"the sandbox has no %q, which this %s project needs; install it where autocode runs, or name an image in sandbox.image%s", program, p.ecosystem, s.whyNot(p)))
			}
		}
		if p.python != nil && p.interpreter.path != "" {
			for _, module := range p.python.missing(p.interpreter) {
				fail(p, manifestOf(p), "toolchain-missing", fmt.Sprintf(
					"no Python of the sandbox has %q, which the tests need: name it in the project's requirements, or install it where autocode runs%s", module, s.whyNot(p)))
			}
		}
		for _, m := range p.versions {
			have, err := s.versionOf(ctx, p, m)
			if err != nil {
				return nil, err
			}
			switch {
			case have == "" || !older(have, m.least):
			case m.advice:
				notes = append(notes, fmt.Sprintf("%s asks for %s %s, the sandbox has %s", p.file(m.manifest), m.program, m.least, have))
			default:
				fail(p, m.manifest, "toolchain-version", fmt.Sprintf(
					"%s asks for %s %s or newer, the sandbox has %s; install a newer one where autocode runs, or name an image in sandbox.image", p.file(m.manifest), m.program, m.least, have))
			}
		}
		if why := s.installFailure(p); why != "" {
			notes = append(notes, fmt.Sprintf("the installation of dependencies in %q failed: %s", p.dir, why))
		}
	}
	if stage.Reason == "" {
		stage.Reason = strings.Join(notes, "\n")
	}
	stage.DurationMS = time.Since(began).Milliseconds()
	return stage, nil
}

// whyNot is the reason of a failed installation as the end of a sentence.
func (s *session) whyNot(p project) string {
	if why := s.installFailure(p); why != "" {
		return " (its installation failed: " + why + ")"
	}
	return ""
}

// installFailure is why the last installation of a project failed, "" where it went well.
func (s *session) installFailure(p project) string {
	why, _ := s.broken.Load(s.cacheDir(p))
	text, _ := why.(string)
	return text
}

// blameInstallation makes a failed installation the cause where no test runs, and none ran on the base: without it,
// what the tests say of themselves would be taken for a fault of the code.
func (s *session) blameInstallation(v *loop.Verdict, base *loop.Outcome) {
	if !v.NoTestRuns() || base != nil && len(base.Cases) > 0 {
		return
	}
	for _, p := range s.projects {
		why := s.installFailure(p)
		if why == "" {
			continue
		}
		stage := v.Stages[loop.StageEnvironment]
		stage.Pass = false
		stage.Errors = append(stage.Errors, loop.Failure{
			File: p.file(manifestOf(p)), Kind: string(feedback.KindEnvironment), Rule: "installation-failed",
			Message: "no test runs, and the dependencies could not be installed: " + why,
		})
		v.Stages[loop.StageEnvironment] = stage
		v.Class, v.ClassRule = feedback.ClassEnvironment, "installation-failed"
	}
}

// noise are the lines at the end of an installer's output that say nothing.
var noise = regexp.MustCompile(`(?i)complete log of this run|npm (?:error|ERR!)\s*$|npm (?:error|ERR!) code|^warning|^\s*$|debug-\d+\.log|hint:|notice|^\$ `)

// tellingLine is the first line that speaks of an error, else the last that says anything.
func tellingLine(text string) string {
	const longest = 300 // characters: it stands within a sentence
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if noise.MatchString(line) {
			continue
		}
		last = line
		if strings.Contains(strings.ToLower(line), "error") {
			break
		}
	}
	if runes := []rune(last); len(runes) > longest {
		last = string(runes[:longest]) + "…"
	}
	return last
}

// versionOf asks a program of the sandbox for its version; "" where it does not say.
func (s *session) versionOf(ctx context.Context, p project, m minimum) (string, error) {
	if s.missing[m.program] {
		return "", nil
	}
	if m.program == "python3" && p.interpreter.version != "" {
		return p.interpreter.version, nil
	}
	r, err := s.run(ctx, p, job{args: m.args}, reach{})
	if err != nil || r.result.ExitCode != 0 {
		return "", err
	}
	return versionNumber.FindString(string(r.output)), nil
}

// versionNumber matches the first version in a program's words.
var versionNumber = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)+`)

// older says whether version a comes before b, number by number; a missing one is 0.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		m, n := part(x, i), part(y, i)
		if m != n {
			return m < n
		}
	}
	return false
}

func part(numbers []string, i int) int {
	if i >= len(numbers) {
		return 0
	}
	n, err := strconv.Atoi(numbers[i])
	if err != nil {
		return 0 // "x" and "*" bound nothing
	}
	return n
}

// missingPrograms asks the sandbox, in one command, which of the programs it lacks.
func (s *session) missingPrograms(ctx context.Context) (map[string]bool, error) {
	missing := map[string]bool{}
	if len(s.projects) == 0 {
		return missing, nil
	}
	args := []string{"sh", "-c", `for p; do command -v "$p" >/dev/null || echo "$p"; done`, "sh"}
	for _, p := range s.projects {
		args = append(args, p.needs...)
		if p.manager != "" {
			args = append(args, "npm") // which can bring it
		}
	}
	r, err := s.run(ctx, project{dir: ".", ecosystem: "environment"}, job{args: args}, reach{})
	if err != nil {
		return nil, err
	}
	for _, program := range strings.Fields(string(r.result.Stdout)) {
		missing[program] = true
	}
	return missing, nil
}

// locate finds where an optional tool of a project is, "" where it cannot be started.
func (s *session) locate(ctx context.Context, p project, j job) (string, error) {
	r, err := s.run(ctx, p, job{args: []string{"sh", "-c", `command -v "$0"`, j.args[0]}}, reach{})
	if err != nil || r.result.ExitCode != 0 {
		return "", err
	}
	return strings.TrimSpace(string(r.result.Stdout)), nil
}

// manifestOf names the file that made a directory a project, for the reader of a failure.
func manifestOf(p project) string {
	return map[string]string{
		"go": "go.mod", "node": "package.json", "rust": "Cargo.toml", "maven": "pom.xml", "cmake": "CMakeLists.txt",
		"php": "composer.json", "elixir": "mix.exs", "make": "Makefile",
	}[p.ecosystem]
}
