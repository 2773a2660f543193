package guard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-7a986423/autocode/loop"
)

// protectedAlways can be taken off by no configuration: what runs with rights that the change's author does not have,
// chooses where packages come from, or instructs people and agents (security.md, cases 75–79).
var protectedAlways = []string{
	// What GitHub itself obeys.
	".github/workflows/**", ".github/actions/**", "CODEOWNERS",
	".github/autocode.yml", ".github/autocode.yaml", ".github/dependabot.yml", ".github/dependabot.yaml", ".github/settings.yml", ".github/mergify.yml", ".mergify.yml",
	".github/renovate.json", ".github/renovate.json5", "renovate.json", "renovate.json5", ".renovaterc", ".renovaterc.json",
	// Other CI.
	".gitlab-ci.yml", ".gitlab/ci/**", ".circleci/**", "azure-pipelines.yml", "azure-pipelines.yaml", ".azure-pipelines/**", "Jenkinsfile", ".travis.yml", ".drone.yml", ".buildkite/**",
	"bitbucket-pipelines.yml", ".woodpecker.yml", ".woodpecker.yaml", ".woodpecker/**", "/appveyor.yml", "/.appveyor.yml", "/.cirrus.yml", "/.cirrus.star", ".semaphore/**",
	".teamcity/**", ".gitea/workflows/**", ".forgejo/workflows/**", "/cloudbuild.yaml", "/cloudbuild.yml", "/buildspec.yml", "/buildspec.yaml", "/codemagic.yaml", "/bitrise.yml",
	// Hooks: they run on the machine of whoever clones.
	".husky/**", ".githooks/**", ".git-hooks/**", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook/**", ".envrc",
	// Where packages come from.
	".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases/**", ".yarn/plugins/**", ".pnpmfile.cjs", ".pypirc", "pip.conf", "pip.ini", ".cargo/config", ".cargo/config.toml", ".gemrc",
	".bundle/config", "nuget.config", ".mvn/settings.xml", ".mvn/extensions.xml", ".mvn/maven.config", ".mvn/jvm.config", ".netrc",
	// Git's own.
	".gitmodules", ".gitattributes", ".gitconfig", ".lfsconfig",
	// Editors and containers that run what they are told.
	".devcontainer/**", ".devcontainer.json", ".vscode/**", ".idea/**", "*.code-workspace",
	// Instructions for agents.
	"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".github/instructions/**", ".github/prompts/**", ".github/agents/**", ".github/chatmodes/**",
	".cursorrules", ".cursor/**", ".cursorignore", ".windsurfrules", ".windsurf/**", ".clinerules", ".aider.conf.yml", ".claude/**", ".codex/**", ".gemini/**", ".mcp.json",
	// What other scanners are told to overlook.
	".gitleaks.toml", ".gitleaksignore", ".trivyignore", ".snyk", ".secrets.baseline",
}

func checkProtected(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	own := compile(c.Policy.Protected)
	for _, p := range c.Diff.Paths() {
		if by := matching(c.guard.protected, p); by != "" {
			findings = append(findings, loop.Finding{File: p, Message: fmt.Sprintf("%s is protected always (%s): leave it as it is on the base; a person has to change it", p, by)})
		} else if by := matching(own, p); by != "" {
			findings = append(findings, loop.Finding{File: p, Message: fmt.Sprintf("%s is protected by this repository (%s): leave it as it is on the base", p, by)})
		}
	}
	return findings, nil
}

func checkApproval(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	approval := compile(c.Policy.Approval)
	for _, p := range c.Diff.Paths() {
		if by := matching(approval, p); by != "" {
			findings = append(findings, loop.Finding{File: p, Message: fmt.Sprintf("%s needs a person's approval (%s)", p, by)})
		}
	}
	return findings, nil
}

// shortName matches the names that NTFS makes for long ones (GITHUB~1), which reach the same file.
var shortName = regexp.MustCompile(`(?i)^[^~/ ]{1,6}~[0-9]{1,2}(?:\.[^./]{0,3})?$`)

// checkSpelling keeps out new paths that are another path on some file system; what the base has already may stay.
func checkSpelling(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	spelled := map[string]string{}
	if c.HeadTree != nil && slices.ContainsFunc(c.Diff.Files, isNew) {
		files, err := c.HeadTree.Files(c.ctx)
		if err != nil {
			return nil, fmt.Errorf("list the files of the head: %w", err)
		}
		fresh := map[string]bool{}
		for _, f := range c.Diff.Files {
			fresh[f.Path] = isNew(f)
		}
		for _, f := range files {
			if !fresh[f.Path] {
				spelled[canonical(f.Path)] = f.Path
			}
		}
	}
	for _, f := range c.Diff.Files {
		if !isNew(f) {
			continue
		}
		why := oddSpelling(f.Path)
		key := canonical(f.Path)
		if other, there := spelled[key]; there && why == "" && other != f.Path {
			why = "it is the same as " + other + " where case or composition do not count"
		}
		spelled[key] = f.Path
		if why != "" {
			findings = append(findings, loop.Finding{File: f.Path, Message: fmt.Sprintf("the new path %q is refused: %s; choose a plain name", f.Path, why)})
		}
	}
	return findings, nil
}

// oddSpelling says what is odd about a path, "" for nothing.
func oddSpelling(p string) string {
	switch {
	case !utf8.ValidString(p):
		return "it is not UTF-8"
	case strings.Contains(p, `\`):
		return "it holds a backslash, which Windows takes for a slash"
	case strings.ContainsFunc(p, unicode.IsControl):
		return "it holds a control character"
	case strings.Map(dropIgnorable, p) != p:
		return "it holds characters that cannot be seen"
	case norm.NFC.String(p) != p:
		return "its accents are decomposed (NFD)"
	}
	for s := range strings.SplitSeq(p, "/") {
		switch {
		case s == "" || s == "." || s == "..":
			return "it has a dot or empty segment"
		case strings.TrimRight(s, " .") != s:
			return "a name in it ends with a dot or a space, which Windows drops"
		case strings.Contains(s, ":"):
			return "a name in it holds a colon, which names a stream on Windows"
		case shortName.MatchString(s):
			return "a name in it looks like a short name of Windows"
		}
	}
	return ""
}

// checkDeclared compares the changed paths with what the coder said it would change.
func checkDeclared(c *change) ([]loop.Finding, error) {
	if c.Declared == nil {
		return nil, nil
	}
	var findings []loop.Finding
	for _, p := range c.Diff.Paths() {
		if !slices.Contains(c.Declared, p) {
			findings = append(findings, loop.Finding{File: p, Message: p + " was changed but not declared: declare it with a reason, or leave it alone"})
		}
	}
	return findings, nil
}
