package guard

import (
	"path"
	"regexp"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

var (
	// scriptFile matches files whose lines are commands.
	scriptFile = regexp.MustCompile(`(?i)(?:\.(?:sh|bash|zsh|fish|ps1|bat|cmd|ya?ml|mk|bats)|(?:^|/)(?:Makefile|GNUmakefile|Dockerfile[^/]*|justfile|Taskfile|Rakefile|Procfile|package\.json|composer\.json|tox\.ini|noxfile\.py|pom\.xml|build\.gradle(?:\.kts)?))$`)
	// swallowing matches the ways to make a command's failure look like success.
	swallowing = regexp.MustCompile(`(?:\|\||;)\s*(?:/bin/)?(?:true|:|exit 0|echo\b[^|&]*|exit /b 0)\s*(?:["'#);&\\].*)?$|^\s*set \+e\b|^\s*set \+o\s+(?:errexit|pipefail)|\bcontinue-on-error:\s*true|\ballow_failure:\s*true|\bignore_errors:\s*(?:true|yes)|\bfailOnError\s*=\s*false|--(?:exit-zero|passWithNoTests|no-fail|keep-going-always)\b|\b(?:testFailureIgnore|ignoreFailures)\b\W{1,4}true|-D(?:maven\.test\.failure\.ignore|skipTests|maven\.test\.skip)\b|\$ErrorActionPreference\s*=\s*['"]SilentlyContinue`)
	// makeIgnore matches a recipe line of make whose failure does not count.
	makeIgnore = regexp.MustCompile(`^\t@?-`)
	// exitsZero matches a script's end with success.
	exitsZero = regexp.MustCompile(`^\s*exit 0\s*$`)
	// checking matches commands whose exit status is a verdict.
	checking = regexp.MustCompile(`(?i)\b(?:go (?:test|vet|build)|pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|ava|karma|playwright|cypress|eslint|tsc|ruff|flake8|pylint|mypy|pyright|black --check|rubocop|rspec|rake test|cargo (?:test|check|clippy|build|nextest)|mvn|mvnw|gradle|gradlew|ctest|phpunit|phpstan|pest|dotnet (?:test|build)|mix test|golangci-lint|staticcheck|npm (?:test|run (?:test|lint|build))|yarn (?:test|lint|build)|pnpm (?:test|lint|build)|make (?:test|check|lint|all)|bats|node --test)\b`)
	// emptiedScript matches a package script of verification that does nothing.
	emptiedScript = regexp.MustCompile(`^\s*"(?:test|lint|check|build|typecheck)(?::[\w-]+)?"\s*:\s*"(?:\s*|true|:|exit 0|echo\b[^|&;]*(?:&&\s*exit 0)?)"`)
)

// switchedOff matches the remarks by which a linter or a type checker passes over what follows.
var switchedOff = regexp.MustCompile(`(?://|/\*|#|--)\s*(?:@ts-(?:nocheck|ignore|expect-error)\b|eslint-disable|biome-ignore\b|type:\s*ignore\b|noqa\b|pylint:\s*disable\b|` +
	`pyright:\s*ignore\b|mypy:\s*ignore-errors\b|ruff:\s*noqa\b|nolint\b|rubocop:disable\b|phpcs:(?:ignore|disable)\b|NOSONAR\b|NOLINT\b|nosec\b|swiftlint:disable\b|istanbul ignore\b|pragma:\s*no cover\b)`)

// silenced are the handlers in source code that do nothing about an error, on one line or over two.
var silenced = map[string]*regexp.Regexp{
	".py": regexp.MustCompile(`^\s*except\b[^:]*:\s*(?:#.*)?\n?\s*(?:pass|\.\.\.|continue)\s*(?:#.*)?(?:\n|$)|\bsuppress\(\s*(?:Exception|BaseException)\b`),
	".rb": regexp.MustCompile(`\brescue\s+(?:nil|false)\b|^\s*rescue\b[^\n]*\n\s*(?:nil|end)\s*(?:\n|$)`),
	".go": regexp.MustCompile(`^\s*if\s+(?:.*;\s*)?err\s*!=\s*nil\s*\{\s*\}?\s*(?:\n\s*\}|$)|^\s*_\s*=\s*recover\(\)|\bdefer func\(\) \{ (?:_ = )?recover\(\) \}\(\)`),
	".rs": regexp.MustCompile(`^\s*Err\(_\)\s*=>\s*(?:\{\s*\}|\(\)),?`),
	"{}":  regexp.MustCompile(`\bcatch\s*(?:\([^)]*\))?\s*\{\s*(?:(?://[^\n]*|/\*.*\*/)?\s*)\}|\bcatch\s*(?:\([^)]*\))?\s*\{\s*\n\s*\}|\.catch\(\s*\(?\w*\)?\s*=>\s*\{\s*\}\s*\)`),
}

// checkSwallowed looks at added lines. `|| true` after a clean-up is common, so it is noted; after a test, a lint or a
// build it makes the verdict worthless.
func checkSwallowed(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		if f.Op == loop.OpDelete || isLockfile(f.Path) {
			continue
		}
		after, err := c.after(f)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(after, "\n")
		for _, l := range added(f) {
			if moved(f, l.Text) {
				continue
			}
			if switchedOff.MatchString(l.Text) && knowsTests(f.Path) && !quotedAt(f.Path, lines, l.New) {
				findings = append(findings, loop.Finding{File: f.Path, Line: l.New, Message: "a comment switches a check off: " + quote(l.Text)})
				continue
			}
			if !isCode(f.Path, l.Text) {
				continue
			}
			finding := loop.Finding{File: f.Path, Line: l.New, Message: "a failure does not count any more: " + quote(l.Text)}
			switch {
			case isScript(f.Path, lines):
				if path.Base(f.Path) == "package.json" && emptiedScript.MatchString(l.Text) && replacesScript(f, l.Text) {
					finding.Severity, finding.Message = loop.SeverityBlock, "a script that verifies does nothing any more: "+quote(l.Text)
				} else if !swallows(f.Path, f, lines, l) {
					continue
				} else if checking.MatchString(l.Text) && !swallowedBefore(f, l.Text) {
					finding.Severity = loop.SeverityBlock
				}
			case isTest(f.Path) || !silences(f.Path, lines, l.New-1):
				continue
			default:
				finding.Message = "an error is caught and nothing is done about it: " + quote(l.Text)
			}
			findings = append(findings, finding)
		}
	}
	return findings, nil
}

// quotedAt says whether a line lies within a string over several lines.
func quotedAt(p string, lines []string, line int) bool {
	within := quotedLines(p, strings.Join(lines, "\n"))
	return line >= 1 && line <= len(within) && within[line-1]
}

// isScript says whether a file holds commands, by its name or its first line.
func isScript(p string, lines []string) bool {
	return scriptFile.MatchString(p) || path.Ext(p) == "" && strings.HasPrefix(lines[0], "#!") && strings.Contains(lines[0], "sh")
}

func swallows(p string, f loop.FileDiff, lines []string, l loop.DiffLine) bool {
	base := path.Base(p)
	switch {
	case swallowing.MatchString(l.Text):
		return true
	case makeIgnore.MatchString(l.Text):
		return strings.Contains(strings.ToLower(base), "makefile") || path.Ext(p) == ".mk"
	case exitsZero.MatchString(l.Text) && f.Op != loop.OpAdd:
		// Not under a condition: whatever went before, the script ends well.
		return indent(l.Text) == 0 && lineAt(lines, l.New) == ""
	}
	return false
}

// swallowedBefore says whether the line takes the place of one whose failure did not count either: for every such command of a tool
// that is added, one of the same tool is removed.
func swallowedBefore(f loop.FileDiff, text string) bool {
	if !swallowing.MatchString(text) {
		return false
	}
	tool := strings.ToLower(checking.FindString(text))
	balance := 0
	for _, l := range f.Lines {
		if !swallowing.MatchString(l.Text) || strings.ToLower(checking.FindString(l.Text)) != tool {
			continue
		}
		switch l.Op {
		case loop.LineRemoved:
			balance++
		case loop.LineAdded:
			balance--
		case loop.LineContext:
		}
	}
	return balance >= 0
}

// lineAt returns the next line that is not blank from an index on, "" at the end.
func lineAt(lines []string, i int) string {
	for ; i < len(lines); i++ {
		if t := trim(lines[i]); t != "" {
			return t
		}
	}
	return ""
}

// replacesScript says whether a script of the same name did something before.
func replacesScript(f loop.FileDiff, text string) bool {
	name, _, _ := strings.Cut(trim(text), ":")
	for _, l := range removed(f) {
		if strings.HasPrefix(trim(l.Text), name) && !emptiedScript.MatchString(l.Text) {
			return true
		}
	}
	return false
}

// silences says whether a handler that does nothing begins at a line.
func silences(p string, lines []string, at int) bool {
	ext := strings.ToLower(path.Ext(p))
	expr, known := silenced[ext]
	if !known {
		switch ext {
		case ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".java", ".kt", ".cs", ".scala", ".groovy", ".php", ".swift", ".dart", ".cpp", ".cc":
			expr = silenced["{}"]
		default:
			return false
		}
	}
	if at >= len(lines) {
		return false
	}
	at = max(at, 0)
	found := expr.FindStringIndex(strings.Join(lines[at:min(at+2, len(lines))], "\n"))
	return found != nil && found[0] <= len(lines[at]) // the next line has its own turn
}
