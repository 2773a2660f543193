package verify

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A package manager other than npm is a package of npm's registry itself. Where the sandbox does not have it, the
// installation brings it along, beside the worktree, in the version that the repository names.

// packageManagerOf is the manager whose lock file is there, and how npm names it in the version that the repository was
// written for.
func packageManagerOf(s scan, pkg packageJSON) (name, spec string) {
	named, version, _ := strings.Cut(pkg.PackageManager, "@")
	version, _, _ = strings.Cut(version, "+") // the sum of corepack's download
	if !plainVersion.MatchString(version) {
		version = ""
	}
	switch {
	case named == "pnpm" || s.has("pnpm-lock.yaml"):
		if version == "" || named != "pnpm" {
			version = pnpmOf(s.head("pnpm-lock.yaml"))
		}
		return "pnpm", "pnpm@" + version
	case named == "yarn" || s.has("yarn.lock"):
		if version == "" || named != "yarn" {
			version = yarnOf(s.head("yarn.lock"))
		}
		if version == "1" || strings.HasPrefix(version, "1.") {
			return "yarn", "yarn@" + version
		}
		return "yarn", laterYarnPackage + version
	default:
		return "npm", ""
	}
}

// laterYarnPackage is the package of yarn 2 and later, which is another program than yarn 1.
const laterYarnPackage = "@yarnpkg/cli-dist@"

// laterYarn says whether a project's package manager is yarn 2 or later.
func (p project) laterYarn() bool { return strings.HasPrefix(p.managerSpec, laterYarnPackage) }

// plainVersion is a version that names one, and nothing else, to npm.
var plainVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,2}(-[0-9A-Za-z.]+)?$`)

// lockfileVersion is the line of pnpm's lock file that says of which form it is.
var lockfileVersion = regexp.MustCompile(`(?m)^lockfileVersion:\s*['"]?([0-9]+)`)

// pnpmOf is the version of pnpm that writes a lock file of that form (pnpm.io, "Compatibility").
func pnpmOf(lock string) string {
	if m := lockfileVersion.FindStringSubmatch(lock); m != nil {
		switch m[1] {
		case "5":
			return "7"
		case "6":
			return "8"
		}
	}
	return "9"
}

// yarnOf is the version of yarn that writes a lock file: later ones begin with a block __metadata.
func yarnOf(lock string) string {
	if strings.Contains(lock, "\n__metadata:") {
		return "4"
	}
	return "1"
}

// nodeInstall installs exactly what the lock file says; scripts of packages do not run.
func nodeInstall(s scan, manager, spec string) []string {
	switch manager {
	case "pnpm":
		return []string{"pnpm", "install", "--frozen-lockfile", "--ignore-scripts"}
	case "yarn":
		if strings.HasPrefix(spec, "yarn@") {
			return []string{"yarn", "install", "--frozen-lockfile", "--ignore-scripts"}
		}
		return []string{"sh", "-c", laterYarnInstall}
	}
	if s.has("package-lock.json") || s.has("npm-shrinkwrap.json") {
		return []string{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"}
	}
	return npmInstall
}

// laterYarnInstall installs with yarn 2 or later, which reads neither npm's settings nor the environment's proxy.
const laterYarnInstall = `export YARN_NPM_REGISTRY_SERVER="$(npm config get registry)" YARN_HTTP_PROXY="$HTTP_PROXY" YARN_HTTPS_PROXY="$HTTPS_PROXY"
[ -z "$NODE_EXTRA_CA_CERTS" ] || export YARN_HTTPS_CA_FILE_PATH="$NODE_EXTRA_CA_CERTS"
exec yarn install --immutable --mode=skip-build`

// npmInstall installs what the manifest says, and leaves no lock file.
var npmInstall = []string{"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"}

// managersDir is where package managers are that an installation brought, below the clone's root.
const managersDir = "cache/manager"

// broughtBin is the directory with the program of a package manager that was brought, absolute.
func (s *session) broughtBin(manager string) string {
	return filepath.Join(s.clone.Root(), filepath.FromSlash(managersDir), manager, "node_modules", ".bin")
}

// bringManagers plans for package managers that the sandbox lacks: to install them, and not to miss them once they are
// there.
func (s *session) bringManagers() {
	for i := range s.projects {
		p := &s.projects[i]
		if p.manager == "" || !s.missing[p.manager] || s.missing["npm"] {
			continue
		}
		p.install = slices.Insert(slices.Clone(p.install), 0, job{network: "npm", args: []string{
			"npm", "install", "--prefix", rootPlaceholder + "/" + managersDir + "/" + p.manager, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", p.managerSpec,
		}})
		p.bin = s.broughtBin(p.manager)
		if _, err := os.Lstat(filepath.Join(p.bin, p.manager)); err == nil {
			p.needs = slices.DeleteFunc(slices.Clone(p.needs), func(program string) bool { return program == p.manager })
		}
	}
}
