package verify

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// A package's test script is often a chain: lint, then types, then tests, then browsers. Run as one
// command, what is red first hides the rest, on the base as well, and nothing can be compared or
// proved. So a chain is taken apart into its commands, each of which runs in its own stage.

// stepKind is what a command of a script does.
type stepKind string

// The kinds of steps.
const (
	stepUnit    stepKind = "unit"
	stepLint    stepKind = "lint"
	stepTypes   stepKind = "types"
	stepBuild   stepKind = "build"
	stepBrowser stepKind = "browser" // needs a browser or a server, which nobody starts here
	stepOnline  stepKind = "online"  // asks a registry or a service, which no check can reach
	stepClean   stepKind = "clean"   // removes what a build has made
	stepReport  stepKind = "report"  // prints or uploads what the tests have measured
	stepOther   stepKind = "other"   // nobody knows: it stays before the command that follows it
)

// step is one command that a script comes down to.
type step struct {
	script string // whose body it stands in
	text   string // as a shell takes it
	kind   stepKind
}

// chain takes scripts apart.
type chain struct {
	pkg     packageJSON
	steps   []step
	visited map[string]bool // the scripts that were taken apart
}

// mostSteps bounds a chain; scripts that call each other many times could make it endless.
const mostSteps = 200

// takeApart lists the commands of a script in the order in which they would run.
func takeApart(pkg packageJSON, script string) chain {
	c := chain{pkg: pkg, visited: map[string]bool{}}
	c.call(script, "", "", nil)
	return c
}

// call adds a script with those before and after it. Prefix is the environment that its caller sets,
// further what the caller passes on.
func (c *chain) call(script, prefix, further string, above []string) {
	if slices.Contains(above, script) || len(c.steps) > mostSteps {
		return // a circle
	}
	above = append(slices.Clone(above), script)
	c.visited[script] = true
	for _, part := range []struct{ name, further string }{{"pre" + script, ""}, {script, further}, {"post" + script, ""}} {
		if body := c.pkg.Scripts[part.name]; body != "" {
			c.body(part.name, strings.TrimSpace(body+" "+part.further), prefix, above)
		}
	}
}

// body adds the commands of a script's text.
func (c *chain) body(script, text, prefix string, above []string) {
	parts := splitAnd(text)
	for _, command := range parts {
		c.command(script, command, prefix, above, len(parts) == 1)
	}
}

// command adds one command: other scripts where it calls them, else itself. Alone says that the
// script holds nothing else, so that its name is the command's.
func (c *chain) command(script, text, prefix string, above []string, alone bool) {
	words := shellWords(text)
	env := 0
	for env < len(words) && (assignment.MatchString(words[env]) || words[env] == "cross-env" && len(words) > env+1 && assignment.MatchString(words[env+1])) {
		env++
	}
	own := prefix
	if env > 0 {
		own += strings.Join(words[:env], " ") + " "
	}
	calls, ok := c.calls(script, words[env:])
	if !ok || slices.ContainsFunc(words, func(w string) bool { return shellSyntax.MatchString(w) }) {
		c.steps = append(c.steps, step{script: script, text: prefix + text, kind: classify(words[env:], script, alone)})
		return
	}
	for _, to := range calls {
		if to.command != "" {
			c.body(script, to.command, own, above)
			continue
		}
		c.call(to.script, own, to.further, above)
	}
}

var (
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	// shellSyntax is what makes a command more than words; && has been split at already.
	shellSyntax = regexp.MustCompile("^(?:\\|\\|?|;|&|<|>.*|[0-9]>.*|\\(|\\)|!)$|;$|`|\\$\\(")
)

// scriptUse is a script or a command that a task runner starts.
type scriptUse struct{ script, further, command string }

// calls says which scripts a command starts; false where it is no call, or one that nobody can read.
func (c *chain) calls(script string, words []string) ([]scriptUse, bool) {
	if len(words) == 0 {
		return nil, false
	}
	program, rest := words[0], words[1:]
	if (program == "npx" || program == "pnpm" || program == "yarn") && len(rest) > 0 && taskRunner[rest[0]] {
		program, rest = rest[0], rest[1:]
	}
	switch {
	case program == "npm", program == "pnpm", program == "yarn", program == "bun", program == "node":
		return c.managerCall(program, rest)
	case program == "wireit":
		return c.wireit(script)
	case program == "concurrently":
		return c.patterns(rest, true)
	case taskRunner[program]:
		return c.patterns(rest, false)
	default:
		return nil, false
	}
}

// taskRunner are the programs that run several scripts.
var taskRunner = map[string]bool{"run-s": true, "run-p": true, "npm-run-all": true, "npm-run-all2": true, "run-z": true, "concurrently": true}

// managerCall reads `npm run X -- args`, `yarn X`, `node --run X`.
func (c *chain) managerCall(program string, words []string) ([]scriptUse, bool) {
	explicit, name := false, ""
	for i, w := range words {
		switch {
		case program == "node" && !explicit && w != "--run":
			return nil, false
		case w == "run" && !explicit, w == "run-script" && !explicit, w == "--run" && program == "node":
			explicit = true
		case w == "-s", w == "--silent", w == "-q", w == "--quiet", w == "--if-present":
		case strings.HasPrefix(w, "-"):
			return nil, false // of another package, or nobody knows
		case w == "t" && !explicit, w == "tst" && !explicit:
			name = "test"
		default:
			name = unquote(w)
		}
		if name == "" {
			continue
		}
		if c.pkg.Scripts[name] == "" || !explicit && program == "npm" && name != "test" {
			return nil, false
		}
		further := words[i+1:]
		further = slices.DeleteFunc(slices.Clone(further), func(w string) bool { return w == "--silent" || w == "-s" && program == "npm" })
		if len(further) > 0 && further[0] == "--" {
			further = further[1:]
		}
		return []scriptUse{{script: name, further: strings.Join(further, " ")}}, true
	}
	return nil, false
}

// patterns reads the arguments of run-s, run-p, npm-run-all and concurrently.
func (c *chain) patterns(words []string, commands bool) ([]scriptUse, bool) {
	var calls []scriptUse
	for i := 0; i < len(words); i++ {
		w := unquote(words[i])
		switch {
		case w == "--":
			i = len(words) // arguments for placeholders
		case valued[w]:
			i++
		case strings.HasPrefix(w, "-"):
		case commands && !strings.HasPrefix(w, "npm:"):
			calls = append(calls, scriptUse{command: w})
		default:
			name, further, _ := strings.Cut(strings.TrimPrefix(w, "npm:"), " ")
			further = strings.TrimPrefix(strings.TrimSpace(further), "-- ")
			if strings.Contains(further, "{") {
				return nil, false // placeholders
			}
			names := c.matching(name)
			if len(names) == 0 {
				return nil, false
			}
			for _, n := range names {
				calls = append(calls, scriptUse{script: n, further: further})
			}
		}
	}
	return calls, len(calls) > 0
}

// valued are the options that take the word behind them.
var valued = map[string]bool{
	"-n": true, "--names": true, "--prefix-colors": true, "--prefix": true, "--success": true, "-m": true, "--max-processes": true,
	"--max-parallel": true, "--npm-path": true, "--restart-tries": true, "--kill-signal": true, "--config": true,
}

// matching lists the scripts that a pattern names: * stands for what has no colon, ** for anything.
func (c *chain) matching(pattern string) []string {
	if c.pkg.Scripts[pattern] != "" {
		return []string{pattern}
	}
	if !strings.Contains(pattern, "*") {
		return nil
	}
	text := regexp.QuoteMeta(pattern)
	text = strings.ReplaceAll(text, `:\*\*`, `(?::.+)?`)
	text = strings.ReplaceAll(text, `\*\*`, `.+`)
	text = strings.ReplaceAll(text, `\*`, `[^:]+`)
	whole, err := regexp.Compile("^" + text + "$")
	if err != nil {
		return nil // more syntax of patterns than anybody uses for scripts
	}
	var names []string
	for _, name := range c.pkg.order {
		if whole.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// wireit reads a script that stands in the package's section of that name.
func (c *chain) wireit(script string) ([]scriptUse, bool) {
	var section map[string]struct {
		Command      string            `json:"command"`
		Dependencies []json.RawMessage `json:"dependencies"`
	}
	if err := json.Unmarshal(c.pkg.Wireit, &section); err != nil {
		return nil, false
	}
	entry, there := section[script]
	if !there {
		return nil, false
	}
	var calls []scriptUse
	for _, raw := range entry.Dependencies {
		var name string
		if json.Unmarshal(raw, &name) != nil {
			var long struct {
				Script string `json:"script"`
			}
			if json.Unmarshal(raw, &long) != nil {
				return nil, false
			}
			name = long.Script
		}
		if c.pkg.Scripts[name] == "" {
			return nil, false // of another package
		}
		calls = append(calls, scriptUse{script: name})
	}
	if entry.Command != "" {
		calls = append(calls, scriptUse{command: entry.Command})
	}
	return calls, len(calls) > 0
}

// programs say what a program does, by its name.
var programs = []struct {
	kind  stepKind
	names string
}{
	{stepUnit, "mocha _mocha ts-mocha electron-mocha jest ts-jest vitest ava tap tape blue-tape uvu jasmine lab qunit zora borp brittle vows nodeunit best"},
	{stepLint, "eslint eslint_d xo standard standardx semistandard ts-standard neostandard prettier stylelint jshint jscs tslint markdownlint " +
		"markdownlint-cli2 remark knip publint biome oxlint dprint cspell ls-lint depcheck commitlint editorconfig-checker eclint textlint lockfile-lint " +
		"installed-check sort-package-json alex htmlhint dependency-check madge manypkg syncpack coffeelint"},
	{stepTypes, "tsd dtslint vue-tsc svelte-check flow attw glint type-coverage typings-tester"},
	{stepBuild, "rollup webpack esbuild tsup tsdown unbuild swc babel vite parcel browserify microbundle pkgroll bunchee gulp grunt tsc ncc"},
	{stepBrowser, "karma playwright cypress wdio testcafe web-test-runner wtr nightwatch polendina airtap zuul testem start-server-and-test protractor"},
	{stepClean, "rimraf rm del del-cli trash premove"},
	{stepReport, "codecov coveralls"},
}

// nameKinds say what a script does by its own name, where its command tells nothing.
var nameKinds = []struct {
	kind stepKind
	name *regexp.Regexp
}{
	{stepBrowser, regexp.MustCompile(`(?i)(?:^|[:._-])(?:browsers?|e2e|karma|cypress|playwright|selenium|chrome|firefox)(?:$|[:._-])`)},
	{stepLint, regexp.MustCompile(`(?i)(?:^|[:._-])(?:lint|eslint|format|fmt|prettier|style|spell(?:check|ing)?)(?:$|[:._-])`)},
	{stepTypes, regexp.MustCompile(`(?i)(?:^|[:._-])(?:types?|typecheck|type-check|check-types|tsc|tsd|dts)(?:$|[:._-])`)},
	{stepClean, regexp.MustCompile(`(?i)(?:^|[:._-])clean(?:$|[:._-])`)},
	{stepBuild, regexp.MustCompile(`(?i)^(?:pre)?(?:build|compile|bundle|prepare)(?:$|[:._-])`)},
	{stepUnit, regexp.MustCompile(`(?i)(?:^|[:._-])(?:unit|tests?|spec|mocha|jest|node)(?:$|[:._-])`)},
}

// classify says what a command does: by the programs that it names, outermost last, since c8, nyc,
// cross-env and the like stand before the one that counts; else by its script's name.
func classify(words []string, script string, alone bool) stepKind {
	if online(words) {
		return stepOnline
	}
	for i, w := range words {
		name := programName(w)
		rest := words[i+1:]
		switch {
		case (name == "nyc" || name == "c8") && len(rest) > 0 && rest[0] == "report":
			return stepReport
		case name == "tsc" || name == "tsgo" || name == "vue-tsc":
			if slices.Contains(rest, "--noEmit") || slices.Contains(rest, "-noEmit") {
				return stepTypes
			}
			if named := byName(script); named == stepTypes || named == stepLint {
				return stepTypes
			}
			return stepBuild
		case name == "prettier" && !slices.ContainsFunc(rest, func(r string) bool {
			return r == "--check" || r == "-c" || r == "-l" || r == "--list-different"
		}):
			return stepOther // it writes
		case name == "node" && slices.ContainsFunc(rest, func(r string) bool { return r == "--test" }):
			return stepUnit
		case name == "vite" && (len(rest) == 0 || rest[0] != "build"):
			return stepBrowser // a server
		case (name == "bun" || name == "deno" || name == "react-scripts") && len(rest) > 0 && rest[0] == "test":
			return stepUnit
		}
		for _, p := range programs {
			if slices.Contains(strings.Fields(p.names), name) {
				return p.kind
			}
		}
		if i == 0 && !wrapper[name] {
			break // what stands behind it are its arguments
		}
	}
	if alone {
		return byName(script)
	}
	if slices.ContainsFunc(words, testWord.MatchString) {
		return stepUnit
	}
	return stepOther
}

// online says whether a command asks a registry: for known weaknesses, or for a package that it runs without having it
// installed (npx tsd@0.29).
func online(words []string) bool {
	if len(words) < 2 {
		return false
	}
	name, rest := programName(words[0]), words[1:]
	switch name {
	case "npx", "bunx":
		if slices.ContainsFunc(rest, func(w string) bool { return programName(w) == "npm" || programName(w) == "audit" }) {
			return true
		}
		return slices.ContainsFunc(rest, func(w string) bool { return versioned.MatchString(unquote(w)) })
	case "npm", "yarn", "pnpm":
		return slices.Contains([]string{"audit", "outdated", "dlx"}, rest[0])
	}
	return false
}

// versioned is a package with a version, with or without a scope.
var versioned = regexp.MustCompile(`^(?:@[\w.-]+/)?[\w.-]+@\S+$`)

// testWord is how commands look that run tests without a runner.
var testWord = regexp.MustCompile(`(?i)(?:^|[/._-])(?:tests?|spec)(?:$|[/._-])`)

// wrapper are the programs that start the one that counts.
var wrapper = map[string]bool{
	"c8": true, "nyc": true, "npx": true, "cross-env": true, "cross-env-shell": true, "env": true, "node": true, "dotenv": true, "yarn": true, "pnpm": true,
	"exec": true, "tsx": true, "ts-node": true, "time": true, "timeout": true, "bunx": true, "nodemon": true, "istanbul": true, "cover": true,
}

// programName is a program without its directory and extension.
func programName(word string) string {
	name := path.Base(unquote(word))
	for _, ext := range []string{".js", ".cjs", ".mjs"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

func byName(script string) stepKind {
	for _, n := range nameKinds {
		if n.name.MatchString(script) {
			return n.kind
		}
	}
	return stepOther
}

// stepStages are the stages of the kinds of steps that run.
var stepStages = map[stepKind]loop.StageName{
	stepBuild: loop.StageCompile, stepLint: loop.StageLint, stepTypes: loop.StageTypes, stepUnit: loop.StageUnit, stepBrowser: loop.StageE2E, stepOnline: loop.StageE2E,
}

// jobs turns a chain into jobs, each of its own stage, in the order of the chain; none where it is better
// run as a whole: because there is but one command, or no tests that could be hidden by another.
func (c chain) jobs(depth int) []job {
	var jobs []job
	var pending []step
	seen := map[string]bool{}
	for _, s := range c.steps {
		stage, runs := stepStages[s.kind]
		switch {
		case s.kind == stepReport:
			continue
		case !runs:
			pending = append(pending, s)
			continue
		case s.kind == stepBrowser:
			jobs = append(jobs, job{stage: stage, args: []string{s.text}, left: s.script + " needs a browser or a server, which is not started here: " + s.text})
			pending = nil
			continue
		case s.kind == stepOnline:
			jobs = append(jobs, job{stage: stage, args: []string{s.text}, left: s.script + " needs the network, which no check has: " + s.text})
			continue
		case s.kind != stepBuild:
			// Tests and linters do not want what the build stage has made removed.
			pending = slices.DeleteFunc(pending, func(p step) bool { return p.kind == stepClean })
		}
		var text []string
		for _, p := range append(pending, s) {
			text = append(text, p.text)
		}
		pending = nil
		if command := strings.Join(text, " && "); !seen[command] {
			seen[command] = true
			jobs = append(jobs, stepJob(stage, command, depth))
		}
	}
	pending = slices.DeleteFunc(pending, func(p step) bool { return p.kind == stepClean })
	for _, s := range pending {
		jobs = append(jobs, stepJob(loop.StageUnit, s.text, depth))
	}
	units := 0
	others := false
	for _, j := range jobs {
		switch j.stage {
		case loop.StageUnit:
			units++
		case loop.StageCompile: // the script has its tests behind it in any case
		case loop.StageEnvironment, loop.StageLint, loop.StageTypes, loop.StageCoverage, loop.StageIntegration, loop.StageE2E, loop.StageSecurity:
			others = true
		}
	}
	if units == 0 || units == 1 && !others {
		return nil
	}
	return jobs
}

// delegates says whether a script of a workspace's root only starts those of its packages.
func delegates(script string) bool {
	return len(splitAnd(script)) == 1 && delegation.MatchString(strings.TrimSpace(script))
}

var delegation = regexp.MustCompile(`^(?:npx\s+|pnpm\s+(?:exec\s+)?|yarn\s+)?(?:turbo|nx|lerna|ultra|wsrun)\s` +
	`|^npm\b.*(?:\s--workspaces\b|\s-ws\b|\s--workspace[ =]|\s-w[ =])|^pnpm\b.*(?:\s-r\b|\s--recursive\b|\s--filter\b)|^yarn\s+workspaces\s`)
