package edit

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// strength says how surely a line of the reply is a path.
type strength int

const (
	strengthNone   strength = iota // prose
	strengthSpaced                 // has spaces: a path if such a file exists
	strengthWeak                   // one word that does not end like a file: a path if such a file exists, or if nothing else is
	strengthStrong                 // a path
)

var (
	bullet     = regexp.MustCompile(`^(?:[-*+•]|\d{1,3}[.)])[ \t]+`)
	heading    = regexp.MustCompile(`^#{1,6}[ \t]+`)
	label      = regexp.MustCompile("^[*_`]*(?i:file[ \\-]?name|file[ \\-]?path|file|path)[*_`]*[ \t]*:[*_`]*[ \t]*")
	annotation = regexp.MustCompile(`[ \t]+[(\[](?i:new|new file|create|created|edit|edited|modify|modified|update|updated|change|changed)[)\]]$`)
	deleteMark = regexp.MustCompile("[ \t]*[*_`]*[ \t]+[*_`]*\\((?i:delete)\\)[*_`]*$")
	arrow      = regexp.MustCompile(`[ \t]+(?:->|→)[ \t]+`)
	commented  = regexp.MustCompile(`^(?://|--|;;|%)[ \t]+(\S.*)$|^/\*+[ \t]*(\S.*?)[ \t]*\*/$|^<!--[ \t]*(\S.*?)[ \t]*-->$`)
)

// outside matches paths that lead out of the repository, with spaces or not: they are refused as paths, not passed over as prose.
var outside = regexp.MustCompile(`^(?:/|\.\.?/\.\./|\.\./|~/|[A-Za-z]:[\\/])`)

// throughGit tells whether a folder of the path is git's own.
func throughGit(p string) bool { return slices.ContainsFunc(strings.Split(p, "/"), gitDirectory) }

// bareNames are files that are commonly named by one word without dot or slash.
var bareNames = map[string]bool{
	"makefile": true, "gnumakefile": true, "dockerfile": true, "containerfile": true, "license": true, "licence": true, "copying": true,
	"readme": true, "changelog": true, "changes": true, "news": true, "authors": true, "contributing": true, "notice": true,
	"gemfile": true, "rakefile": true, "procfile": true, "brewfile": true, "vagrantfile": true, "jenkinsfile": true, "codeowners": true,
	"justfile": true, "pipfile": true, "guardfile": true, "podfile": true, "fastfile": true, "appfile": true, "caddyfile": true,
	"tiltfile": true, "build": true, "workspace": true, "version": true, "todo": true, "kconfig": true, "kbuild": true, "owners": true,
}

// bareName tells a customary name as it is written for files (README, Makefile) from a heading's word (Changes, License).
func bareName(p string) bool {
	lower := strings.ToLower(p)
	return bareNames[lower] && (p == strings.ToUpper(p) || strings.HasSuffix(lower, "file") || lower == "kconfig" || lower == "kbuild")
}

func bulleted(line string) bool { return bullet.MatchString(strings.TrimSpace(line)) }

// pathLine reads a line of the reply as a path, its decoration removed.
func pathLine(line string) (string, strength) {
	text := strings.TrimSpace(line)
	if text == "" || len(text) > maxPath+64 {
		return "", strengthNone
	}
	text = bullet.ReplaceAllString(text, "")
	text = heading.ReplaceAllString(text, "")
	text = bullet.ReplaceAllString(text, "")
	if m := commented.FindStringSubmatch(text); m != nil {
		text = m[1] + m[2] + m[3]
	}
	text, labelled := undecorate(text)
	if text == "" || strings.Contains(text, "://") {
		return "", strengthNone
	}
	pathlike := strings.ContainsAny(text, `/\`) || strings.Contains(strings.TrimRight(text, "."), ".") || text == ".."
	if strings.ContainsAny(text, " \t") {
		switch {
		case pathlike && (labelled || outside.MatchString(text) || throughGit(text)):
			return text, strengthStrong
		case pathlike:
			return text, strengthSpaced
		}
		return "", strengthNone
	}
	if !strings.ContainsAny(text, `/\`) && text != ".." && strings.TrimRight(text, ".,!?;") != text {
		return "", strengthNone // the last word of a sentence
	}
	if labelled || fileLike(text) || safePath(text) != "" && !strings.Contains(text, "::") {
		return text, strengthStrong
	}
	if strings.Trim(text, "-=_*~#+.|:<>") == "" {
		return "", strengthNone // a rule or a table's line
	}
	return text, strengthWeak
}

// undecorate removes bold, backticks, quotes, `File:`, a trailing colon and notes like (new file). It reports whether
// `File:` was there, which makes what follows a path even if it has spaces.
func undecorate(text string) (string, bool) {
	labelled := false
	for {
		before := text
		text = strings.TrimSpace(text)
		if rest := label.ReplaceAllString(text, ""); rest != text && rest != "" {
			text, labelled = rest, true
		}
		if len(text) > 1 {
			text = strings.TrimRight(strings.TrimSuffix(text, ":"), " \t")
		}
		text = annotation.ReplaceAllString(text, "")
		for _, pair := range []string{"**", "__", "`", "\"", "'", "*"} {
			if len(text) > 2*len(pair) && strings.HasPrefix(text, pair) && strings.HasSuffix(text, pair) {
				inner := text[len(pair) : len(text)-len(pair)]
				if !strings.Contains(inner, pair) || pair == "*" {
					text = inner
				}
			}
		}
		// A label in bold leaves half of a pair: **File: a.go**
		if labelled {
			text = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(text, "**"), "`"), " \t")
		}
		if text == before {
			return text, labelled
		}
	}
}

// deletion reads `path (delete)`. A line in a list, or one with other words, is prose.
func deletion(line string) (string, bool) {
	text := heading.ReplaceAllString(strings.TrimSpace(line), "")
	at := deleteMark.FindStringIndex(text)
	if at == nil || bulleted(text) {
		return "", false
	}
	text = text[:at[0]]
	for _, pair := range []string{"**", "`", "__"} {
		// Decoration around the whole line leaves its first half.
		if strings.HasPrefix(text, pair) && strings.Count(text, pair) == 1 {
			text = strings.TrimPrefix(text, pair)
		}
	}
	p, strength := pathLine(text)
	if strength < strengthWeak {
		return "", false
	}
	return p, true
}

// renaming reads `old/path -> new/path`. A line in a list, with other words, or between things that do not look like
// files is prose. Where the two do not end like files (states, versions, functions do not) certain is false, and the line
// counts only if the old one exists.
func renaming(line string) (from, to string, certain, ok bool) {
	text := heading.ReplaceAllString(strings.TrimSpace(line), "")
	if bulleted(text) || strings.HasSuffix(text, ":") {
		return "", "", false, false
	}
	for _, pair := range []string{"**", "`"} {
		if inner := strings.TrimSuffix(strings.TrimPrefix(text, pair), pair); len(inner) == len(text)-2*len(pair) && !strings.Contains(inner, pair) {
			text = inner
		}
	}
	text = label.ReplaceAllString(text, "")
	sides := arrow.Split(text, -1)
	if len(sides) != 2 {
		return "", "", false, false
	}
	from, left := pathLine(sides[0])
	to, right := pathLine(sides[1])
	if left < strengthWeak || right < strengthWeak {
		return "", "", false, false
	}
	return from, to, left == strengthStrong && right == strengthStrong, true
}

// fileLike tells a file's name from `v1.2`, `os.Open` or `a.b`: it has a folder, is a customary name, begins with a dot,
// or ends like a file.
func fileLike(p string) bool {
	base := path.Base(p)
	return strings.ContainsAny(p, `/\`) || bareName(p) || strings.HasPrefix(base, ".") || extensions[strings.ToLower(path.Ext(base))]
}

var extensions = func() map[string]bool {
	m := map[string]bool{}
	for ext := range strings.FieldsSeq(`
		adoc astro bash bat bazel bzl c cc cfg cjs clj cljs cmake cmd conf cpp cs csproj css csv cts cxx d dart diff
		eex elm env erb erl ex exs fs fsx gemspec go gql gradle graphql groovy h haml hbs hcl heex hh hpp hrl hs htm html hxx ini ipynb
		j2 java jinja jl js json json5 jsonc jsonl jsx kt kts less lock lua m markdown md mdx mjs mk ml mli mm mod mts nim nix
		org pas patch php pl pm po png proto ps1 pug py pyi pyx r rake rb rs rst ru sass sbt scala scm scss sh sln snap sol sql sum
		svelte svg swift tcl tex tf tfvars tmpl toml tpl ts tsv tsx txt vb vue xml xsd xsl yaml yml zig zsh`) {
		m["."+ext] = true
	}
	return m
}()

var (
	attribute = regexp.MustCompile(`(?i)\b(?:title|file|filename|path|name)\s*[=:]\s*(?:"([^"]+)"|'([^']+)'|([^\s"'}]+))`)
)

// infoPath finds a path in a fence's info string: `go src/a.go`, `src/a.go`, `go:src/a.go`, `go title="src/a.go"`.
func infoPath(info string) string {
	if m := attribute.FindStringSubmatch(info); m != nil {
		return m[1] + m[2] + m[3]
	}
	for word := range strings.FieldsSeq(info) {
		if language, rest, ok := strings.Cut(word, ":"); ok && language != "" && !strings.ContainsAny(language, "./") {
			word = rest
		}
		if fileLike(word) && (strings.ContainsAny(word, "./") || bareName(word)) {
			return word
		}
	}
	return ""
}
