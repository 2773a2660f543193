package verify

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestDetect: what is found in a directory, and how its tests are run.
func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		unit  string // directory, command and what it speaks, of each job of the unit stage
	}{
		{"bats alone", map[string]string{"test/a.bats": "", "test/unit/b.bats": ""}, ".: bats --tap test test/unit"},
		{"a Makefile goes before bats", map[string]string{"Makefile": "all:\n\ttrue\n\ntest: lint\n\t@bats test\n\nlint:\n\tshellcheck x.sh\n", "test/a.bats": ""},
			".: make test = make test; shellcheck x.sh; bats test"},
		{"targets in a circle", map[string]string{"Makefile": "check: test\n\ntest: check\n\t./t.sh\nX := y: z\n"}, ".: make check = make check; ./t.sh"},
		{"Perl's tests", map[string]string{"t/a.t": "", "lib/A.pm": ""}, ".: prove -l -v t"},
		{"rspec with bundler", map[string]string{"Gemfile": "gem 'rspec'\n", "spec/a_spec.rb": ""},
			`.: sh -c 'bundle check >/dev/null 2>&1 || unset BUNDLE_PATH; exec bundle exec "$@"' sh rspec --format documentation --no-color = rspec`},
		{"minitest by a Rakefile", map[string]string{"Rakefile": "Rake::TestTask.new(:test)\n", "test/test_a.rb": ""}, ".: rake test TESTOPTS=-v = rake test"},
		{"a Rakefile without a task for tests", map[string]string{"Rakefile": "task :build\n", "test/a_test.rb": ""},
			`.: ruby -Ilib -Itest -e 'Dir.glob("{,*/}test/**/{test_*,*_test}.rb").sort.each { |f| require File.expand_path(f) }' -- -v = rake test`},
		{"PHPUnit without a vendor directory", map[string]string{"phpunit.xml": "<phpunit/>"},
			`.: sh -c '[ -x vendor/bin/phpunit ] && exec vendor/bin/phpunit "$@"; exec phpunit "$@"' sh --teamcity = phpunit --teamcity`},
		{"a chain of a package", map[string]string{"package.json": `{"scripts": {"test": "eslint . && node --test"}}`},
			`.: sh -c 'PATH="$PWD/node_modules/.bin":$PATH; INIT_CWD="$PWD" npm_package_json="$PWD/package.json" npm_config_local_prefix="$PWD"; export PATH INIT_CWD npm_package_json npm_config_local_prefix; node --test' = node --test`},
		{"a workspace whose root delegates", map[string]string{
			"package.json":     `{"workspaces": ["p/*"], "scripts": {"test": "turbo run test"}}`,
			"p/a/package.json": `{"scripts": {"test": "mocha"}}`, "p/b/package.json": `{"scripts": {"test": "eslint . && node --test"}}`,
		}, `p/a: npm test --silent -- --reporter spec = npm test --silent -- --reporter spec; mocha` +
			` | p/b: sh -c 'PATH="$PWD/node_modules/.bin":"$PWD/../node_modules/.bin":"$PWD/../../node_modules/.bin":$PATH; INIT_CWD="$PWD" npm_package_json="$PWD/package.json" npm_config_local_prefix="$(cd ../../ && pwd)"; export PATH INIT_CWD npm_package_json npm_config_local_prefix; node --test' = node --test`},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, text := range c.files {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}
			projects, err := detect(fsys)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range projects {
				for _, j := range p.jobs {
					if j.stage != "unit" {
						continue
					}
					text := p.dir + ": " + j.command()
					if j.speaks != "" {
						text += " = " + j.speaks
					}
					got = append(got, text)
				}
			}
			if all := strings.Join(got, " | "); all != c.unit {
				t.Errorf("got  %s\nwant %s", all, c.unit)
			}
		})
	}
}

// TestNoNetwork: what installers say where trying again is of no use, and where it may be.
func TestNoNetwork(t *testing.T) {
	useless := []string{
		"curl: (6) Could not resolve host: crates.example", "npm error code ENOTFOUND", "npm ERR! network request failed, reason: getaddrinfo EAI_AGAIN registry.example",
		"Failed to establish a new connection: [Errno -3] Temporary failure in name resolution", "dial tcp: lookup proxy.example: no such host",
		"Could not reach host index.example. Check your network connection", "java.net.UnknownHostException: repo.example", "OSError: Tunnel connection failed: 403 Forbidden",
	}
	again := []string{"npm error Could not resolve dependency:", "ERROR: Failed to resolve dependencies", "connection reset by peer", "ECONNREFUSED 127.0.0.1:4873", "Read timed out.", "503 Service Unavailable", "No matching distribution found for left-pad"}
	for _, line := range slices.Concat(useless, again) {
		if got := noNetwork.MatchString(line); got != slices.Contains(useless, line) {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// TestNodeMeasures: the arguments for coverage reach the runner, whole script or taken apart.
func TestNodeMeasures(t *testing.T) {
	const search = `PATH="$PWD/node_modules/.bin":$PATH; INIT_CWD="$PWD" npm_package_json="$PWD/package.json" npm_config_local_prefix="$PWD"; export PATH INIT_CWD npm_package_json npm_config_local_prefix; `
	for _, c := range []struct{ name, manifest, last string }{
		{"whole", `{"scripts": {"test": "jest"}}`, "--coverageThreshold={}"},
		{"taken apart", `{"scripts": {"test": "eslint . && jest"}}`,
			search + "jest --ci --verbose --coverage --coverageReporters=lcovonly '--coverageDirectory={cache}/coverage' '--coverageThreshold={}'"},
		{"V8 measures the rest", `{"scripts": {"test": "eslint . && tape t.js"}}`, search + "tape t.js"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := fstest.MapFS{"package.json": &fstest.MapFile{Data: []byte(c.manifest)}}
			projects, err := detect(fsys)
			if err != nil || len(projects) != 1 {
				t.Fatal(projects, err)
			}
			p := projects[0]
			j := p.jobs[len(p.jobs)-1]
			measured := nodeCoverage(scan{fsys: fsys, dir: "."}, p).unit(j)
			if got := measured.args[len(measured.args)-1]; got != c.last {
				t.Errorf("got  %s\nwant %s", got, c.last)
			}
			if v8 := len(measured.env) > 0; v8 == strings.Contains(c.manifest, "jest") {
				t.Errorf("environment %v", measured.env)
			}
		})
	}
}
