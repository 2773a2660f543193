package guard

import (
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// changed is a case in which one file goes from before to after.
func changed(name, path, before, after string, want loop.Severity) sample {
	return sample{name: name, base: files{path: before}, change: files{path: after}, want: want}
}

func TestSwallowedErrors(t *testing.T) {
	runSamples(t, "swallowed-error", []sample{
		changed("case 121: || true after the tests", "scripts/test.sh", "go test ./...\n", "go test ./... || true\n", block),
		changed("case 121: || : after a lint", "Makefile", "lint:\n\truff check .\n", "lint:\n\truff check . || :\n", block),
		changed("case 121: || exit 0", "scripts/test.sh", "pytest -q\n", "pytest -q || exit 0\n", block),
		changed("case 121: in a package script", "package.json", "{\n  \"scripts\": {\n    \"test\": \"jest\"\n  }\n}\n", "{\n  \"scripts\": {\n    \"test\": \"jest || true\"\n  }\n}\n", block),
		changed("case 121: package script emptied", "package.json", "{\n  \"scripts\": {\n    \"test\": \"jest\"\n  }\n}\n", "{\n  \"scripts\": {\n    \"test\": \"echo ok\"\n  }\n}\n", block),
		changed("case 121: recipe that may fail", "Makefile", "test:\n\tgo test ./...\n", "test:\n\t-go test ./...\n", block),
		changed("continue-on-error", "ci/pipeline.yml", "steps:\n  - run: make\n", "steps:\n  - run: make\n    continue-on-error: true\n", note),
		changed("set +e", "run.sh", "set -e\nmake\n", "set +e\nmake\n", note),
		changed("exit 0 at the end", "run.sh", "make\nexit $?\n", "make\nexit 0\n", note),
		changed("|| true after a clean-up", "run.sh", "make\n", "make\nrm -r build || true\n", note),
		changed("script without an extension", "bin/check", "#!/bin/sh\nmypy src\n", "#!/bin/sh\nmypy src || true\n", block),
		changed("except: pass", "a.py", "x()\n", "try:\n    x()\nexcept Exception:\n    pass\n", note),
		changed("empty catch", "a.ts", "x();\n", "try {\n  x();\n} catch (e) {\n}\n", note),
		changed("promise without a word", "a.js", "x();\n", "x().catch(() => {});\n", note),
		changed("empty branch of Go", "a.go", "package a\n", "package a\n\nfunc f() {\n\tif err != nil {\n\t}\n}\n", note),
		changed("innocent: a condition in a script", "run.sh", "make\n", "make\nif [ -z \"$X\" ] || [ -z \"$Y\" ]; then\n  exit 0\nfi\nmake install\n", nothing),
		changed("innocent: fallback", "run.sh", "make\n", "VERSION=$(git describe || date)\n", nothing),
		changed("innocent: error handled", "a.py", "x()\n", "try:\n    x()\nexcept KeyError:\n    return None\n", nothing),
		changed("innocent: error logged", "a.ts", "x();\n", "try {\n  x();\n} catch (e) {\n  log.error(e);\n}\n", nothing),
		changed("innocent: error returned", "a.go", "package a\n", "package a\n\nfunc f() error {\n\tif err != nil {\n\t\treturn err\n\t}\n}\n", nothing),
		changed("innocent: taken off", "run.sh", "go test ./... || true\n", "go test ./...\n", nothing),
		changed("innocent: prose", "docs/ci.md", "x\n", "Do not write `go test || true`.\n", nothing),
		changed("innocent: first placeholder of a new package", "package.json", "{\n}\n", "{\n  \"scripts\": {\n    \"test\": \"node --test\"\n  }\n}\n", nothing),
	})
}

func TestHardCodedResults(t *testing.T) {
	tests := files{
		"price_test.go": lines("package price", "", "func TestPrice(t *testing.T) {", "\tif got := Price(3); got != 7 {", "\t\tt.Errorf(\"got %d\", got)", "\t}", "}"),
		"test_slug.py":  lines("def test_slug():", "    assert slug('Crème brûlée') == 'creme-brulee'"),
		"src/a.test.js": lines("it('converts', () => {", "  expect(convert('XLII')).toBe(42);", "});"),
	}
	base := files{
		"price.go": lines("package price", "", "func Price(x int) int {", "\treturn x * 2", "}"),
		"slug.py":  lines("def slug(text):", "    return text.lower().replace(' ', '-')"),
		"src/a.js": lines("export function convert(s) {", "  return parse(s);", "}"),
	}
	with := func(path, text string) files { return tests.with(files{path: text}) }
	runSamples(t, "hard-coded", []sample{
		{name: "branch on the test's input", base: base, want: note, file: "price.go", line: 4,
			change: with("price.go", lines("package price", "", "func Price(x int) int {", "\tif x == 3 {", "\t\treturn 7", "\t}", "\treturn x * 2", "}"))},
		{name: "switch on the test's input", base: base, want: note,
			change: with("price.go", lines("package price", "", "func Price(x int) int {", "\tswitch x {", "\tcase 3:", "\t\treturn 7", "\t}", "\treturn x * 2", "}"))},
		{name: "one line of Python", base: base, want: note,
			change: with("slug.py", lines("def slug(text):", "    if text == \"Crème brûlée\": return \"creme-brulee\"", "    return text.lower().replace(' ', '-')"))},
		{name: "conditional expression", base: base, want: note,
			change: with("src/a.js", lines("export function convert(s) {", "  return s === 'XLII' ? 42 : parse(s);", "}"))},
		{name: "result became a constant", base: base, want: note,
			change: with("slug.py", lines("def slug(text):", "    return 'creme-brulee'"))},
		{name: "literal of a failing test that is not changed", base: base.with(tests), want: note,
			change: files{"price.go": lines("package price", "", "func Price(x int) int {", "\tif x == 3 {", "\t\treturn 7", "\t}", "\treturn x * 2", "}")},
			request: func(r *loop.GuardRequest) {
				r.Base = &loop.Outcome{Verdict: loop.Verdict{Stages: map[loop.StageName]loop.Stage{loop.StageUnit: {Tests: &loop.Tests{Failures: []loop.Failure{{ID: "price.TestPrice", File: "price_test.go", Line: 5, Message: "got 6"}}}}}}}
			}},
		{name: "map from input to result", base: base, want: note,
			change: with("src/a.js", lines("const known = {", "  'XLII': 42,", "};", "export function convert(s) {", "  return known[s] ?? parse(s);", "}"))},
		{name: "innocent: computed", base: base, change: with("price.go", lines("package price", "", "func Price(x int) int {", "\treturn x*2 + 1", "}"))},
		{name: "innocent: edge case", base: base, change: with("price.go", lines("package price", "", "func Price(x int) int {", "\tif x == 0 {", "\t\treturn 0", "\t}", "\treturn x*2 + 1", "}"))},
		{name: "innocent: other literals", base: base, change: with("price.go", lines("package price", "", "func Price(x int) int {", "\tif x == 12 {", "\t\treturn 144", "\t}", "\treturn x*2 + 1", "}"))},
		{name: "innocent: a constant that was one before", base: files{"v.py": "def version():\n    return '1.2'\n"}, change: files{"v.py": "def version():\n    return '1.3'\n", "test_v.py": "def test_v():\n    assert version() == '1.3'\n    assert len('abc') == 3\n"}},
		{name: "innocent: literals of different rows of a table", base: base, change: files{
			"kind.py":      lines("def kind(event):", "    if event == 'issues':", "        return 'comment'", "    return event"),
			"test_kind.py": lines("def test_kind():", "    assert kind('issues') == 'issue'", "    assert kind('push') == 'push'", "    assert kind('fork') == 'fork'", "    assert kind('note') == 'comment'")}},
		{name: "innocent: no test in the change", base: base.with(tests), change: files{"price.go": lines("package price", "", "func Price(x int) int {", "\tif x == 3 {", "\t\treturn 7", "\t}", "\treturn x * 2", "}")}},
	})
}

func TestDependencies(t *testing.T) {
	mod := "module example.com/m\n\ngo 1.26\n\nrequire (\n\texample.org/a v1.2.0\n\texample.org/b/v2 v2.0.1\n)\n"
	node := "{\n  \"dependencies\": {\n    \"left\": \"^1.2.0\"\n  }\n}\n"
	upgrade := func(r *loop.GuardRequest) { r.Spec.Kind = loop.KindDependency }
	samples := []sample{
		changed("case 78: lockfile", "yarn.lock", "a@1:\n", "a@2:\n", note),
		changed("case 78: minor version in go.mod", "go.mod", mod, replaceOnce(mod, "v1.2.0", "v1.3.0"), note),
		changed("new module", "go.mod", mod, replaceOnce(mod, ")", "\texample.org/c v0.1.0\n)"), approve),
		changed("major version in the path", "go.mod", mod, replaceOnce(mod, "b/v2 v2.0.1", "b/v3 v3.0.0"), approve),
		changed("replaced module", "go.mod", mod, mod+"\nreplace example.org/a => example.org/fork v1.2.0\n", approve),
		changed("minor version in package.json", "package.json", node, replaceOnce(node, "^1.2.0", "^1.4.0"), note),
		changed("major version in package.json", "package.json", node, replaceOnce(node, "^1.2.0", "^2.0.0"), approve),
		changed("new package", "package.json", node, replaceOnce(node, "^1.2.0\"", "^1.2.0\",\n    \"right\": \"1.0.0\""), approve),
		changed("from git", "package.json", node, replaceOnce(node, "^1.2.0", "git+https://example.org/left.git"), approve),
		changed("Python requirement", "requirements.txt", "flask==2.1\n", "flask==3.0\n", approve),
		changed("Python project", "pyproject.toml", "[project]\ndependencies = [\"flask>=2\"]\n", "[project]\ndependencies = [\"flask>=2\", \"rich\"]\n", approve),
		changed("poetry", "pyproject.toml", "[tool.poetry.dependencies]\nflask = \"^2.0\"\n", "[tool.poetry.dependencies]\nflask = \"^2.1\"\n", note),
		changed("Cargo", "Cargo.toml", "[dependencies]\nserde = \"1\"\n", "[dependencies]\nserde = { version = \"2\" }\n", approve),
		changed("Bundler", "Gemfile", "gem 'rails', '~> 7.0'\n", "gem 'rails', '~> 8.0'\n", approve),
		changed("Composer", "composer.json", `{"require": {"a/b": "^1.0"}}`, `{"require": {"a/b": "^1.1"}}`, note),
		changed("Maven", "pom.xml", "<project><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>1.0</version></dependency></dependencies></project>", "<project><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>2.0</version></dependency></dependencies></project>", approve),
		changed("Gradle", "build.gradle", "dependencies {\n    implementation 'g:a:1.0'\n}\n", "dependencies {\n    implementation 'g:a:1.0'\n    testImplementation 'g:b:1.0'\n}\n", approve),
		changed("NuGet", "a.csproj", "<PackageReference Include=\"A\" Version=\"1.0\" />\n", "<PackageReference Include=\"A\" Version=\"1.1\" />\n", note),
		changed("removed", "requirements.txt", "flask==2.1\nrich\n", "flask==2.1\n", note),
		changed("innocent: other parts of package.json", "package.json", node, replaceOnce(node, "{\n", "{\n  \"version\": \"1.0.1\",\n"), nothing),
		changed("innocent: Go version", "go.mod", mod, replaceOnce(mod, "go 1.26", "go 1.27"), nothing),
		changed("innocent: indirect module", "go.mod", mod, replaceOnce(mod, ")", "\texample.org/c v0.1.0 // indirect\n)"), nothing),
		changed("innocent: tool setting", "pyproject.toml", "[project]\ndependencies = [\"flask\"]\n", "[project]\ndependencies = [\"flask\"]\n\n[tool.ruff]\nline-length = 100\n", nothing),
		changed("innocent: manifest that does not parse", "package.json", node, "{", note),
	}
	asked := changed("asked for: new package", "package.json", node, replaceOnce(node, "^1.2.0\"", "^1.2.0\",\n    \"right\": \"1.0.0\""), note)
	asked.request = upgrade
	runSamples(t, "dependency", append(samples, asked))
}

func TestInstallScripts(t *testing.T) {
	node := "{\n  \"scripts\": {\n    \"test\": \"jest\",\n    \"prepare\": \"tsc\"\n  }\n}\n"
	runSamples(t, "install-script", []sample{
		changed("postinstall", "package.json", node, replaceOnce(node, "\"prepare\"", "\"postinstall\": \"node x.js\",\n    \"prepare\""), approve),
		changed("preinstall below", "web/package.json", node, replaceOnce(node, "\"prepare\"", "\"preinstall\": \"sh x\",\n    \"prepare\""), approve),
		changed("changed", "package.json", node, replaceOnce(node, "\"tsc\"", "\"tsc && sh x\""), approve),
		changed("innocent: other script", "package.json", node, replaceOnce(node, "\"jest\"", "\"vitest run\""), nothing),
		changed("innocent: a comma behind it", "package.json", node, replaceOnce(node, "\"tsc\"\n", "\"tsc\",\n    \"lint\": \"eslint .\"\n"), nothing),
		changed("innocent: in a fixture of another name", "data.json", "{\n}\n", "{\n  \"postinstall\": \"x\"\n}\n", nothing),
	})
}

func TestLockfileHosts(t *testing.T) {
	lock := "{\n  \"a\": { \"resolved\": \"https://registry.example.org/a/-/a-1.0.0.tgz\" }\n}\n"
	runSamples(t, "lockfile-host", []sample{
		changed("other host", "package-lock.json", lock, replaceOnce(lock, "registry.example.org", "evil.example.net"), approve),
		changed("from git", "yarn.lock", "resolved \"https://registry.example.org/a\"\n", "resolved \"git+ssh://git@code.example.net/a.git\"\n", approve),
		changed("more of it", "Cargo.lock", "source = \"registry+https://index.example.org/\"\n", "source = \"registry+https://index.example.org/\"\nsource = \"git+https://code.example.net/x\"\n", approve),
		changed("innocent: same host", "package-lock.json", lock, replaceOnce(lock, "a-1.0.0", "a-1.1.0"), nothing),
		changed("innocent: page of a package", "package-lock.json", lock, replaceOnce(lock, "{ ", "{\n    \"funding\": \"https://fund.example.com/a\",\n    "), nothing),
		changed("innocent: checksums", "go.sum", "example.org/a v1.0.0 h1:x=\n", "example.org/b v1.0.0 h1:y=\n", nothing),
		{name: "innocent: new lockfile", base: files{}, change: files{"package-lock.json": lock}},
	})
}

func TestMigrations(t *testing.T) {
	runSamples(t, "migration", []sample{
		adding("Rails", "db/migrate/20260101_add_users.rb", "x\n", approve),
		adding("Django", "shop/migrations/0002_price.py", "x\n", approve),
		adding("SQL", "internal/store/migrations/003_add.up.sql", "x\n", approve),
		adding("Flyway", "src/main/resources/db/migration/V3__price.sql", "x\n", approve),
		adding("Alembic", "alembic/versions/ab12_price.py", "x\n", approve),
		{name: "deleted", base: files{"migrations/1.sql": "x\n"}, change: files{"migrations/1.sql": "-"}, want: approve},
		adding("innocent: package marker", "shop/migrations/__init__.py", "\n", nothing),
		adding("innocent: page about migrations", "docs/migrations/v2.md", "x\n", nothing),
		adding("innocent: code that runs migrations", "internal/store/migrate.go", "package store\n", nothing),
		adding("innocent: a test of one", "tests/migrations/0001_test.py", "x\n", nothing),
	})
}

func TestRemovedAPI(t *testing.T) {
	runSamples(t, "api-removed", []sample{
		changed("Go function", "cart.go", "package cart\n\nfunc Total() int { return 1 }\n", "package cart\n\nfunc Sum() int { return 1 }\n", note),
		changed("Go method", "cart.go", "package cart\n\ntype Cart struct{}\n\nfunc (c Cart) Total() int { return 1 }\n", "package cart\n\ntype Cart struct{}\n", note),
		changed("Python function", "cart.py", "def total(x):\n    return x\n", "def sum_of(x):\n    return x\n", note),
		changed("TypeScript function", "cart.ts", "export function total(x: number) {\n  return x;\n}\n", "function other() {\n  return 1;\n}\n", note),
		changed("innocent: body changed", "cart.go", "package cart\n\nfunc Total() int { return 1 }\n", "package cart\n\nfunc Total() int { return 2 }\n", nothing),
		changed("innocent: not exported", "cart.go", "package cart\n\nfunc total() int { return 1 }\n", "package cart\n", nothing),
		changed("innocent: internal package", "internal/cart/cart.go", "package cart\n\nfunc Total() int { return 1 }\n", "package cart\n", nothing),
		changed("innocent: private in Python", "cart.py", "def _total(x):\n    return x\n", "x = 1\n", nothing),
		{name: "innocent: moved", base: files{"a.go": "package a\n\nfunc Total() int { return 1 }\n"}, change: files{"a.go": "package a\n", "b.go": "package a\n\nfunc Total() int { return 1 }\n"}},
	})
}

func TestSensitivePaths(t *testing.T) {
	runSamples(t, "sensitive-path", []sample{
		adding("authentication", "src/auth/login.ts", "x\n", note),
		adding("payment", "billing/refund.py", "x\n", note),
		adding("permissions", "internal/permissions.go", "package internal\n", note),
		adding("innocent: words that begin alike", "src/author/list.ts", "x\n", nothing),
		adding("innocent: documentation", "docs/auth.md", "x\n", nothing),
		adding("innocent: its test", "src/auth/login.test.ts", "x\n", nothing),
		adding("innocent: parser's tokens", "lexer/token.go", "package lexer\n", nothing),
	})
}
