package verify

import (
	"os"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// golang verifies Go modules: every go.mod is a project.
func golang() ecosystem {
	return ecosystem{
		name:   "go",
		nested: func(_, child scan) bool { return child.has("go.mod") },
		detect: func(s scan) (project, bool) {
			if !s.has("go.mod") {
				return project{}, false
			}
			p := project{
				needs: []string{"go"},
				jobs: []job{
					// Without -o, a module with one program would leave it in the worktree.
					{stage: loop.StageCompile, args: []string{"go", "build", "-o", os.DevNull, "./..."}, direct: true},
					{
						// It vets the packages that it tests, too; a lint stage is for what a repository
						// configures. -count=1: a cached result proves nothing about this run.
						stage: loop.StageUnit, args: []string{"go", "test", "-json", "-count=1", "./..."},
						rerun: rerunGo, direct: true,
					},
				},
			}
			if outsideWorkspace(s) {
				p.env = append(p.env, "GOWORK=off")
			}
			if version := goDirective.FindStringSubmatch(s.read("go.mod")); version != nil {
				p.versions = []minimum{{program: "go", args: []string{"go", "env", "GOVERSION"}, least: version[1], manifest: "go.mod"}}
			}
			if s.has("go.sum") && len(s.list("vendor")) == 0 {
				p.install = []job{{args: []string{"go", "mod", "download"}, network: "go"}}
			}
			if s.has(".golangci.yml") || s.has(".golangci.yaml") || s.has(".golangci.toml") {
				p.jobs = append(p.jobs, job{
					stage: loop.StageLint, args: []string{"golangci-lint", "run", "--timeout=10m"}, optional: true,
				})
			}
			return p, true
		},
	}
}

// goDirective finds the version that a module needs.
var goDirective = regexp.MustCompile(`(?m)^go\s+([0-9][0-9.]*)`)

// workspaceUse finds the modules that a go.work names, in its short form and in its list.
var workspaceUse = regexp.MustCompile(`(?m)^\s*(?:use\s+)?"?(\.[^\s")]*)"?\s*(?://.*)?$`)

// outsideWorkspace says whether a go.work above the module leaves it out: then the go command would
// refuse to build it.
func outsideWorkspace(s scan) bool {
	for dir := s.dir; ; dir = path.Dir(dir) {
		above := scan{fsys: s.fsys, dir: dir}
		if text := above.read("go.work"); text != "" {
			for _, use := range workspaceUse.FindAllStringSubmatch(text, -1) {
				if path.Join(dir, use[1]) == s.dir {
					return false
				}
			}
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// goTest matches the test's name at the end of an id: PACKAGE.TestName/sub.
var goTest = regexp.MustCompile(`^(.*)\.((?:Test|Example|Fuzz|Benchmark)[^/.]*)(/.*)?$`)

// rerunGo runs top-level tests of the named packages again.
func rerunGo(ids []string) []string {
	packages, tests := map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		m := goTest.FindStringSubmatch(id)
		if m == nil {
			return nil
		}
		packages[m[1]], tests[m[2]] = true, true
	}
	return slices.Concat(
		[]string{"go", "test", "-json", "-count=1", "-run", "^(" + strings.Join(keys(tests), "|") + ")$"},
		keys(packages))
}

// keys lists a set in order.
func keys(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for k := range set {
		list = append(list, k)
	}
	sort.Strings(list)
	return list
}
