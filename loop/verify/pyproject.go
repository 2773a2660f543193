package verify

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// pyproject is what verification reads of a pyproject.toml (PEP 621, PEP 735).
type pyproject struct {
	Project struct {
		Name           string              `toml:"name"`
		RequiresPython string              `toml:"requires-python"`
		Dependencies   []string            `toml:"dependencies"`
		Optional       map[string][]string `toml:"optional-dependencies"`
	} `toml:"project"`
	// Groups hold strings and {include-group = "name"} tables.
	Groups map[string][]any `toml:"dependency-groups"`
	Tool   struct {
		Poetry struct {
			Name string `toml:"name"`
		} `toml:"poetry"`
	} `toml:"tool"`
}

func readPyproject(s scan) pyproject {
	var p pyproject
	// One that does not parse says nothing; pip and pytest will complain about it themselves.
	_ = toml.Unmarshal([]byte(s.read("pyproject.toml")), &p)
	return p
}

// lowerBound matches the clause of a version specifier that bounds it from below.
var lowerBound = regexp.MustCompile(`(?:>=|~=|==|>|\^)\s*v?([0-9]+(?:\.[0-9]+)*)`)

// leastVersion is the lower bound of a specifier such as ">=3.10,<4", "" where it has none.
func leastVersion(specifier string) string {
	if m := lowerBound.FindStringSubmatch(specifier); m != nil {
		return m[1]
	}
	return ""
}

// requirementFiles are the files of requirements that tests may need.
var requirementFiles = []string{
	"requirements.txt", "requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements-test.txt",
	"requirements-tests.txt", "requirements_test.txt", "test-requirements.txt", "test_requirements.txt", "dev_requirements.txt",
	"requirements/test.txt", "requirements/tests.txt", "requirements/testing.txt", "requirements/dev.txt",
}

// testExtras are how projects call the extra or the group that their tests need.
var testExtras = []string{"test", "tests", "testing", "dev", "develop"}

// pythonInstall brings the dependencies into a virtual environment beside the worktree.
func pythonInstall(s scan, manifest pyproject) []job {
	var wants [][]string
	for _, name := range requirementFiles {
		if strings.TrimSpace(s.read(name)) != "" {
			wants = append(wants, []string{"-r", name})
		}
	}
	extras := ""
	for _, name := range testExtras {
		if len(manifest.Project.Optional[name]) > 0 {
			extras = "[" + name + "]"
			break
		}
	}
	if len(manifest.Project.Dependencies) > 0 || extras != "" || manifest.Tool.Poetry.Name != "" || strings.Contains(s.read("setup.py"), "install_requires") ||
		strings.Contains(s.read("setup.cfg"), "install_requires") {
		wants = append(wants, []string{"-e", "." + extras})
	}
	for _, name := range testExtras {
		if list := requirementGroup(manifest.Groups, name, nil); len(list) > 0 {
			wants = append(wants, list)
			break
		}
	}
	if len(wants) == 0 {
		return nil
	}
	// --system-site-packages: what the machine has need not be downloaded.
	install := []job{{args: []string{"python3", "-m", "venv", "--system-site-packages", "--clear", venvDir}}}
	for _, w := range wants {
		install = append(install, job{args: slices.Concat([]string{venvDir + "/bin/python", "-m", "pip", "install", "--disable-pip-version-check", "-q"}, w), network: "pypi"})
	}
	return install
}

// requirementGroup lists the requirements of a dependency group with those that it includes.
func requirementGroup(groups map[string][]any, name string, seen []string) []string {
	if slices.Contains(seen, name) {
		return nil // a circle, which the standard forbids
	}
	var list []string
	for _, entry := range groups[name] {
		switch e := entry.(type) {
		case string:
			if !strings.HasPrefix(e, "-") { // an option is no requirement
				list = append(list, e)
			}
		case map[string]any:
			if other, ok := e["include-group"].(string); ok {
				list = append(list, requirementGroup(groups, other, append(seen, name))...)
			}
		}
	}
	return list
}
