package githubtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gitTool runs the git program without any configuration of the machine.
type gitTool struct {
	path     string
	backend  string
	execPath string
}

// newGitTool finds git and its http-backend.
func newGitTool() (gitTool, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return gitTool{}, fmt.Errorf("find git: %w; install the package git", err)
	}
	out, err := exec.Command(path, "--exec-path").Output()
	if err != nil {
		return gitTool{}, fmt.Errorf("ask git for its programs: %w", err)
	}
	dir := strings.TrimSpace(string(out))
	backend := filepath.Join(dir, "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return gitTool{}, fmt.Errorf("find git http-backend: %w; install the whole package git", err)
	}
	return gitTool{path, backend, dir}, nil
}

// environment is all that git sees.
func (g gitTool) environment() []string {
	return []string{
		"PATH=" + strings.Join([]string{g.execPath, filepath.Dir(g.path), "/usr/local/bin", "/usr/bin", "/bin"}, string(filepath.ListSeparator)), "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
	}
}

// gitError is a git command that failed, with what it said.
type gitError struct {
	args   []string
	code   int
	stderr string
}

func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: exit code %d: %s", strings.Join(e.args, " "), e.code, strings.TrimSpace(e.stderr))
}

// run executes git in a repository and returns its output.
func (g gitTool) run(dir string, stdin []byte, env []string, args ...string) (string, error) {
	// The commands are local, short and run to their end: half an effect would be worse than waiting.
	cmd := exec.CommandContext(context.Background(), g.path, args...)
	cmd.Dir = dir
	cmd.Env = append(g.environment(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return stdout.String(), &gitError{args, exit.ExitCode(), stderr.String()}
		}
		return "", fmt.Errorf("run git %s: %w", strings.Join(args, " "), err)
	}
	return stdout.String(), nil
}

// git runs git in the repository; the output comes without its last newline.
func (r *repository) git(args ...string) (string, error) {
	out, err := r.tool.run(r.dir, nil, nil, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// resolve turns a branch, tag, sha or full ref into a commit, or "".
func (r *repository) resolve(ref string) string {
	if ref == "" {
		ref = r.DefaultBranch
	}
	for _, try := range []string{"refs/heads/" + ref, "refs/tags/" + ref, "refs/" + ref, ref} {
		if strings.HasPrefix(try, "-") {
			continue
		}
		if sha, err := r.git("rev-parse", "--verify", "--quiet", "--end-of-options", try+"^{commit}"); err == nil {
			return sha
		}
	}
	return ""
}
