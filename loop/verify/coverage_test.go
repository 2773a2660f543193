package verify_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// TestCoverage adds a function that no test calls to a green repository, then a test for it.
func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		name          string
		needs         string
		base          map[string]string
		change, tests map[string]string
		file          string // where the uncovered lines are
		line          int
	}{
		{
			name: "Go", needs: "go", file: "shop/shop.go", line: 6,
			base: map[string]string{
				"go.mod": "module example.com/m\n\ngo 1.20\n", "shop/shop.go": "package shop\n\nfunc Total(a, b int) int { return a + b }\n",
				"all/all_test.go": "package all\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/shop\"\n)\n\nfunc TestTotal(t *testing.T) {\n\tif shop.Total(1, 2) != 3 {\n\t\tt.Error(\"no\")\n\t}\n}\n",
			},
			change: map[string]string{"shop/shop.go": "package shop\n\nfunc Total(a, b int) int { return a + b }\n\n// Half halves.\nfunc Half(a int) int {\n\tif a < 0 {\n\t\treturn 0\n\t}\n\treturn a / 2\n}\n"},
		},
		{
			name: "Python", needs: "python3", file: "shop.py", line: 6,
			base: map[string]string{
				"shop.py": "def total(a, b):\n    return a + b\n", "test_shop.py": "import shop\ndef test_total():\n    assert shop.total(1, 2) == 3\n",
			},
			change: map[string]string{"shop.py": "def total(a, b):\n    return a + b\n\n# halves\ndef half(a):\n    if a < 0:\n        return 0\n    return a / 2\n"},
			tests:  map[string]string{"test_half.py": "import shop\ndef test_half():\n    assert (shop.half(4), shop.half(-1)) == (2, 0)\n"},
		},
		{
			name: "Python, a file for each process", needs: "python3", file: "shop.py", line: 6,
			base: map[string]string{
				".coveragerc": "[run]\nsource = .\nparallel = true\n",
				"shop.py":     "def total(a, b):\n    return a + b\n", "test_shop.py": "import shop\ndef test_total():\n    assert shop.total(1, 2) == 3\n",
			},
			change: map[string]string{"shop.py": "def total(a, b):\n    return a + b\n\n# halves\ndef half(a):\n    if a < 0:\n        return 0\n    return a / 2\n"},
			tests:  map[string]string{"test_half.py": "import shop\ndef test_half():\n    assert (shop.half(4), shop.half(-1)) == (2, 0)\n"},
		},
		{
			name: "Node", needs: "npm", file: "shop.js", line: 4,
			base: map[string]string{
				"package.json": `{"name": "shop", "scripts": {"test": "node --test"}}`, "shop.js": "exports.total = (a, b) => a + b;\n",
				"shop.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst shop = require('./shop.js');\ntest('total', () => assert.equal(shop.total(1, 2), 3));\n",
			},
			change: map[string]string{"shop.js": "exports.total = (a, b) => a + b;\n\n// Halves.\nexports.half = function (a) {\n  if (a < 0) {\n    return 0;\n  }\n  const two = 2;\n  const half = a / two;\n  return half;\n};\n"},
			tests:  map[string]string{"half.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst shop = require('./shop.js');\ntest('half', () => { assert.equal(shop.half(4), 2); assert.equal(shop.half(-1), 0); });\n"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.needs)
			// A threshold that is asked for is measured however long the tests take on this machine.
			threshold := 60.0
			asked := func(r *loop.VerifyRequest) { r.Config.CoverageThreshold = &threshold }
			if c.needs == "python3" {
				needsCoveragePy(t)
			}
			base := b.verify(b.commit(c.base), nil)
			if !base.Verdict.Pass {
				t.Fatalf("the base is red\n%s", show(base))
			}
			got := b.verify(b.commit(c.change), &base, asked)
			stage := got.Verdict.Stages[loop.StageCoverage]
			if got.Verdict.Pass || stage.Pass || got.Verdict.NextAction != loop.NextCoverage || stage.Total == nil || stage.Changed == nil || *stage.Threshold != 60 {
				t.Fatalf("an uncovered change passes\n%s", show(got))
			}
			found := false
			for _, f := range stage.Errors {
				found = found || f.File == c.file && f.Line >= c.line && strings.HasPrefix(f.Message, "no test runs line")
			}
			if !found {
				t.Errorf("no uncovered line of %s from %d on is named\n%s", c.file, c.line, show(got))
			}
			if c.tests == nil {
				return // the compiler is slow, and the other languages show it
			}
			got = b.verify(b.commit(c.tests), &base, asked)
			stage = got.Verdict.Stages[loop.StageCoverage]
			if !got.Verdict.Pass || stage.Changed == nil || *stage.Changed != 100 {
				t.Errorf("a covered change is red\n%s", show(got))
			}
		})
	}
}

// TestCoverageNotMeasured: what cannot be measured is told and nothing more.
func TestCoverageNotMeasured(t *testing.T) {
	t.Parallel()
	b := newBench(t, "npm")
	base := b.verify(b.commit(map[string]string{"package.json": `{"name": "x", "scripts": {"test": "node check.test.js"}}`, "check.test.js": "console.log('checked')\n", "x.js": "exports.x = 1;\n"}), nil)
	got := b.verify(b.commit(map[string]string{"x.js": "exports.x = 1;\nexports.y = function () { return 2; };\n"}), &base)
	stage := got.Verdict.Stages[loop.StageCoverage]
	if !got.Verdict.Pass || !stage.NotRun || !strings.Contains(stage.Reason, "left no report") {
		t.Errorf("%s", show(got))
	}
	got = b.verify(b.commit(map[string]string{"README.md": "words\n", "x.js": "exports.x = 1;\n"}), &base)
	if _, ran := got.Verdict.Stages[loop.StageCoverage]; ran {
		t.Errorf("coverage of a change without code\n%s", show(got))
	}
}

// TestCoverageConfigured: a repository's own command, with a report where such tools write.
func TestCoverageConfigured(t *testing.T) {
	t.Parallel()
	b := newBench(t, "sh")
	config := loop.VerifyConfig{Commands: map[loop.StageName][]string{
		loop.StageUnit: {"true"}, loop.StageCoverage: {`mkdir -p coverage; printf 'SF:a.sh\nDA:1,1\nDA:2,0\nDA:3,0\nend_of_record\n' >coverage/lcov.info`},
	}}
	own := func(r *loop.VerifyRequest) { r.Config = config }
	base := b.verify(b.commit(map[string]string{"a.sh": "one\n"}), nil, own)
	head := b.commit(map[string]string{"a.sh": "one\ntwo\nthree\n"})
	got := b.verify(head, &base, own)
	if stage := got.Verdict.Stages[loop.StageCoverage]; stage.Pass || stage.Changed == nil || *stage.Changed != 0 || int(*stage.Total) != 33 {
		t.Errorf("%s", show(got))
	}
	off := 0.0
	config.CoverageThreshold = &off
	if got := b.verify(head, &base, own); !got.Verdict.Pass {
		t.Errorf("a gate that is off is red\n%s", show(got))
	}
}

// needsCoveragePy ends a test where coverage.py or pytest is not installed.
func needsCoveragePy(t *testing.T) {
	t.Helper()
	probe := exec.Command("/usr/bin/python3", "-c", "import coverage, pytest")
	probe.Dir = t.TempDir() // in this one the package's directory coverage would be imported
	if probe.Run() != nil {
		missing(t, "the Python module coverage is not installed or pytest (apt-get install python3-coverage python3-pytest)")
	}
}

// TestTestsRunWhereMeasuringFails has a configuration of coverage.py whose plugin is not installed.
func TestTestsRunWhereMeasuringFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, "python3")
	needsCoveragePy(t)
	base := b.verify(b.commit(map[string]string{
		".coveragerc": "[run]\nplugins = not_installed_here\n",
		"shop.py":     "def total(a, b):\n    return a + b\n", "test_shop.py": "import shop\ndef test_total():\n    assert shop.total(1, 2) == 3\n",
	}), nil)
	if !base.Verdict.Pass {
		t.Fatalf("the base is red\n%s", show(base))
	}
	got := b.verify(b.commit(map[string]string{"shop.py": "def total(a, b):\n    # adds\n    both = a + b\n    return both\n"}), &base)
	unit, measured := got.Verdict.Stages[loop.StageUnit], got.Verdict.Stages[loop.StageCoverage]
	if !got.Verdict.Pass || unit.Tests == nil || unit.Tests.Passed != 1 || !measured.NotRun || !strings.Contains(measured.Reason, "not_installed_here") {
		t.Errorf("a plugin of the measuring tool is missing\n%s", show(got))
	}
}
