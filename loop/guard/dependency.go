package guard

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/seed-7a986423/autocode/loop"
)

// lockfiles are the files in which tools write down what they resolved.
var lockfiles = []string{
	"go.sum", "go.work.sum", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock", "poetry.lock", "Pipfile.lock", "uv.lock", "pdm.lock",
	"Cargo.lock", "Gemfile.lock", "composer.lock", "mix.lock", "packages.lock.json", "gradle.lockfile", "flake.lock", "pubspec.lock", "Podfile.lock", "Package.resolved", "pixi.lock", "rebar.lock",
}

func isLockfile(p string) bool { return slices.Contains(lockfiles, path.Base(p)) }

// dependencies maps what a manifest asks for to the version, as it is written there.
type dependencies map[string]string

// indirect marks a version that go.mod only records.
const indirect = "// indirect"

// manifests are the readers of manifests, by base name or extension. What they cannot read, they leave out: a manifest
// that is broken is red by itself.
var manifests = map[string]func(string) dependencies{
	"go.mod": goMod, "package.json": packageJSON, "composer.json": composerJSON, "pyproject.toml": tomlTable, "Cargo.toml": tomlTable, "Pipfile": tomlTable, "pom.xml": pomXML,
	"requirements*.txt": byLine(`^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(.*?)(?:\s*[;#].*)?$`), "setup.cfg": byLine(`^\s+([A-Za-z][\w.-]*)\s*([<>=~!]=?[^;#]*)`),
	"Gemfile": byLine(`^\s*gem\s+['"]([^'"]+)['"]\s*,?\s*(.*)$`), "mix.exs": byLine(`^\s*\{:(\w+),\s*(.*?)\},?\s*$`),
	"build.gradle": byLine(gradleLine), "build.gradle.kts": byLine(gradleLine), "pubspec.yaml": byLine(`^  (\w+):\s*([\^<>=~]*\d[^#]*)$`),
	"*.csproj": byLine(`<PackageReference\s+Include="([^"]+)"(?:\s+Version="([^"]*)")?`), "*.fsproj": byLine(`<PackageReference\s+Include="([^"]+)"(?:\s+Version="([^"]*)")?`),
}

const gradleLine = `^\s*(?:\w*[iI]mplementation|api|compileOnly|runtimeOnly|kapt|annotationProcessor|classpath)\s*\(?\s*['"]([^:'"]+:[^:'"]+):?([^'"]*)['"]`

func manifestReader(p string) func(string) dependencies {
	for name, reader := range manifests {
		if ok, _ := path.Match(name, path.Base(p)); ok { // the patterns are well-formed
			return reader
		}
	}
	return nil
}

func byLine(expr string) func(string) dependencies {
	line := regexp.MustCompile(expr)
	return func(text string) dependencies {
		found := dependencies{}
		for l := range strings.SplitSeq(text, "\n") {
			if m := line.FindStringSubmatch(strings.TrimRight(l, "\r")); m != nil {
				found[m[1]] = trim(m[2])
			}
		}
		return found
	}
}

var (
	goRequire = regexp.MustCompile(`^\s*(?:require\s+)?([\w.-]+\.[\w-]+/?\S*)\s+(v\S+)(\s*// indirect)?`)
	goReplace = regexp.MustCompile(`^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+(\S+)`)
	goMajor   = regexp.MustCompile(`[/.]v([0-9]+)$`)
)

// goMod names a module without the major version in its path, which goes into the version anyway.
func goMod(text string) dependencies {
	found := dependencies{}
	for l := range strings.SplitSeq(text, "\n") {
		if m := goReplace.FindStringSubmatch(l); m != nil {
			found["replace "+m[1]] = "=> " + m[2]
		} else if m := goRequire.FindStringSubmatch(l); m != nil {
			version := m[2]
			if m[3] != "" {
				version += " " + indirect
			}
			found[goMajor.ReplaceAllString(m[1], "")] = version
		}
	}
	return found
}

func packageJSON(text string) dependencies {
	var file map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &file) != nil {
		return nil
	}
	found := dependencies{}
	for _, section := range []string{"peerDependencies", "optionalDependencies", "devDependencies", "dependencies"} {
		var list map[string]string
		if json.Unmarshal(file[section], &list) == nil {
			maps.Copy(found, list)
		}
	}
	return found
}

func composerJSON(text string) dependencies {
	var file struct {
		Require map[string]string `json:"require"`
		Dev     map[string]string `json:"require-dev"`
	}
	if json.Unmarshal([]byte(text), &file) != nil {
		return nil
	}
	found := dependencies{}
	maps.Copy(found, file.Dev)
	maps.Copy(found, file.Require)
	return found
}

// pep508 matches a requirement of Python: a name, extras, and a version.
var pep508 = regexp.MustCompile(`^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)$`)

// tomlTable reads every table and list whose name says dependencies or packages.
func tomlTable(text string) dependencies {
	var file map[string]any
	if toml.Unmarshal([]byte(text), &file) != nil {
		return nil
	}
	found := dependencies{}
	var walk func(name string, value any)
	walk = func(name string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, inner := range v {
				if isDependencyTable(name) && name != "optional-dependencies" && name != "dependency-groups" {
					if _, list := inner.([]any); !list {
						found[key] = tomlVersion(inner)
						continue
					}
				}
				if name == "optional-dependencies" || name == "dependency-groups" {
					walk("dependencies", inner)
					continue
				}
				walk(key, inner)
			}
		case []any:
			for _, item := range v {
				if s, ok := item.(string); ok && isDependencyTable(name) {
					if m := pep508.FindStringSubmatch(s); m != nil {
						found[m[1]] = trim(m[2])
					}
				}
			}
		}
	}
	walk("", file)
	return found
}

func isDependencyTable(name string) bool {
	return strings.HasSuffix(name, "dependencies") || name == "dependency-groups" || name == "packages" || name == "dev-packages" || name == "requires"
}

func tomlVersion(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case map[string]any:
		for _, key := range []string{"git", "path", "url"} {
			if s, ok := v[key].(string); ok {
				return key + "+" + s
			}
		}
		if s, ok := v["version"].(string); ok {
			return s
		}
	}
	return ""
}

func pomXML(text string) dependencies {
	var file struct {
		Dependencies []struct {
			Group    string `xml:"groupId"`
			Artifact string `xml:"artifactId"`
			Version  string `xml:"version"`
		} `xml:"dependencies>dependency"`
	}
	if xml.Unmarshal([]byte(text), &file) != nil {
		return nil
	}
	found := dependencies{}
	for _, d := range file.Dependencies {
		found[d.Group+":"+d.Artifact] = d.Version
	}
	return found
}

// outside matches versions that come from anywhere but a registry.
var outside = regexp.MustCompile(`(?i)\b(?:git|github|bitbucket|gitlab|gist|https?|ssh|file|path|link|url)\b\s*[:+]|^=>|\bgit@|^@\s|\bpath:\s|^[\w-]+/[\w.-]+(?:#.*)?$`)

// majorNumber matches the first number of a version.
var majorNumber = regexp.MustCompile(`\d+`)

// major returns the first number of a version, -1 where it has none.
func major(version string) int {
	n, err := strconv.Atoi(majorNumber.FindString(version))
	if err != nil {
		return -1
	}
	return n
}

// checkDependencies compares manifests. Security.md, case 78: flagged, never blocked.
func checkDependencies(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		reader := manifestReader(f.Path)
		switch {
		case f.Op == loop.OpDelete:
		case isLockfile(f.Path):
			findings = append(findings, loop.Finding{File: f.Path, Message: "the lockfile changes"})
		case reader != nil:
			before, err := c.before(f)
			if err != nil {
				return nil, err
			}
			after, err := c.after(f)
			if err != nil {
				return nil, err
			}
			asked := c.Spec != nil && c.Spec.Kind == loop.KindDependency
			for _, finding := range compareDependencies(reader(before), reader(after), f.Op == loop.OpAdd, asked) {
				finding.File, finding.Line = f.Path, lineOf(after, finding.Line, finding.Message)
				findings = append(findings, finding)
			}
		}
	}
	return findings, nil
}

// lineOf returns the first line of a text that names the dependency that a message begins with.
func lineOf(text string, line int, message string) int {
	name, _, _ := strings.Cut(message, " ")
	for i, l := range strings.Split(text, "\n") {
		if strings.Contains(l, name) {
			return i + 1
		}
	}
	return line
}

// compareDependencies judges each difference. A manifest that is new as a whole belongs to a new part of the
// repository, and is only noted, as is a new dependency in a task that is about dependencies.
func compareDependencies(before, after dependencies, fresh, asked bool) []loop.Finding {
	var findings []loop.Finding
	for _, name := range sortedKeys(after) {
		now := after[name]
		was, known := before[name]
		switch {
		case known && was == now, !known && strings.HasSuffix(now, indirect):
		case strings.HasPrefix(name, "replace "), outside.MatchString(now):
			findings = append(findings, loop.Finding{Severity: loop.SeverityApprove, Message: fmt.Sprintf("%s comes from outside a registry: %s", strings.TrimPrefix(name, "replace "), quote(now))})
		case !known:
			finding := loop.Finding{Severity: loop.SeverityApprove, Message: fmt.Sprintf("%s is a new dependency (%s)", name, quote(now))}
			if fresh || asked {
				finding.Severity = loop.SeverityNote
			}
			findings = append(findings, finding)
		case major(was) >= 0 && major(now) > major(was):
			findings = append(findings, loop.Finding{Severity: loop.SeverityApprove, Message: fmt.Sprintf("%s goes to a new major version: %s → %s", name, quote(was), quote(now))})
		case strings.HasSuffix(now, indirect):
		default:
			findings = append(findings, loop.Finding{Message: fmt.Sprintf("%s changes its version: %s → %s", name, quote(was), quote(now))})
		}
	}
	for _, name := range sortedKeys(before) {
		if _, kept := after[name]; !kept && !strings.HasSuffix(before[name], indirect) {
			findings = append(findings, loop.Finding{Message: fmt.Sprintf("%s is no longer a dependency", name)})
		}
	}
	return findings
}

var installHook = regexp.MustCompile(`^\s*"(preinstall|install|postinstall|prepare|prepublish|preprepare|postprepare|post-install-cmd|post-update-cmd|pre-install-cmd|post-autoload-dump)"\s*:`)

// checkInstallScripts finds package scripts that run on every machine that installs the package.
func checkInstallScripts(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		if base := path.Base(f.Path); base != "package.json" && base != "composer.json" {
			continue
		}
		for _, l := range added(f) {
			if m := installHook.FindStringSubmatch(l.Text); m != nil && !moved(f, l.Text) && !moved(f, strings.TrimSuffix(trim(l.Text), ",")) && !moved(f, trim(l.Text)+",") {
				findings = append(findings, loop.Finding{File: f.Path, Line: l.New, Message: fmt.Sprintf("the script %q runs by itself wherever this is installed: %s", m[1], quote(l.Text))})
			}
		}
	}
	return findings, nil
}

var lockHost = regexp.MustCompile(`\b(?:https?|git|ssh)(?:\+\w+)?://(?:[^/\s"'@]*@)?([A-Za-z0-9.-]+)`)

// checkLockHosts compares the hosts that a lockfile names: a package that comes from elsewhere is the classic way to
// smuggle code past a reader. A new lockfile has nothing to be compared with.
func checkLockHosts(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		if !isLockfile(f.Path) || f.Op == loop.OpAdd || f.Op == loop.OpDelete {
			continue
		}
		before, err := c.before(f)
		if err != nil {
			return nil, err
		}
		known := map[string]bool{}
		for _, m := range lockHost.FindAllStringSubmatch(before, -1) {
			known[strings.ToLower(m[1])] = true
		}
		if len(known) == 0 {
			continue
		}
		for _, l := range added(f) {
			for _, m := range lockHost.FindAllStringSubmatch(l.Text, -1) {
				if host := strings.ToLower(m[1]); !known[host] && !aboutPackage.MatchString(l.Text) {
					known[host] = true
					findings = append(findings, loop.Finding{File: f.Path, Line: l.New, Message: fmt.Sprintf("the lockfile names the host %s, which it did not before", host)})
				}
			}
		}
	}
	return findings, nil
}

// aboutPackage matches the lines of a lockfile that tell of a package and fetch nothing.
var aboutPackage = regexp.MustCompile(`"?(?:url|homepage|funding|support|docs|issues|wiki|forum|chat|bugs)"?\s*:\s*"https?:`)
