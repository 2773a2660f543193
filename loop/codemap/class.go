package codemap

import (
	"path"
	"strings"
)

// class says what kind of file a path is. Fixes are made in sources; the other classes rank apart from them
// and surface when the text is about them.
type class uint8

const (
	classSource class = iota
	classTest
	classDocs
	classExample
	classBuild
	classData
	classGenerated
	classVendored
	classes // how many there are
)

var (
	vendoredDirs  = set("vendor", "vendors", "third_party", "thirdparty", "third-party", "3rdparty", "node_modules", "bower_components", "external", "extern", "_vendor", "bundled", "pods", "carthage", "deps")
	testDirs      = set("test", "tests", "__tests__", "__test__", "spec", "specs", "testdata", "test-data", "test_data", "fixture", "fixtures", "__fixtures__", "__mocks__", "__snapshots__", "e2e", "testsuite", "unittest", "unittests", "integration_tests", "integration-tests", "androidtest", "playground")
	docsDirs      = set("doc", "docs", "documentation", "website", "site", "wiki", "man", "manual", "changelog", "changelogs", "changes", "news", "rfcs", "blog", "_posts")
	exampleDirs   = set("example", "examples", "_examples", "sample", "samples", "demo", "demos", "benchmark", "benchmarks", "bench", "benches", "tutorial", "tutorials")
	buildDirs     = set(".github", ".circleci", ".gitlab", ".ci", "ci", ".azure-pipelines", ".buildkite", ".devcontainer", ".vscode", ".idea", "cmake", "packaging", ".husky", ".config", ".changeset", ".travis", "docker", "gradle")
	generatedDirs = set("dist", "generated", "__generated__", "gen", ".yarn")

	// Whole names, lower-case, without and with their extension.
	docsStems  = set("readme", "license", "licence", "copying", "authors", "contributors", "notice", "changelog", "changes", "news", "history", "todo", "install", "codeowners")
	buildNames = set("makefile", "gnumakefile", "cmakelists.txt", "package.json", "bower.json", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "noxfile.py", "pipfile", "go.mod", "go.work", "cargo.toml", "pom.xml", "build.xml", "gemfile", "rakefile", "composer.json", "jsconfig.json", "configure", "build", "workspace", "meson.build", "jenkinsfile", "vagrantfile", "justfile", "renovate.json", "lerna.json", "nx.json", "turbo.json")
	genNames   = set("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "gemfile.lock", "composer.lock", "go.sum", "pipfile.lock", "flake.lock", "bun.lock", "bun.lockb", "deno.lock", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd")

	// Extensions, lower-case.
	docsExts  = set(".md", ".mdx", ".markdown", ".rst", ".adoc", ".asciidoc", ".txt", ".tex", ".1", ".3", ".5", ".7", ".8")
	buildExts = set(".cmake", ".mk", ".am", ".ac", ".m4", ".bazel", ".bzl", ".gradle", ".csproj", ".fsproj", ".vbproj", ".props", ".targets", ".sln", ".slnx", ".nuspec", ".gemspec", ".cabal", ".nix", ".podspec", ".cake", ".config", ".globalconfig", ".runsettings", ".ruleset", ".gyp", ".gypi")
	dataExts  = set(".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".svg", ".po", ".pot", ".xlf", ".snap", ".golden", ".out", ".log", ".ipynb", ".lock", ".sum", ".plist", ".resx", ".geojson", ".dic",
		".xml", ".xsd", ".xsl", ".xslt", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".bat", ".cmd", ".ps1",
		".ttf", ".woff", ".woff2", ".ico", ".png", ".jpg", ".jpeg", ".gif", ".pdf", ".bin", ".dat", ".zip", ".gz", ".jar")

	// Ends of a name's stem or of what stands before its last extension, lower-case.
	genEnds = []string{".pb", ".gen", ".generated", ".g", ".designer", "_generated", "_gen", "_pb2", "_pb2_grpc", ".min", ".bundle", "-bundle", "_mock"}

	secretNames = set(".netrc", ".npmrc", ".pypirc", ".htpasswd", ".pgpass", ".git-credentials", "credentials")
	secretDirs  = set(".ssh", ".aws", ".gnupg", ".kube", ".docker")
	secretExts  = set(".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc", ".gpg")
	secretStems = set("credentials", "secret", "secrets")
	configExts  = set(".json", ".yaml", ".yml", ".ini", ".toml", ".env")
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// classOf sorts a path by its directories and its name.
func classOf(p string) class {
	dirs := strings.Split(strings.ToLower(path.Dir(p)), "/")
	in := func(names map[string]bool) bool {
		for _, d := range dirs {
			if names[d] {
				return true
			}
		}
		return false
	}
	base := path.Base(p)
	switch {
	case in(vendoredDirs):
		return classVendored
	case generatedName(base) || in(generatedDirs):
		return classGenerated
	case in(testDirs) || testName(base) || testDir(path.Dir(p)):
		return classTest
	case in(buildDirs) || buildName(base):
		return classBuild
	case in(exampleDirs):
		return classExample
	case docsName(base) || in(docsDirs):
		return classDocs
	case dataExts[strings.ToLower(path.Ext(base))]:
		return classData
	}
	return classSource
}

// cutName splits a lower-case name into what stands before its last extension and the extension.
func cutName(base string) (stem, ext string) {
	base = strings.ToLower(base)
	ext = path.Ext(base)
	return strings.TrimSuffix(base, ext), ext
}

// testName knows foo_test.go, test_foo.py, foo.spec.ts, FooTest.java, TestFoo.java, conftest.py and the like.
func testName(base string) bool {
	stem, ext := cutName(base)
	if ext == "" || ext == base {
		return false
	}
	stem = strings.TrimSuffix(stem, ".snap")
	if strings.HasPrefix(stem, "test_") || stem == "conftest" || stem == "test" || stem == "tests" {
		return true
	}
	for _, end := range []string{"test", "tests", "spec", "specs"} {
		if head, ok := strings.CutSuffix(stem, end); ok && head != "" && strings.ContainsRune("._-", rune(head[len(head)-1])) {
			return true
		}
	}
	name := strings.TrimSuffix(base, path.Ext(base)) // with its capitals
	for _, end := range []string{"Test", "Tests", "TestCase", "Spec", "Specs", "IT"} {
		if head, ok := strings.CutSuffix(name, end); ok && head != "" {
			if c := head[len(head)-1]; c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
				return true
			}
		}
	}
	if rest, ok := strings.CutPrefix(name, "Test"); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
		return ext == ".java" || ext == ".kt" || ext == ".php" || ext == ".cs"
	}
	return false
}

func buildName(base string) bool {
	stem, ext := cutName(base)
	name := stem + ext
	if name[0] == '.' || buildNames[name] || buildExts[ext] || strings.HasSuffix(name, ".gradle.kts") {
		return true
	}
	switch ext {
	case ".js", ".cjs", ".mjs", ".ts", ".mts":
		return strings.HasSuffix(stem, ".config")
	case ".txt", ".in":
		return strings.HasPrefix(stem, "requirements")
	case ".json":
		return strings.HasPrefix(stem, "tsconfig")
	case ".yml", ".yaml":
		return stem == "codecov" || stem == "mkdocs" || stem == "appveyor" || strings.HasPrefix(stem, "docker-compose")
	}
	return strings.HasPrefix(name, "dockerfile") || strings.HasPrefix(name, "makefile") || strings.HasPrefix(name, "phpstan") || strings.HasPrefix(name, "phpunit.xml")
}

func docsName(base string) bool {
	stem, ext := cutName(base)
	if docsExts[ext] {
		return true
	}
	if i := strings.IndexAny(stem, "_-"); i > 0 {
		stem = stem[:i]
	}
	return ext == "" && docsStems[stem]
}

func generatedName(base string) bool {
	stem, ext := cutName(base)
	if genNames[stem+ext] || ext == ".map" || strings.HasPrefix(stem, "bindata") || strings.HasPrefix(stem, "zz_generated") || strings.HasPrefix(stem, "mock_") {
		return true
	}
	for _, end := range genEnds {
		if strings.HasSuffix(stem, end) {
			return true
		}
	}
	return false
}

// testDir finds directories such as AutoMapper.Tests, FunctionalTests, SharedSpecs and foo-test.
func testDir(dir string) bool {
	for d := range strings.SplitSeq(dir, "/") {
		for _, end := range []string{"Tests", "Test", "Specs", "tests", "test", "specs"} {
			head, ok := strings.CutSuffix(d, end)
			if !ok || head == "" {
				continue
			}
			c := head[len(head)-1]
			apart := strings.ContainsRune("._-", rune(c))
			camel := end[0] < 'a' && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9')
			if apart || camel || head == "unit" || head == "integration" {
				return true
			}
		}
	}
	return false
}

// Secret tells whether a path is by its name a place for credentials (security.md, attack 88). Such files
// are neither indexed nor shown; samples such as .env.example are not secret.
func Secret(p string) bool {
	base := path.Base(p)
	stem, ext := cutName(base)
	name := stem + ext
	switch {
	case strings.HasPrefix(name, ".env.") || ext == ".env":
		for _, sample := range []string{"example", "sample", "template", "dist", "default", "defaults"} {
			if strings.HasSuffix(name, "."+sample) || strings.HasSuffix(stem, sample) {
				return false
			}
		}
		return true
	case secretNames[name], secretExts[ext], secretStems[stem] && configExts[ext]:
		return true
	case strings.HasPrefix(name, "id_rsa"), strings.HasPrefix(name, "id_dsa"), strings.HasPrefix(name, "id_ecdsa"), strings.HasPrefix(name, "id_ed25519"):
		return ext != ".pub"
	case ext == ".json" && (strings.HasPrefix(stem, "service-account") || strings.HasPrefix(stem, "service_account") || strings.HasPrefix(stem, "serviceaccount")):
		return true
	}
	for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if secretDirs[strings.ToLower(path.Base(dir))] {
			return true
		}
	}
	return false
}
