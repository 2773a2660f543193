package verify

import (
	"regexp"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// stepJob runs one command of a chain as its package manager would: with the programs of the package and of those above
// it in the search path, and told where the package and its workspace are. depth is how far the package lies below the root.
func stepJob(stage loop.StageName, text string, depth int) job {
	search, up := "", ""
	for range depth + 1 {
		search += `"$PWD/` + up + `node_modules/.bin":`
		up += "../"
	}
	root := `"$PWD"`
	if depth > 0 {
		root = `"$(cd ` + strings.Repeat("../", depth) + ` && pwd)"`
	}
	spoken := text
	if stage == loop.StageUnit {
		spoken = naming(text)
	}
	script := "PATH=" + search + `$PATH; INIT_CWD="$PWD" npm_package_json="$PWD/package.json" npm_config_local_prefix=` + root +
		"; export PATH INIT_CWD npm_package_json npm_config_local_prefix; " + spoken
	return job{stage: stage, args: []string{"sh", "-c", script}, speaks: spoken}
}

// naming is a command of a script that makes a known runner name every test. A reporter that the script chooses itself,
// most often one that prints dots, gives way.
func naming(text string) string {
	last := lastCommand(text)
	m := runnerWord.FindStringSubmatchIndex(last)
	if m == nil {
		return text
	}
	before, own := text[:len(text)-len(last)+m[3]], ownReporter.ReplaceAllString(last[m[3]:], "")
	if further := runnerArguments[last[m[2]:m[3]]]; further != nil {
		return before + strings.TrimRight(own, " ") + " " + strings.Join(further, " ")
	}
	return text
}

// ownReporter finds the reporter among the arguments of mocha or vitest.
var ownReporter = regexp.MustCompile(`\s(?:--reporter(?:=|\s+)|-R(?:=|\s*))\S+`)

// runnerArguments are what makes a runner name every test, by the runner's name.
var runnerArguments = map[string][]string{
	"jest": {"--ci", "--verbose"}, "vitest": {"--run", "--reporter=verbose"}, "ava": {"--tap"}, "mocha": {"--reporter", "spec"},
}
