package verify_test

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/verify"
)

// npmRegistry plays npm's registry in front of the real sandbox, which has no network in tests: what npm would download
// as the package manager is a program that says its own version and runs scripts as npm does. It refuses lock files as
// the real ones do where stale is set.
type npmRegistry struct {
	runner
	asked *[]string
	stale string // the manager's words
}

func (r npmRegistry) Run(ctx context.Context, c loop.Command) (loop.CommandResult, error) {
	at := slices.Index(c.Args, "--prefix")
	if at < 0 || c.Args[at-1] != "install" {
		return r.runner.Run(ctx, c)
	}
	spec := c.Args[len(c.Args)-1]
	*r.asked = append(*r.asked, spec)
	name, later := "pnpm", "0"
	if strings.Contains(spec, "yarn") {
		name = "yarn"
	}
	if strings.HasPrefix(spec, "@yarnpkg/") {
		later = "1" // which ends at a setting of yarn 1
	}
	c.Args = []string{"sh", "-c", `mkdir -p "$1/node_modules/.bin" && cat >"$1/node_modules/.bin/$2" && chmod +x "$1/node_modules/.bin/$2"`, "sh", c.Args[at+1], name}
	c.Stdin = []byte("#!/bin/sh\ncase \"$*\" in *frozen*) echo '" + r.stale + "'; [ -z '" + r.stale + "' ] || exit 1;; esac\n[ -z \"$YARN_IGNORE_SCRIPTS\" ] || [ " + later + " = 0 ] || { echo 'Unrecognized or legacy configuration settings found: ignoreScripts'; exit 1; }\ncase $1 in install) mkdir -p node_modules; echo \"$@\" >node_modules/how;; *) exec npm \"$@\";; esac\n")
	return r.runner.Run(ctx, c)
}

// TestPackageManagerIsBrought: a repository of pnpm or yarn is verified where neither is installed, in the version that
// it names, and the later clones of a run have what the first one fetched.
func TestPackageManagerIsBrought(t *testing.T) {
	for _, name := range []string{"pnpm", "yarn"} {
		if _, err := exec.LookPath(name); err == nil {
			t.Skip(name + " is installed here, so that nothing is brought")
		}
	}
	const passes = "require('node:test')('adds', () => require('node:assert').equal(1 + 1, 2));\n"
	for _, c := range []struct {
		name, manifest, lock, text, spec, stale, how string
	}{
		{name: "named", manifest: `"packageManager": "pnpm@9.12.1+sha512.abc", `, lock: "pnpm-lock.yaml", text: "lockfileVersion: '6.0'\n", spec: "pnpm@9.12.1", how: "install --frozen-lockfile --ignore-scripts"},
		{name: "by the lock file", lock: "pnpm-lock.yaml", text: "lockfileVersion: '6.0'\n", spec: "pnpm@8", how: "install --frozen-lockfile --ignore-scripts"},
		{name: "a lock file that is too old", lock: "pnpm-lock.yaml", text: "lockfileVersion: '9.0'\n", spec: "pnpm@9", stale: "ERR_PNPM_OUTDATED_LOCKFILE", how: "install --no-lockfile --ignore-scripts"},
		{name: "yarn 1", lock: "yarn.lock", text: "# yarn lockfile v1\n", spec: "yarn@1", how: "install --frozen-lockfile --ignore-scripts"},
		{name: "a later yarn", lock: "yarn.lock", text: "# generated\n\n__metadata:\n  version: 8\n", spec: "@yarnpkg/cli-dist@4", how: "install --immutable --mode=skip-build"},
		{name: "no version at all", manifest: `"packageManager": "yarn@https://example.com/x.js", `, lock: "yarn.lock", text: "# yarn lockfile v1\n", spec: "yarn@1", how: "install --frozen-lockfile --ignore-scripts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			b := newBench(t, "node npm", func(config *verify.Config) {
				config.Runner = npmRegistry{config.Runner.(runner), &asked, c.stale}
				config.InstallDir = t.TempDir()
			})
			commit := b.commit(map[string]string{
				"package.json": `{"name": "a", ` + c.manifest + `"scripts": {"test": "cat node_modules/how && node --test"}, "devDependencies": {"x": "1"}}`,
				c.lock:         c.text, "a.test.js": passes,
			})
			for range 2 {
				outcome := b.verify(commit, nil)
				if !outcome.Verdict.Pass || outcome.Verdict.Stages[loop.StageUnit].Passed != 1 {
					t.Fatal(show(outcome))
				}
				if log := string(outcome.Logs["unit"]); !strings.Contains(log, "\n"+c.how+"\n") {
					t.Errorf("dependencies were not installed by %q:\n%s", c.how, log)
				}
			}
			if !slices.Equal(asked, []string{c.spec}) {
				t.Errorf("the registry was asked for %q, not for %q once", asked, c.spec)
			}
		})
	}
}

// TestFailedInstallation: where no test runs for want of dependencies, the environment is at fault; where tests run all the
// same, they count, and a change after which none runs is at fault itself.
func TestFailedInstallation(t *testing.T) {
	manifest := func(test string) map[string]string {
		return map[string]string{
			"package.json": `{"name": "a", "scripts": {"test": "` + test + `"}, "dependencies": {"gone": "file:./gone.tgz"}}`,
			"a.test.js":    "require('node:test')('adds', () => require('node:assert').equal(1 + 1, 2));\n",
			"b.test.js":    "require('gone');\n",
		}
	}
	b := newBench(t, "node npm")
	needy := b.verify(b.commit(manifest("node --test b.test.js")), nil).Verdict
	if needy.Pass || needy.Class != feedback.ClassEnvironment || needy.ClassRule != "installation-failed" || needy.Stages[loop.StageEnvironment].Pass {
		t.Errorf("%+v", needy)
	}
	base := b.verify(b.commit(manifest("node --test a.test.js")), nil)
	if !base.Verdict.Pass {
		t.Errorf("%+v", base.Verdict)
	}
	if got := b.verify(b.commit(manifest("node -e 'process.exit(3)'")), &base).Verdict; got.Pass || got.Class == feedback.ClassEnvironment {
		t.Errorf("tests ran on the base in the same environment: %+v", got)
	}
}
