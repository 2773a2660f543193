package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop/edit"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

// sampleChecks says how each sample's tests are run and what their output must hold while the
// scripted model's first patch is in, and on the base with the new tests alone: the failing
// assertion, so that a test which is red for another reason is found out.
var sampleChecks = map[string]struct {
	tests []string
	// green is what the output holds where tests ran and all passed.
	green string
	// red is what the first patch leaves, beside the texts by which the script chooses the second.
	red []string
	// base is what the new tests say without any patch.
	base []string
}{
	"go": {
		tests: []string{"go", "test", "./..."},
		green: "ok  \texample.com/kiosk/internal/invoice",
		red:   []string{"TestCreditCancelsInvoice/one_line"},
		base:  []string{"TestCreditCancelsInvoice/one_line", "invoice and credit note leave 0.01, want 0.00"},
	},
	"python": {
		tests: []string{"python3", "-m", "unittest", "discover"},
		green: "\n\nOK\n",
		red:   []string{"test_shift_over_midnight (tests.test_pay.TestEarned", "'emil       -16:00'"},
		base:  []string{"test_shift_over_midnight (tests.test_report.TestWeekly", "AssertionError", "{'emil': Decimal('-296.00')}"},
	},
	"node": {
		tests: []string{"node", "--test"},
		green: "fail 0\n",
		red:   []string{"shows a monthly reminder of the 31st on the last day of a short month"},
		base:  []string{"shows a monthly reminder of the 31st on the last day of a short month", "Expected values to be strictly deep-equal"},
	},
}

// TestSamples plays each script by hand: green base, red first patch, green second patch, and the
// new tests red on the base.
func TestSamples(t *testing.T) {
	for _, name := range sampleNames {
		t.Run(name, func(t *testing.T) {
			check, there := sampleChecks[name]
			if !there {
				t.Fatalf("sampleChecks has nothing about %s", name)
			}
			needTool(t, check.tests[0])
			s, err := loadSample(name)
			if err != nil {
				t.Fatal(err)
			}
			first, second, marks := patches(t, s)
			dir, base := t.TempDir(), t.TempDir()
			for _, d := range []string{dir, base} {
				if err := os.CopyFS(d, s.Files); err != nil {
					t.Fatal(err)
				}
			}
			wantGreen(t, "base", dir, check.tests, check.green)
			applyReply(t, dir, first)
			wantRed(t, "first patch", dir, check.tests, append(marks, check.red...))
			lacks(t, dir, marks)
			copyNewTests(t, first, dir, base)
			wantRed(t, "new tests on the base", base, check.tests, check.base)
			applyReply(t, dir, second)
			wantGreen(t, "second patch", dir, check.tests, check.green)
		})
	}
}

// TestSampleShape holds what the demo relies on without running anything.
func TestSampleShape(t *testing.T) {
	const fewest, most = 8, 20 // files of a sample
	for _, name := range sampleNames {
		t.Run(name, func(t *testing.T) {
			s, err := loadSample(name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Title == "" || strings.HasPrefix(s.Title, "#") || strings.TrimSpace(s.Body) == "" {
				t.Errorf("the issue has the title %q and the body %q", s.Title, s.Body)
			}
			files := 0
			err = fs.WalkDir(s.Files, ".", func(_ string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					files++
				}
				return err
			})
			if err != nil || files < fewest || files > most {
				t.Errorf("%d files (%v), want %d to %d", files, err, fewest, most)
			}
			for _, r := range s.Script.Rules {
				// All samples may share one server, and no rule may answer what it was not written for.
				if r.Purpose == "" || r.Repeat || !slices.ContainsFunc(r.Contains, func(text string) bool { return strings.Contains(s.Title, text) }) {
					t.Errorf("the rule %q is not bound to a purpose and to its issue, or answers for ever", r.Name)
				}
			}
		})
	}
}

func TestLoadSampleUnknown(t *testing.T) {
	_, err := loadSample("cobol")
	if err == nil || !strings.Contains(err.Error(), `"cobol"`) || !strings.Contains(err.Error(), "go, python, node") {
		t.Errorf("error %v, want one that names cobol and the samples there are", err)
	}
}

// patches returns a script's two patches and the texts by which the second is chosen.
func patches(t *testing.T, s sample) (first, second string, marks []string) {
	t.Helper()
	var code []modeltest.Rule
	for _, r := range s.Script.Rules {
		if r.Purpose == "code" {
			code = append(code, r)
		}
	}
	if len(code) != 2 || len(code[0].Replies) != 1 || len(code[1].Replies) != 1 {
		t.Fatalf("the script has %d rules for code, want the second patch and then the first, one reply each", len(code))
	}
	for _, text := range code[0].Contains {
		if !strings.Contains(s.Title, text) {
			marks = append(marks, text)
		}
	}
	if len(marks) == 0 {
		t.Fatal("nothing of a failure chooses the second patch")
	}
	return code[1].Replies[0].Text, code[0].Replies[0].Text, marks
}

// lacks checks that no file holds any of the texts: the prompts show files, and the second patch
// must be chosen by what the tests said alone.
func lacks(t *testing.T, dir string, texts []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, p))
		for _, text := range texts {
			if strings.Contains(string(content), text) {
				t.Errorf("%s holds %q", p, text)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func applyReply(t *testing.T, dir, reply string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	result, err := edit.Apply(t.Context(), root, []byte(reply), edit.Options{})
	if err != nil || !result.OK() {
		t.Fatalf("the reply does not apply: %v\n%s", err, result.Text())
	}
	for _, a := range result.Applied {
		if a.Op == edit.OpEdit && a.Match != edit.MatchExact {
			t.Errorf("%s: the block matches as %s only", a.Path, a.Match)
		}
	}
}

// copyNewTests brings the test files that a reply changes to another tree.
func copyNewTests(t *testing.T, reply, from, to string) {
	t.Helper()
	copied := 0
	for _, block := range edit.Parse([]byte(reply)).Blocks {
		p := block.Path
		if !strings.Contains(filepath.Base(p), "test") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(from, p))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, p), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		copied++
	}
	if copied == 0 {
		t.Fatal("the first reply has no test")
	}
}

func wantGreen(t *testing.T, state, dir string, command []string, says string) {
	t.Helper()
	output, err := runTests(t.Context(), dir, command)
	if err != nil || !strings.Contains(output, says) {
		t.Fatalf("%s: %v, want %q\n%s", state, err, says, output)
	}
}

func wantRed(t *testing.T, state, dir string, command, says []string) {
	t.Helper()
	output, err := runTests(t.Context(), dir, command)
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("%s: %v, want failing tests\n%s", state, err, output)
	}
	for _, text := range says {
		if !strings.Contains(output, text) {
			t.Errorf("%s: the output lacks %q\n%s", state, text, output)
		}
	}
}

func runTests(ctx context.Context, dir string, command []string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	// What this test's own go command was told must not reach the sample's. Python's bytecode of a
	// file that changes within a second would be taken for fresh.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "PYTHONDONTWRITEBYTECODE=1", "NODE_OPTIONS=", "NO_COLOR=1")
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// needTool skips where a tool is missing, and fails where all are required.
func needTool(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err == nil {
		return
	}
	if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" {
		t.Fatalf("%s is not installed", tool)
	}
	t.Skipf("%s is not installed", tool)
}
