package verify

import (
	"regexp"
	"slices"
)

// remedy is another way to install where a package manager refuses the first for a reason that it names itself, and that
// has nothing to do with the change: repositories whose own CI installs in that way.
type remedy struct {
	program string // the first of the arguments
	says    *regexp.Regexp
	args    func(args []string) []string
}

var remedies = []remedy{
	// Two packages ask for versions of a third that do not go together; npm names the way out.
	{"npm", regexp.MustCompile(`\bERESOLVE\b`), with("--legacy-peer-deps")},
	// The lock file is older than the manifest: what the manifest says counts, and no lock file is written.
	{"npm", regexp.MustCompile("`npm ci` can only install"), func([]string) []string { return npmInstall }},
	{"pnpm", regexp.MustCompile(`ERR_PNPM_(?:OUTDATED_LOCKFILE|LOCKFILE_\w+|FROZEN_LOCKFILE\w*)`), instead("--frozen-lockfile", "--no-lockfile")},
	// Yarn 1 fetches from the host that its lock file names, whichever registry is configured. Without those lines, it asks
	// the configured one for the same versions, and the sums hold. The file is as it was afterwards.
	{"yarn", regexp.MustCompile(`tunneling socket could not be established|getaddrinfo`), func(args []string) []string {
		const text = `cp yarn.lock "$0" && grep -v '^  resolved ' "$0" >yarn.lock; YARN_REGISTRY="$(npm config get registry)" "$@"; code=$?; cp "$0" yarn.lock; exit $code`
		return append([]string{"sh", "-c", text, cachePlaceholder + "/yarn.lock"}, args...)
	}},
	{"yarn", regexp.MustCompile(`lockfile needs to be updated`), instead("--frozen-lockfile", "--pure-lockfile")},
}

func with(argument string) func([]string) []string {
	return func(args []string) []string {
		if slices.Contains(args, argument) {
			return args
		}
		return append(slices.Clone(args), argument)
	}
}

func instead(argument, other string) func([]string) []string {
	return func(args []string) []string {
		changed := slices.Clone(args)
		for i, a := range changed {
			if a == argument {
				changed[i] = other
			}
		}
		return changed
	}
}

// otherWay is the installation as the output of the failed one asks for it; nil where it asks for nothing, or again for
// one of those that were tried.
func otherWay(args []string, output []byte, tried [][]string) []string {
	for _, r := range remedies {
		if args[0] != r.program || !r.says.Match(output) {
			continue
		}
		other := r.args(args)
		if !slices.ContainsFunc(append(tried, args), func(t []string) bool { return slices.Equal(t, other) }) {
			return other
		}
	}
	return nil
}
