package verify

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// packageJSON is what verification reads of a package.json.
type packageJSON struct {
	Scripts         map[string]string `json:"scripts"`
	Dependencies    map[string]string `json:"dependencies"`
	DevDependencies map[string]string `json:"devDependencies"`
	Workspaces      json.RawMessage   `json:"workspaces"`
	PackageManager  string            `json:"packageManager"`
	Wireit          json.RawMessage   `json:"wireit"`
	Engines         struct {
		Node string `json:"node"`
	} `json:"engines"`
	order []string // the names of the scripts as they stand in the file
}

// node verifies packages with npm, pnpm or yarn, and with node's own test runner where no script
// says otherwise.
func node() ecosystem {
	return ecosystem{
		name: "node",
		nested: func(parent, child scan) bool {
			if !child.has("package.json") {
				return false
			}
			if readPackage(child).testScript() == "" {
				return false
			}
			// Workspaces are tested from their root, where that has a script for it.
			return !isWorkspace(parent) || readPackage(parent).testScript() == "" || delegates(readPackage(parent).testScript())
		},
		detect: func(s scan) (project, bool) {
			if !s.has("package.json") {
				return project{}, false
			}
			pkg := readPackage(s)
			manager, spec := packageManagerOf(s, pkg)
			p := project{needs: []string{"node"}}
			if manager != "npm" || pkg.Scripts["test"] != "" {
				p.needs = append(p.needs, manager)
			}
			if manager != "npm" {
				p.manager, p.managerSpec = manager, spec
			}
			if least := leastVersion(pkg.Engines.Node); least != "" {
				p.versions = []minimum{{program: "node", args: []string{"node", "--version"}, least: least, manifest: "package.json", advice: true}}
			}
			if len(pkg.Dependencies)+len(pkg.DevDependencies) > 0 && !inWorkspace(s) || isWorkspace(s) {
				p.install = []job{{args: nodeInstall(s, manager, spec), network: "npm"}}
			}
			taken := takeApart(pkg, "test")
			apart := taken.jobs(depthOf(s.dir))
			if apart == nil {
				taken.visited = nil
			}
			if build := pkg.Scripts["build"]; !taken.visited["build"] && build != "" && (s.has("tsconfig.json") || usesOutput.MatchString(pkg.testScript())) {
				p.jobs = append(p.jobs, job{stage: loop.StageCompile, args: []string{manager, "run", "build"}})
			}
			if pkg.Scripts["lint"] != "" && !taken.visited["lint"] {
				p.jobs = append(p.jobs, job{stage: loop.StageLint, args: []string{manager, "run", "lint"}})
			}
			if types, ok := nodeTypes(s, pkg, manager); ok && !slices.ContainsFunc(apart, func(j job) bool { return j.stage == loop.StageTypes }) {
				p.jobs = append(p.jobs, types)
			}
			if apart != nil {
				p.jobs = append(p.jobs, apart...)
				return p, true
			}
			if isWorkspace(s) && delegates(pkg.testScript()) {
				return p, true // its packages are projects of their own
			}
			if unit, ok := nodeTests(s, pkg, manager); ok {
				p.jobs = append(p.jobs, unit)
			}
			return p, true
		},
	}
}

// usesOutput finds a test script that runs what the build script makes.
var usesOutput = regexp.MustCompile(`\b(dist|build|out|lib)/`)

// testScript is the script that tests the package, "" where there is none or npm's placeholder.
func (p packageJSON) testScript() string {
	if script := p.Scripts["test"]; !strings.Contains(script, noTests) {
		return script
	}
	return ""
}

// isWorkspace says whether a directory is the root of several packages that are installed together.
func isWorkspace(s scan) bool {
	return len(readPackage(s).Workspaces) > 0 || s.has("pnpm-workspace.yaml")
}

// depthOf is how many directories lie between a project and the worktree's root.
func depthOf(dir string) int {
	if dir == "." {
		return 0
	}
	return strings.Count(dir, "/") + 1
}

// inWorkspace says whether a directory above is such a root.
func inWorkspace(s scan) bool {
	for dir := s.dir; dir != "."; {
		dir = path.Dir(dir)
		above := scan{fsys: s.fsys, dir: dir}
		if len(readPackage(above).Workspaces) > 0 || above.read("pnpm-workspace.yaml") != "" {
			return true
		}
	}
	return false
}

// nodeTypes chooses the type check: the package's own script, else TypeScript's compiler where the
// package has it and no build that would say the same.
func nodeTypes(s scan, pkg packageJSON, manager string) (job, bool) {
	for _, name := range []string{"typecheck", "type-check", "check-types", "types", "tsc"} {
		if pkg.Scripts[name] != "" {
			return job{stage: loop.StageTypes, args: []string{manager, "run", name}}, true
		}
	}
	_, dependency := pkg.Dependencies["typescript"]
	_, development := pkg.DevDependencies["typescript"]
	if s.has("tsconfig.json") && (dependency || development) && !strings.Contains(pkg.Scripts["build"], "tsc") {
		return job{stage: loop.StageTypes, args: []string{"node_modules/.bin/tsc", "--noEmit", "-p", "."}, optional: true}, true
	}
	return job{}, false
}

func readPackage(s scan) packageJSON {
	var pkg packageJSON
	// A package.json that does not parse has no scripts; npm will say so in the stage.
	text := []byte(s.read("package.json"))
	_ = json.Unmarshal(text, &pkg)
	var raw struct {
		Scripts json.RawMessage `json:"scripts"`
	}
	if json.Unmarshal(text, &raw) != nil {
		return pkg
	}
	pkg.order = keysInOrder(raw.Scripts)
	return pkg
}

// keysInOrder lists the keys of a JSON object as they stand in it.
func keysInOrder(object json.RawMessage) []string {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil // there is none
	}
	var list []string
	for decoder.More() {
		key, err := decoder.Token()
		name, is := key.(string)
		var value json.RawMessage
		if err != nil || !is || decoder.Decode(&value) != nil {
			break
		}
		list = append(list, name)
	}
	return list
}

// runnerWord finds a test runner that a script starts by its name.
var runnerWord = regexp.MustCompile(`(?:^|[\s;&/])(jest|vitest|mocha|ava|tap)(?:\.[cm]?js)?(?:$|\s)`)

// noTests is npm's own placeholder for a package without tests.
const noTests = "no test specified"

// nodeTests chooses how to run the tests: the package's own script, with the arguments that make
// a known runner name every test; node's runner where there is no script but tests are there.
func nodeTests(s scan, pkg packageJSON, manager string) (job, bool) {
	if script := pkg.testScript(); script != "" {
		args := []string{manager, "test"}
		if manager == "npm" {
			args = append(args, "--silent")
		}
		tool := ""
		if m := runnerWord.FindStringSubmatch(lastCommand(script)); m != nil {
			tool = m[1] // the manager puts further arguments behind the script
		}
		separator := []string{"--"}
		if manager == "yarn" {
			separator = nil // yarn 1 passes them on by itself and prints a warning for "--"
		}
		if further := runnerArguments[tool]; further != nil {
			args = slices.Concat(args, separator, further)
		}
		return job{stage: loop.StageUnit, args: args, speaks: spoken(pkg.Scripts, "test", strings.Join(args, " "))}, true
	}
	// The packages of a workspace are tested by their own scripts.
	if !isWorkspace(s) && slices.ContainsFunc(s.below, isNodeTest) {
		return job{stage: loop.StageUnit, args: []string{"node", "--test", "--test-reporter=tap"}, direct: true}, true
	}
	return job{}, false
}

// isNodeTest says whether a path is a test by the naming rules of node:test, jest and vitest.
func isNodeTest(p string) bool {
	name := path.Base(p)
	ext := path.Ext(name)
	switch ext {
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx":
	default:
		return false
	}
	stem := strings.TrimSuffix(name, ext)
	return strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec") || strings.HasSuffix(stem, "-test") || strings.HasSuffix(stem, "_test") ||
		stem == "test" || strings.HasPrefix(stem, "test-") || slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(d string) bool { return d == "test" || d == "tests" || d == "__tests__" })
}

// scriptEnd divides a script into the commands that a shell runs one by one.
var scriptEnd = regexp.MustCompile(`&&|\|\||[;&|\n]`)

// lastCommand is what further arguments of a script go to.
func lastCommand(script string) string {
	commands := scriptEnd.Split(script, -1)
	return commands[len(commands)-1]
}

// scriptCall finds scripts that a script calls.
var scriptCall = regexp.MustCompile(`\b(?:npm|pnpm|yarn)\s+(?:run(?:-script)?\s+)?(?:-\S+\s+)*([\w:.-]+)`)

// spoken is the command line of a script with all that it comes down to, so that the reader of the
// output knows which programs spoke: first what is run, then the bodies of the scripts.
func spoken(scripts map[string]string, name, command string) string {
	bodies := []string{command}
	var add func(string)
	seen := map[string]bool{}
	add = func(script string) {
		body := scripts[script]
		if body == "" || seen[script] {
			return
		}
		seen[script] = true
		add("pre" + script)
		bodies = append(bodies, body)
		for _, m := range scriptCall.FindAllStringSubmatch(body, -1) {
			add(m[1])
		}
		add("post" + script)
	}
	add(name)
	return strings.Join(bodies, "; ")
}
