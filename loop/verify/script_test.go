package verify

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTakeApart: scripts as they stand in packages that people publish, and the jobs they come down to.
func TestTakeApart(t *testing.T) {
	for _, c := range []struct{ name, manifest, jobs string }{
		{"one runner stays whole", `{"scripts": {"test": "mocha test/"}}`, ""},
		{"a build before the tests stays whole", `{"scripts": {"pretest": "npm run build", "build": "tsc", "test": "node --test dist"}}`, ""},
		{"a linter before the tests", `{"scripts": {"test": "npm run lint && mocha", "lint": "eslint ."}}`, "lint: eslint . | unit: mocha --reporter spec"},
		{"what needs the network", `{"scripts": {"pretest": "npm run lint", "lint": "eslint .", "test": "npm run tests-only", "tests-only": "nyc tape 'test/**/*.js'", "posttest": "npx npm@'>=10.2' audit --production"}}`,
			"lint: eslint . | unit: nyc tape 'test/**/*.js' | e2e left: npx npm@'>=10.2' audit --production"},
		{"packages that are not installed", `{"scripts": {"test": "ava && tsd && npx --yes --package typescript@5.1 tsc && npx c8 report"}}`,
			"unit: ava --tap | types: tsd | e2e left: npx --yes --package typescript@5.1 tsc"},
		{"a reporter of dots", `{"scripts": {"test": "eslint . && nyc --reporter=text mocha -R dot --require x --reporter=min --reporter-option a=b --recursive"}}`,
			"lint: eslint . | unit: nyc --reporter=text mocha --require x --reporter-option a=b --recursive --reporter spec"},
		{"three programs", `{"scripts": {"test": "xo && ava && tsd"}}`, "lint: xo | unit: ava --tap | types: tsd"},
		{"run-s with groups and a browser", `{"scripts": {
			"clean": "rimraf mocha.js", "prelint": "npm run clean", "lint": "run-p --aggregate-output --continue-on-error lint:*", "lint:knip": "knip --cache",
			"lint:docs": "cd docs && npm run lint:knip", "lint:code": "eslint . --max-warnings 0", "build": "rollup -c",
			"test-node-run": "cross-env NODE_OPTIONS=--enable-source-maps nyc --no-clean --reporter=json node bin/mocha.js --forbid-only",
			"test-node:unit": "npm run -s test-node-run -- \"test/unit/**/*.spec.cjs\"", "test-node:jsapi": "node test/jsapi/index.js",
			"test-node:integration": "run-s clean build && npm run -s test-node-run -- --parallel \"test/integration/**\"",
			"test-coverage-clean": "rimraf .nyc_output", "test-coverage-generate": "nyc report --reporter=lcov",
			"test-node": "run-s test-coverage-clean test-node:* test-coverage-generate",
			"test-browser:playwright": "playwright test", "test-browser": "run-s clean build test-browser:*",
			"test": "run-s lint test-node test-browser"}}`,
			"lint: knip --cache | lint: cd docs && npm run lint:knip | lint: eslint . --max-warnings 0" +
				" | unit: cross-env NODE_OPTIONS=--enable-source-maps nyc --no-clean --reporter=json node bin/mocha.js --forbid-only \"test/unit/**/*.spec.cjs\" --reporter spec" +
				" | unit: node test/jsapi/index.js | compile: rimraf mocha.js && rollup -c" +
				" | unit: cross-env NODE_OPTIONS=--enable-source-maps nyc --no-clean --reporter=json node bin/mocha.js --forbid-only --parallel \"test/integration/**\" --reporter spec" +
				" | e2e left: playwright test"},
		{"a helper before each program, karma and dtslint", `{"scripts": {
			"test": "npm run test:eslint && npm run test:mocha && npm run test:karma && npm run test:dtslint",
			"test:eslint": "node bin/ssl_hotfix.js eslint lib/**/*.js", "test:mocha": "node bin/ssl_hotfix.js mocha test/unit/**/*.js --timeout 30000 --exit",
			"test:karma": "node bin/ssl_hotfix.js cross-env LISTEN_ADDR=:: karma start", "test:dtslint": "dtslint --localTs node_modules/typescript/lib"}}`,
			"lint: node bin/ssl_hotfix.js eslint lib/**/*.js | unit: node bin/ssl_hotfix.js mocha test/unit/**/*.js --timeout 30000 --exit --reporter spec" +
				" | e2e left: node bin/ssl_hotfix.js cross-env LISTEN_ADDR=:: karma start | types: dtslint --localTs node_modules/typescript/lib"},
		{"wireit", `{"scripts": {"test": "wireit", "lint": "wireit", "unit": "wireit"},
			"wireit": {"test": {"dependencies": ["lint", {"script": "unit"}]}, "lint": {"command": "eslint ."}, "unit": {"command": "vitest run"}}}`,
			"lint: eslint . | unit: vitest run --run --reporter=verbose"},
		{"wireit of another package stays whole", `{"scripts": {"test": "wireit"}, "wireit": {"test": {"dependencies": ["../other:build"], "command": "mocha"}}}`, ""},
		{"concurrently", `{"scripts": {"test": "concurrently -n a,b \"npm:lint:*\" \"npm:unit\"", "lint:js": "eslint .", "lint:css": "stylelint '*.css'", "unit": "jest"}}`,
			"lint: eslint . | lint: stylelint '*.css' | unit: jest --ci --verbose"},
		{"yarn without run, environment kept", `{"scripts": {"test": "CI=1 yarn lint && NODE_ENV=test yarn unit --bail", "lint": "eslint .", "unit": "jest"}}`,
			"lint: CI=1 eslint . | unit: NODE_ENV=test jest --bail --ci --verbose"},
		{"types by the compiler, formatting by prettier", `{"scripts": {"test": "prettier --check . && tsc --noEmit && vitest run"}}`,
			"lint: prettier --check . | types: tsc --noEmit | unit: vitest run --run --reporter=verbose"},
		{"two test runs", `{"scripts": {"test": "npm run test:cjs && npm run test:esm", "test:cjs": "tape test/*.cjs", "test:esm": "tape test/*.mjs"}}`,
			"unit: tape test/*.cjs | unit: tape test/*.mjs"},
		{"scripts after the tests", `{"scripts": {"test": "eslint . && ava", "posttest": "codecov"}}`, "lint: eslint . | unit: ava --tap"},
		{"an unknown program stays before its successor", `{"scripts": {"test": "eslint . && node scripts/fetch.js && jest"}}`,
			"lint: eslint . | unit: node scripts/fetch.js && jest --ci --verbose"},
		{"an unknown program at the end is a gate", `{"scripts": {"test": "jest && node scripts/check.js", "lint": "eslint ."}}`, "unit: jest --ci --verbose | unit: node scripts/check.js"},
		{"either or stays whole", `{"scripts": {"test": "eslint . || true; mocha"}}`, ""},
		{"another directory stays whole", `{"scripts": {"test": "cd test && npm ci && mocha"}}`, ""},
		{"a circle ends", `{"scripts": {"test": "npm run a && eslint . && ava", "a": "npm test"}}`, "lint: eslint . | unit: ava --tap"},
		{"a script that is not there", `{"scripts": {"test": "run-s lint unit"}}`, ""},
		{"no scripts at all", `{}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := fstest.MapFS{"package.json": &fstest.MapFile{Data: []byte(c.manifest)}}
			var got []string
			for _, j := range takeApart(readPackage(scan{fsys: fsys, dir: "."}), "test").jobs(0) {
				if j.left != "" {
					got = append(got, string(j.stage)+" left: "+j.args[0])
					continue
				}
				got = append(got, string(j.stage)+": "+j.speaks)
			}
			if all := strings.Join(got, " | "); all != c.jobs {
				t.Errorf("got  %s\nwant %s", all, c.jobs)
			}
		})
	}
}

// TestDelegates: scripts of a workspace's root that only start those of its packages.
func TestDelegates(t *testing.T) {
	yes := []string{"turbo run test", "turbo test lint", "npx nx run-many -t test", "lerna run test --stream", "npm test --workspaces", "npm run test -ws --if-present",
		"pnpm -r test", "pnpm run --recursive test", "yarn workspaces run test", "pnpm --filter './packages/*' test", "npm run test --workspace=a"}
	no := []string{"", "vitest run", "turbo run build && vitest", "npm test", "jest --projects packages/a", "node turbo.js"}
	for _, script := range slices.Concat(yes, no) {
		if got := delegates(script); got != slices.Contains(yes, script) {
			t.Errorf("%q: %v", script, got)
		}
	}
}

// FuzzTakeApart: whatever stands in a script, taking it apart ends, and nothing is run that it does not hold.
func FuzzTakeApart(f *testing.F) {
	f.Add("run-s a b && npm run -s c -- \"x", "npm test")
	f.Fuzz(func(t *testing.T, test, other string) {
		pkg := packageJSON{Scripts: map[string]string{"test": test, "a": other, "b": "mocha"}, order: []string{"test", "a", "b"}}
		for _, s := range takeApart(pkg, "test").steps {
			if s.text == "" {
				t.Errorf("an empty step of %q", test)
			}
		}
	})
}
