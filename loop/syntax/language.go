package syntax

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

// Language names a language that this package can parse. The zero value, Unknown, is any other text.
type Language string

// The languages of this package. TSX is apart from TypeScript since `<T>x` means a cast only in the latter.
const (
	Unknown    Language = ""
	C          Language = "c"
	CPP        Language = "cpp"
	CSharp     Language = "csharp"
	Go         Language = "go"
	Java       Language = "java"
	JavaScript Language = "javascript"
	JSON       Language = "json"
	PHP        Language = "php"
	Python     Language = "python"
	Ruby       Language = "ruby"
	Rust       Language = "rust"
	TOML       Language = "toml"
	TSX        Language = "tsx"
	TypeScript Language = "typescript"
	XML        Language = "xml"
	YAML       Language = "yaml"
)

var byExtension = map[string]Language{
	".c":   C,
	".cc":  CPP,
	".cpp": CPP, ".cxx": CPP, ".c++": CPP, ".hh": CPP, ".hpp": CPP, ".hxx": CPP, ".ipp": CPP, ".tcc": CPP,
	".cs":   CSharp,
	".go":   Go,
	".java": Java,
	".js":   JavaScript, ".jsx": JavaScript, ".mjs": JavaScript, ".cjs": JavaScript,
	".json": JSON, ".webmanifest": JSON,
	".php": PHP, ".phtml": PHP,
	".py": Python, ".pyi": Python, ".pyw": Python,
	".rb": Ruby, ".rake": Ruby, ".gemspec": Ruby, ".ru": Ruby,
	".rs":   Rust,
	".toml": TOML,
	".tsx":  TSX,
	".ts":   TypeScript, ".mts": TypeScript, ".cts": TypeScript,
	".xml": XML, ".xsd": XML, ".xsl": XML, ".xslt": XML, ".svg": XML, ".csproj": XML, ".fsproj": XML, ".vbproj": XML, ".props": XML,
	".targets": XML, ".resx": XML, ".nuspec": XML, ".xaml": XML, ".plist": XML, ".wsdl": XML,
	".yaml": YAML, ".yml": YAML,
}

var byName = map[string]Language{
	"rakefile": Ruby, "gemfile": Ruby, "guardfile": Ruby, "vagrantfile": Ruby, "podfile": Ruby,
	"brewfile": Ruby, "capfile": Ruby, "fastfile": Ruby, "dangerfile": Ruby,
	"composer.lock": JSON, "pipfile.lock": JSON, "flake.lock": JSON, "cargo.lock": TOML, "poetry.lock": TOML, "uv.lock": TOML,
	"sconstruct": Python, "sconscript": Python,
}

var byInterpreter = map[string]Language{
	"python": Python, "pypy": Python, "ruby": Ruby, "jruby": Ruby, "node": JavaScript, "nodejs": JavaScript, "php": PHP,
	"bun": TypeScript, "deno": TypeScript, "ts-node": TypeScript, "tsx": TypeScript,
}

// commented matches JSON files that are by convention read with comments and trailing commas, which
// encoding/json would call broken.
var commented = regexp.MustCompile(`(?i)(^|/)(tsconfig|jsconfig|devcontainer|\.?eslintrc|\.babelrc|\.swcrc|tslint|api-extractor|settings|launch|tasks|extensions|keybindings|turbo|biome|deno|renovate|wrangler|\.prettierrc|language-configuration|.*\.code-workspace)([.-][^/]*)?\.json$|(^|/)\.(vscode|zed|devcontainer)/`)

// cppHeader matches what a header has in C++ but not in C.
var cppHeader = regexp.MustCompile(`(?m)^\s*(class\s+\w|namespace\b|template\s*<|using\s+\w|public:|private:|protected:|#include\s*<(string|vector|memory|map|iostream|functional|utility|cstdint|cstddef|algorithm|optional)>)|\b(std::|nullptr\b|constexpr\b|noexcept\b|virtual\s)`)

var shebang = regexp.MustCompile(`^#!\s*\S*?([^/\s]+)(?:[ \t]+(.*))?$`)

// LanguageOf tells the language of the file at p by its extension, its name or its first line. head is the
// beginning of the file, as much as is at hand; it may be empty. It decides on .h files and on scripts.
func LanguageOf(p string, head []byte) Language {
	p = strings.ReplaceAll(p, "\\", "/")
	base := strings.ToLower(path.Base(p))
	ext := path.Ext(base)
	if ext == ".h" {
		if cppHeader.Match(head) {
			return CPP
		}
		return C
	}
	if lang, ok := byName[base]; ok {
		return lang
	}
	if lang, ok := byExtension[ext]; ok && ext != base {
		if lang == JSON && commented.MatchString(p) {
			return Unknown
		}
		if ext == ".ts" && bytes.HasPrefix(bytes.TrimSpace(head), []byte("<?xml")) {
			return Unknown // Qt's translation files share the extension
		}
		return lang
	}
	if ext == "" {
		return interpreted(head)
	}
	return Unknown
}

// interpreted reads the language from a first line such as `#!/usr/bin/env -S python3 -u`.
func interpreted(head []byte) Language {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	m := shebang.FindSubmatch(bytes.TrimSpace(line))
	if m == nil {
		return Unknown
	}
	program := string(m[1])
	if program == "env" {
		for _, word := range strings.Fields(string(m[2])) {
			if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
				program = path.Base(word)
				break
			}
		}
	}
	return byInterpreter[strings.TrimRight(program, "0123456789.")]
}
