package guard

import (
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func TestProtectedPaths(t *testing.T) {
	add := func(name, path string, want loop.Severity) sample {
		return sample{name: name, base: files{"main.go": "package main\n"}, change: files{path: "x\n"}, want: want}
	}
	ci := files{".github/workflows/ci.yml": "on: push\njobs: {}\n", "a.txt": "a\n"}
	runSamples(t, "protected-path", []sample{
		add("case 75: workflow", ".github/workflows/ci.yml", block),
		add("case 75: action", ".github/actions/build/action.yml", block),
		add("case 76: owners at the root", "CODEOWNERS", block),
		add("case 76: owners in .github", ".github/CODEOWNERS", block),
		add("case 76: owners in docs", "docs/CODEOWNERS", block),
		add("case 77: upper case", ".GitHub/Workflows/CI.yml", block),
		add("case 77: parent segment", "x/../.github/workflows/ci.yml", block),
		add("case 77: dot segment", "./.github/./workflows/ci.yml", block),
		add("case 77: backslash", `.github\workflows\ci.yml`, block),
		add("case 77: HFS-ignorable", ".git\u200chub/workflows/ci.yml", block),
		add("case 77: NTFS trailing dot and space", ".github./workflows /ci.yml", block),
		add("case 77: NTFS stream", ".github::$INDEX_ALLOCATION/workflows/ci.yml", block),
		add("case 77: long s folds to s", ".github/workflow\u017f/ci.yml", block),
		add("case 79: gitlab", ".gitlab-ci.yml", block),
		add("case 79: circle", ".circleci/config.yml", block),
		add("case 79: jenkins below", "deploy/Jenkinsfile", block),
		add("case 79: husky", ".husky/pre-commit", block),
		add("case 79: npmrc below", "packages/a/.npmrc", block),
		add("case 79: agents' instructions", "AGENTS.md", block),
		add("case 79: agents' instructions below", "src/CLAUDE.md", block),
		add("case 79: devcontainer", ".devcontainer/devcontainer.json", block),
		add("case 79: devcontainer file", ".devcontainer.json", block),
		add("case 79: cargo config", ".cargo/config.toml", block),
		add("case 79: autocode's own", ".github/autocode.yml", block),
		{name: "case 80: rename away", base: ci, change: files{".github/workflows/ci.yml": "-", "old-ci.yml": "on: push\njobs: {}\n"}, want: block, file: ".github/workflows/ci.yml"},
		{name: "case 80: rename into", base: files{"ci.yml": "on: push\njobs: {}\n"}, change: files{"ci.yml": "-", ".github/workflows/ci.yml": "on: push\njobs: {}\n"}, want: block},
		{name: "case 80: delete", base: ci, change: files{".github/workflows/ci.yml": "-"}, want: block},
		{name: "case 80: chmod", base: ci, change: files{".github/workflows/ci.yml": "-", ".github/workflows/ci.yml*": "on: push\njobs: {}\n"}, want: block},
		{name: "case 81: written by a build script", base: files{"build.sh": "make\n"}, change: files{"build.sh": "make\nmkdir\n", ".github/workflows/release.yml": "on: push\n"}, want: block},
		{name: "of the repository", base: files{"a": "a\n"}, change: files{"api/v1/schema.proto": "x\n"}, want: block, request: func(r *loop.GuardRequest) { r.Policy.Protected = []string{"api/**/*.proto"} }},
		{name: "of the repository, directory", base: files{"a": "a\n"}, change: files{"legal/terms.md": "x\n"}, want: block, request: func(r *loop.GuardRequest) { r.Policy.Protected = []string{"/legal/"} }},
		{name: "of the repository, NFD pattern and NFC path", base: files{"a": "a\n"}, change: files{"caf\u00e9/x": "x\n"}, want: block, request: func(r *loop.GuardRequest) { r.Policy.Protected = []string{"cafe\u0301"} }},
		{name: "innocent: workflows as a package", base: files{"a": "a\n"}, change: files{"internal/workflows/run.go": "package workflows\n"}},
		{name: "innocent: issue template", base: files{"a": "a\n"}, change: files{".github/ISSUE_TEMPLATE/bug.md": "Bug\n"}},
		{name: "innocent: words that begin alike", base: files{"a": "a\n"}, change: files{"docs/CODEOWNERS.md": "How owners work\n", "src/agents.mdx": "x\n", "lib/npmrc.js": "x\n"}},
		{name: "innocent: gitignore", base: files{".gitignore": "bin\n"}, change: files{".gitignore": "bin\nout\n"}},
		{name: "innocent: anchored pattern elsewhere", base: files{"a": "a\n"}, change: files{"x/legal/terms.md": "x\n"}, request: func(r *loop.GuardRequest) { r.Policy.Protected = []string{"/legal/"} }},
	})
}

func TestApprovalPaths(t *testing.T) {
	policy := func(r *loop.GuardRequest) {
		r.Policy.Approval = []string{"infra/", "*.tf", "src/[ab]?/x", "deploy/[z-a]"}
	}
	at := func(name, path string, want loop.Severity) sample {
		return sample{name: name, base: files{"a": "a\n"}, change: files{path: "x\n"}, want: want, request: policy}
	}
	runSamples(t, "approval-path", []sample{
		at("directory", "infra/main.yaml", approve),
		at("name at any depth", "modules/net/vpc.tf", approve),
		at("class", "src/a1/x", approve),
		at("a class that is none stands for itself", "deploy/[z-a]", approve),
		at("innocent: class", "src/c1/x", nothing),
		at("innocent: extension", "modules/net/vpc.tfvars.md", nothing),
		at("innocent: other directory", "infrastructure/main.yaml", nothing),
	})
}

func TestPathSpelling(t *testing.T) {
	base := files{"src/User.go": "package src\n", "docs/a:b.md": "x\n"}
	at := func(name, path string, want loop.Severity) sample {
		return sample{name: name, base: base, change: files{path: "new\n"}, want: want}
	}
	runSamples(t, "path-spelling", []sample{
		at("case 77: short name", "GITHUB~1/workflows/ci.yml", block),
		at("case 77: decomposed", "cafe\u0301.txt", block),
		at("case 77: trailing dot", "a./b", block),
		at("zero width", "a\u200b.go", block),
		at("bidirectional", "a\u202egpj.exe", block),
		at("control character", "a\nb", block),
		at("not UTF-8", "a\xff", block),
		at("case 115: collides by case", "src/user.go", block),
		at("innocent: letters of the world", "docs/日本語/プラン.md", nothing),
		at("innocent: composed accent", "docs/café.md", nothing),
		at("innocent: brackets and dots", "app/[id]/page.test.tsx", nothing),
		at("innocent: tilde", "notes~draft/long-name.md", nothing),
		{name: "innocent: the base has it", base: base, change: files{"docs/a:b.md": "y\n"}},
	})
}

func TestDeclaredFiles(t *testing.T) {
	base := files{"a.go": "package a\n", "b.go": "package b\n"}
	declare := func(paths ...string) func(*loop.GuardRequest) {
		return func(r *loop.GuardRequest) { r.Declared = paths }
	}
	change := files{"a.go": "package a // x\n"}
	runSamples(t, "undeclared-file", []sample{
		{name: "other file", base: base, change: change, want: block, request: declare("b.go")},
		{name: "nothing declared", base: base, change: change, want: block, request: func(r *loop.GuardRequest) { r.Declared = []string{} }},
		{name: "innocent: declared", base: base, change: change, request: declare("a.go")},
		{name: "innocent: more declared than changed", base: base, change: change, request: declare("b.go", "a.go")},
		{name: "innocent: not checked", base: base, change: change},
	})
}

func TestSizes(t *testing.T) {
	many := files{}
	for i := range 21 {
		many["f"+strings.Repeat("x", i)+".go"] = "package f\n"
	}
	runSamples(t, "size-files", []sample{
		{name: "too many", base: files{}, change: many, want: block},
		{name: "no budget", base: files{}, change: files{"a": "a\n"}, want: block, request: func(r *loop.GuardRequest) { r.Limits.Files = 0 }},
		{name: "innocent: one", base: files{}, change: files{"a": "a\n"}},
		{name: "innocent: as many as allowed", base: files{}, change: files{"a": "a\n", "b": "b\n"}, request: func(r *loop.GuardRequest) { r.Limits.Files = 2 }},
		{name: "innocent: nothing", base: files{}, change: files{}, request: func(r *loop.GuardRequest) { r.Limits.Files = 0 }},
	})
	long := strings.Repeat("line\n", 801)
	runSamples(t, "size-lines", []sample{
		{name: "too many", base: files{"s": "a\n"}, change: files{"s": "b\n", "big.txt": long}, want: block, file: "big.txt"},
		{name: "removed ones count", base: files{"big.txt": long}, change: files{"big.txt": "-"}, want: block},
		{name: "innocent: lockfile", base: files{"package-lock.json": "{}\n"}, change: files{"package-lock.json": long}},
		{name: "innocent: few", base: files{"a": long}, change: files{"a": long + "x\n"}},
		{name: "innocent: moved file", base: files{"a": long}, change: files{"a": "-", "b": long}},
	})
}

func TestModes(t *testing.T) {
	base := files{"run.sh": "#!/bin/sh\n", "link@": "docs/a", "lib%": "1\n"}
	runSamples(t, "mode", []sample{
		{name: "case 43: symbolic link", base: base, change: files{"x@": "/etc/passwd"}, want: block},
		{name: "case 43: file becomes a link", base: base, change: files{"run.sh": "-", "run.sh@": "other"}, want: block},
		{name: "case 43: link turned out of the repository", base: base, change: files{"link@": "../../etc"}, want: block},
		{name: "case 43: executable bit", base: base, change: files{"run.sh": "-", "run.sh*": "#!/bin/sh\n"}, want: note},
		{name: "link turned within", base: base, change: files{"link@": "docs/b"}, want: note},
		{name: "new submodule", base: base, change: files{"other%": "1\n"}, want: block},
		{name: "submodule moved", base: base, change: files{"lib%": "2\n"}, want: block},
		{name: "innocent: executable edited", base: files{"run.sh*": "#!/bin/sh\n"}, change: files{"run.sh*": "#!/bin/sh\nset -e\n"}},
		{name: "innocent: link deleted", base: base, change: files{"link@": "-"}},
		{name: "innocent: bit taken off", base: files{"run.sh*": "x\n"}, change: files{"run.sh*": "-", "run.sh": "x\n"}},
	})
}

func TestOpaqueFiles(t *testing.T) {
	runSamples(t, "opaque", []sample{
		{name: "binary added", base: files{}, change: files{"tool.exe!": "MZ"}, want: block},
		{name: "binary changed", base: files{"a.db!": "1"}, change: files{"a.db!": "2"}, want: block},
		{name: "huge lockfile", base: files{"package-lock.json!": "1"}, change: files{"package-lock.json!": "2"}, want: approve},
		{name: "innocent: binary deleted", base: files{"a.db!": "1"}, change: files{"a.db!": "-"}},
		{name: "innocent: text", base: files{}, change: files{"a.svg": "<svg/>\n"}},
		{name: "innocent: binary left alone", base: files{"a.db!": "1", "b": "b\n"}, change: files{"b": "c\n"}},
	})
}

func TestJunk(t *testing.T) {
	base := files{"package.json": "{}\n", "web/package.json": "{}\n", "Cargo.toml": "[package]\n", "app/app.csproj": "<Project/>\n", "src/a.py": "x = 1\n"}
	at := func(name, path string, want loop.Severity) sample {
		return sample{name: name, base: base, change: files{path: "x\n"}, want: want}
	}
	runSamples(t, "junk", []sample{
		at("installed packages", "web/node_modules/left-pad/index.js", block),
		at("byte code beside tests", "tests/__pycache__/a.cpython-312.py", block),
		at("compiled", "src/a.pyc", block),
		at("Rust's output", "target/debug/build.rs", block),
		at("bundler's output", "web/dist/index.js", block),
		at(".NET's output", "app/obj/x.cs", block),
		at("patch leftovers", "src/a.py.orig", block),
		at("rejects", "src/a.py.rej", block),
		at("editor's swap", ".a.py.swp", block),
		at("backup", "src/a.py~", block),
		at("desktop", "src/.DS_Store", block),
		at("coverage", "coverage.out", block),
		at("case 88: environment of one machine", ".env", block),
		at("innocent: example of an environment", ".env.example", nothing),
		at("innocent: a package named build", "src/build/plan.go", nothing),
		at("innocent: bin of scripts", "bin/release", nothing),
		at("innocent: target as a word", "src/target/parse.go", nothing),
		at("innocent: fixture of a patch tool", "testdata/a.txt.orig", nothing),
		{name: "innocent: tracked output", base: base.with(files{"dist/index.js": "1\n"}), change: files{"dist/other.js": "2\n"}},
		{name: "innocent: junk deleted", base: files{"a.orig": "x\n"}, change: files{"a.orig": "-"}},
	})
}
