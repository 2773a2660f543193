package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/sandbox"
	"github.com/seed-7a986423/autocode/loop/verify"
	"github.com/seed-7a986423/autocode/loop/workspace"
)

// TestMain is the standard one; the test binary serves as the sandbox's init by itself.
func TestMain(m *testing.M) { os.Exit(m.Run()) }

// runner adapts the real sandbox to the loop's interface.
type runner struct{ sandbox.Runner }

func (r runner) Run(ctx context.Context, c loop.Command) (loop.CommandResult, error) {
	command := sandbox.Command{Args: c.Args, Dir: c.Dir, Workdir: c.Workdir, Env: c.Env, Stdin: c.Stdin, Limits: sandbox.Limits(c.Limits)}
	for _, m := range c.Mounts {
		command.ReadOnly = append(command.ReadOnly, sandbox.Mount(m))
	}
	result, err := r.Runner.Run(ctx, command)
	return loop.CommandResult{
		ExitCode: result.ExitCode, Reason: loop.EndReason(result.Reason), Stdout: result.Stdout, Stderr: result.Stderr, Wall: result.Wall,
	}, err
}

func (runner) InsidePath(_, hostPath string) string { return hostPath }

// missing skips a test that lacks a component, or fails it where all are required.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// bench is a verifier with real parts and a repository to verify.
type bench struct {
	t        *testing.T
	verifier *verify.Verifier
	space    *workspace.Workspace
	repo     string
}

// newBench makes a bench; needs names programs without which the test cannot run, and changes to the verifier's
// configuration.
func newBench(t *testing.T, needs string, change ...func(*verify.Config)) *bench {
	t.Helper()
	for _, program := range append(strings.Fields(needs), "git") {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, program+" is not installed")
		}
	}
	box, err := sandbox.New(sandbox.Config{StateDir: t.TempDir(), SearchPath: os.Getenv("PATH")})
	var unavailable *sandbox.Unavailable
	if errors.As(err, &unavailable) {
		missing(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	config := verify.Config{Runner: runner{box}, CacheDir: filepath.Join(cache, "autocode", "toolchains"), InstallTries: 1}
	for _, f := range change {
		f(&config)
	}
	verifier, err := verify.New(config)
	if err != nil {
		t.Fatal(err)
	}
	space, err := workspace.New(workspace.Config{Root: t.TempDir(), AllowFile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	b := &bench{t: t, verifier: verifier, space: space, repo: t.TempDir()}
	b.git("init", "-q", "-b", "main")
	return b
}

func (b *bench) git(args ...string) string {
	b.t.Helper()
	c := exec.Command("git", append([]string{"-C", b.repo, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	out, err := c.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files (an empty text removes one) and returns the commit.
func (b *bench) commit(files map[string]string) string {
	b.t.Helper()
	for name, text := range files {
		file := filepath.Join(b.repo, name)
		if text == "" {
			if err := os.Remove(file); err != nil {
				b.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			b.t.Fatal(err)
		}
	}
	b.git("add", "-A")
	b.git("commit", "-q", "--allow-empty", "-m", "c")
	return b.git("rev-parse", "HEAD")
}

// at opens a clone at a commit with its dependencies installed.
func (b *bench) at(commit string) loop.Clone {
	b.t.Helper()
	clone, err := b.space.Open(b.t.Context(), loop.Repo{Owner: "local", Name: "r", CloneURL: b.repo}, "t", commit)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { clone.Close() })
	if err := b.verifier.Setup(b.t.Context(), clone, loop.VerifyConfig{}); err != nil {
		b.t.Fatal(err)
	}
	return clone
}

// verify verifies a commit, against a base where one is given, and holds the verdict to its schema.
func (b *bench) verify(commit string, base *loop.Outcome, change ...func(*loop.VerifyRequest)) loop.Outcome {
	b.t.Helper()
	request := loop.VerifyRequest{Clone: b.at(commit), HeadCommit: commit, Base: base}
	if base != nil {
		request.BaseCommit = base.Verdict.Head
	}
	for _, c := range change {
		c(&request)
	}
	outcome, err := b.verifier.Verify(b.t.Context(), request)
	if err != nil {
		b.t.Fatal(err)
	}
	valid(b.t, outcome.Verdict)
	return outcome
}

// prove proves a commit in the clean room.
func (b *bench) prove(base *loop.Outcome, head string, spec loop.Spec) loop.Outcome {
	b.t.Helper()
	outcome, err := b.verifier.Prove(b.t.Context(), loop.VerifyRequest{
		Clone: b.at(head), Base: base, BaseCommit: base.Verdict.Head, HeadCommit: head, Spec: &spec,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	valid(b.t, outcome.Verdict)
	return outcome
}

// valid holds a verdict to the published schema.
func valid(t *testing.T, v loop.Verdict) {
	t.Helper()
	raw, err := loop.Schema("verify")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("verify.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("verify.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(instance); err != nil {
		t.Errorf("the verdict is not valid: %v\n%s", err, text)
	}
}

// show prints an outcome for a failing test.
func show(o loop.Outcome) string {
	text, _ := json.MarshalIndent(o.Verdict, "", " ")
	for name, log := range o.Logs {
		text = append(text, ("\n--- " + name + "\n" + string(log[:min(len(log), 3000)]))...)
	}
	return string(text)
}

// TestVerify verifies small repositories of every kind. The cases are compared with what the
// tools' own commands say about the same files.
func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name  string
		needs []string
		files map[string]string
		pass  bool
		cases map[string]loop.CaseStatus
		class loop.Class
		told  string // within the JSON
	}{
		{name: "unittest in a directory that is no package", needs: []string{"python3"}, pass: true, files: map[string]string{
			"shop.py":            "def total(a): return sum(a)\n",
			"tests/test_shop.py": "import unittest\nimport shop\nclass T(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(shop.total([1, 2]), 3)\n",
		}, cases: map[string]loop.CaseStatus{"test_shop.T.test_total": loop.CasePassed}},
		{name: "unittest package, src layout, red", needs: []string{"python3"}, class: "code", files: map[string]string{
			"pyproject.toml": "[project]\nname = \"shop\"\nversion = \"1\"\n", "src/shop/__init__.py": "def total(a): return 0\n", "tests/__init__.py": "\n",
			"tests/test_shop.py": "import unittest\nimport shop\nclass T(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(shop.total([1, 2]), 3)\n",
		}, told: `"expected":"3"`},
		{name: "Python's syntax stops the tests", needs: []string{"python3"}, class: "code", files: map[string]string{
			"shop.py": "def total(:\n", "test_shop.py": "import unittest\n",
		}, told: `"reason":"compile failed"`},
		{name: "a Python that nobody has", needs: []string{"python3"}, class: "environment", files: map[string]string{
			"pyproject.toml": "[project]\nname = \"x\"\nrequires-python = \">=9.1\"\n", "x.py": "pass\n",
		}, told: "asks for python3 9.1 or newer"},
		{name: "node's runner without a script", needs: []string{"node"}, class: "code", files: map[string]string{
			"package.json": `{"name": "x"}`,
			"cart.test.js": "const test = require('node:test'); const assert = require('node:assert');\ntest('adds', () => assert.equal(1 + 1, 2));\ntest('subtracts', () => assert.equal(2 - 1, 2));\n",
		}, cases: map[string]loop.CaseStatus{"adds": loop.CasePassed, "subtracts": loop.CaseFailed}, told: "cart.test.js"},
		{name: "a script with several commands", needs: []string{"npm"}, pass: true, files: map[string]string{
			"package.json": `{"name": "x", "scripts": {"test": "node check.js && node --test"}}`, "check.js": "console.log('checked')\n",
			"test/a.test.mjs": "import test from 'node:test';\ntest('goes', () => {});\n",
		}, cases: map[string]loop.CaseStatus{"goes": loop.CasePassed}},
		{name: "workspaces without a test script of the root", needs: []string{"npm"}, class: "code", files: map[string]string{
			"package.json":            `{"name": "root", "private": true, "workspaces": ["packages/*"]}`,
			"packages/a/package.json": `{"name": "a", "version": "1.0.0", "scripts": {"test": "node --test"}}`,
			"packages/a/a.test.js":    "require('node:test')('in a', () => { throw new Error('broken in a') });\n",
		}, cases: map[string]loop.CaseStatus{"packages/a//in a": loop.CaseFailed}, told: "broken in a"},
		{name: "the parts of a script know their package and its workspace", needs: []string{"npm"}, pass: true, files: map[string]string{
			"package.json":     `{"name": "root", "private": true, "workspaces": ["p/*"]}`,
			"p/a/package.json": `{"name": "a", "version": "1.0.0", "scripts": {"test": "npm run lint && node --test", "lint": "node where.js"}}`,
			"p/a/where.js": "const { env, cwd } = process, { dirname, join } = require('path');\nconst here = cwd.call(process);\n" +
				"for (const [name, want] of [['INIT_CWD', here], ['npm_package_json', join(here, 'package.json')], ['npm_config_local_prefix', dirname(dirname(here))]])\n" +
				"  if (env[name] !== want) { console.error(name, env[name], want); process.exit(1); }\n",
			"p/a/a.test.js": "require('node:test')('goes', () => {});\n",
		}, cases: map[string]loop.CaseStatus{"p/a//goes": loop.CasePassed}, told: `"lint":{"pass":true`},
		{name: "a printed success does not count", needs: []string{"npm"}, class: "code", files: map[string]string{
			"package.json": `{"name": "x", "scripts": {"test": "node t.js"}}`, "t.js": "console.log('TAP version 13\\nok 1 - fine\\n1..1\\n# pass 1\\n# fail 0'); process.exit(1)\n",
		}},
		{name: "make alone", needs: []string{"make"}, class: "code", files: map[string]string{
			"Makefile": "test:\n\t@echo nothing works; exit 3\n",
		}},
		{name: "nothing to verify", files: map[string]string{"README.md": "words\n"}, pass: true, told: "nothing to verify was found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, strings.Join(c.needs, " "))
			got := b.verify(b.commit(c.files), nil)
			text, err := json.Marshal(got.Verdict)
			if err != nil {
				t.Fatal(err)
			}
			if got.Verdict.Pass != c.pass || c.class != "" && got.Verdict.Class != c.class || !strings.Contains(string(text), c.told) {
				t.Errorf("pass %v, class %s; want %v, %s, …%s…\n%s", got.Verdict.Pass, got.Verdict.Class, c.pass, c.class, c.told, show(got))
			}
			if c.cases != nil && !maps.Equal(got.Cases, c.cases) {
				t.Errorf("cases %v, want %v\n%s", got.Cases, c.cases, show(got))
			}
		})
	}
}

// TestVerifyGo verifies one repository of several modules: the compiler is slow, so they share it.
func TestVerifyGo(t *testing.T) {
	b := newBench(t, "go")
	base := b.verify(b.commit(map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.20\n", "go.work": "go 1.20\n\nuse .\n",
		"main.go":        "package main\n\nfunc main() { println(double(2)) }\n\nfunc double(n int) int { return n * 3 }\n",
		"main_test.go":   "package main\n\nimport \"testing\"\n\nfunc TestForged(t *testing.T) { println(\"--- FAIL: TestFake (0.00s)\") }\n\nfunc TestDouble(t *testing.T) {\n\tt.Run(\"two\", func(t *testing.T) {\n\t\tif got := double(2); got != 4 {\n\t\t\tt.Errorf(\"got %d, want %d\", got, 4)\n\t\t}\n\t})\n}\n",
		"outside/go.mod": "module example.com/outside\n\ngo 1.20\n", "outside/o.go": "package outside\n",
		"outside/o_test.go": "package outside\n\nimport \"testing\"\n\nfunc TestOut(t *testing.T) {}\n",
	}), nil)
	want := map[string]loop.CaseStatus{
		"example.com/m.TestForged": loop.CasePassed, "example.com/m.TestDouble": loop.CaseFailed, "example.com/m.TestDouble/two": loop.CaseFailed,
		"outside//example.com/outside.TestOut": loop.CasePassed,
	}
	if base.Verdict.Pass || !maps.Equal(base.Cases, want) {
		t.Fatalf("cases %v, want %v\n%s", base.Cases, want, show(base))
	}
	head := b.commit(map[string]string{
		"main.go":        "package main\n\nfunc main() { println(double(2), triple(1)) }\n\nfunc double(n int) int { return n * 2 }\n\nfunc triple(n int) int { return n * 3 }\n",
		"triple_test.go": "package main\n\nimport \"testing\"\n\nfunc TestTriple(t *testing.T) {\n\tif triple(1) != 3 {\n\t\tt.Error(\"no\")\n\t}\n}\n",
	})
	got := b.prove(&base, head, loop.Spec{Kind: loop.KindFeature, Criteria: []loop.Criterion{
		{ID: "AC1", TestHook: "TestTriple", Proof: loop.ProofRedGreen},
		{ID: "AC2", TestHook: "example.com/m.TestForged", Proof: loop.ProofGreenGreen},
		{ID: "AC3", TestHook: "TestNowhere", Proof: loop.ProofRedGreen},
	}})
	var proofs []loop.ProofKind
	for _, a := range got.Verdict.Acceptance {
		proofs = append(proofs, a.Proof)
	}
	if want := []loop.ProofKind{loop.ProofRedGreen, loop.ProofNone, loop.ProofNone}; !slices.Equal(proofs, want) {
		t.Errorf("proved %v, want %v\n%s", proofs, want, show(got))
	}
	unit := got.Verdict.Stages[loop.StageUnit]
	if !unit.Pass || !slices.Equal(unit.Tests.Fixed, []string{"example.com/m.TestDouble", "example.com/m.TestDouble/two"}) {
		t.Errorf("the unit stage is not green with two fixed tests\n%s", show(got))
	}
	newer := b.verify(b.commit(map[string]string{"go.mod": "module example.com/m\n\ngo 1.999\n"}), nil)
	if newer.Verdict.Class != "environment" || newer.Verdict.Stages[loop.StageEnvironment].Pass {
		t.Errorf("a go directive newer than the toolchain is not told by the environment stage\n%s", show(newer))
	}
}

// TestLimits tells how a command was ended by the runner's facts.
func TestLimits(t *testing.T) {
	b := newBench(t, "make")
	commit := b.commit(map[string]string{"Makefile": "test:\n\t@yes word | head -c 300000; sleep 100\n"})
	for _, c := range []struct {
		name   string
		limits loop.CommandLimits
		class  loop.Class
		told   string
	}{
		{"time", loop.CommandLimits{Timeout: time.Second}, "timeout", "time limit"},
		{"output", loop.CommandLimits{Output: 100_000}, "code", "output-limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := b.verify(commit, nil, func(r *loop.VerifyRequest) { r.Limits = c.limits })
			if got.Verdict.Pass || got.Verdict.Class != c.class || !strings.Contains(show(got), c.told) {
				t.Errorf("want class %s and %q\n%s", c.class, c.told, show(got))
			}
		})
	}
}

// TestFlaky runs a test again that was green on the base and is red now.
func TestFlaky(t *testing.T) {
	b := newBench(t, "npm")
	base := b.verify(b.commit(map[string]string{
		"package.json": `{"name": "x", "scripts": {"test": "node --test"}}`, "a.test.js": "require('node:test')('a', () => {});\n",
	}), nil)
	// It fails the first time that it runs in a clone, and never again.
	got := b.verify(b.commit(map[string]string{
		"a.test.js": "const fs = require('fs');\nrequire('node:test')('a', () => { if (!fs.existsSync('../seen')) { fs.writeFileSync('../seen', ''); throw new Error('by chance'); } });\n",
	}), &base)
	unit := got.Verdict.Stages[loop.StageUnit]
	if !got.Verdict.Pass || !slices.Equal(unit.Tests.Flaky, []string{"a"}) || len(unit.Tests.Regressions) != 0 {
		t.Errorf("not told as flaky\n%s", show(got))
	}
}
