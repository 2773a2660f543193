package verify

import (
	"strings"
	"testing"
)

// TestOtherWay: what package managers say themselves leads to another way, once; anything else does not.
func TestOtherWay(t *testing.T) {
	const (
		peers = "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\n"
		stale = "npm error code EUSAGE\nnpm error\nnpm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.\n"
	)
	for _, c := range []struct{ args, output, want string }{
		{"npm install --no-package-lock", peers, "npm install --no-package-lock --legacy-peer-deps"},
		{"npm ci --no-fund", peers, "npm ci --no-fund --legacy-peer-deps"},
		{"npm ci --no-fund", stale, "npm install --ignore-scripts --no-audit --no-fund --no-package-lock"},
		{"npm install --no-package-lock --legacy-peer-deps", peers, ""},
		{"yarn install --frozen-lockfile", "error Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`.\n", "yarn install --pure-lockfile"},
		{"pnpm install --frozen-lockfile", " ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with \"frozen-lockfile\"\n", "pnpm install --no-lockfile"},
		{"yarn install --frozen-lockfile", "error Error: https://registry.example/x.tgz: tunneling socket could not be established, statusCode=403\n",
			"sh -c " + `cp yarn.lock "$0" && grep -v '^  resolved ' "$0" >yarn.lock; YARN_REGISTRY="$(npm config get registry)" "$@"; code=$?; cp "$0" yarn.lock; exit $code` + " {cache}/yarn.lock yarn install --frozen-lockfile"},
		{"npm ci", "npm error code ETIMEDOUT\n", ""},
		{"go mod download", peers, ""},
	} {
		args := strings.Fields(c.args)
		if got := strings.Join(otherWay(args, []byte(c.output), nil), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
		if again := otherWay(args, []byte(c.output), [][]string{otherWay(args, []byte(c.output), nil)}); c.want != "" && again != nil {
			t.Errorf("%s: %q is tried again", c.args, again)
		}
	}
}
