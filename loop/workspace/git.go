package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// maxStderr bounds what is kept of git's standard error; its last lines say what went wrong.
	maxStderr = 16 << 10
	// maxOutput bounds what is held in memory of git's standard output. The longest regular one is
	// the listing of a tree of a few hundred thousand files.
	maxOutput = 128 << 20
	// pipeGrace is how long a killed git's children may hold its pipes before they are closed.
	pipeGrace = 2 * time.Second
)

// errOutputTooLong is returned where git prints more than maxOutput.
var errOutputTooLong = errors.New("git printed more than is accepted")

// Error is a git command that failed. It carries no credential.
type Error struct {
	Args     []string // without the program's name
	ExitCode int      // -1: killed by a signal
	Stderr   string   // at most the last 16 KiB
	Err      error    // the cause where it is not git itself: a time-out, a missing program
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("git " + strings.Join(e.Args, " ") + ": ")
	switch {
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		fmt.Fprintf(&b, "exit code %d", e.ExitCode)
	}
	if s := strings.TrimSpace(e.Stderr); s != "" {
		b.WriteString(": " + s)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// stderrOf returns what git said where err is an Error, else "".
func stderrOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Stderr
	}
	return ""
}

// setting is one key of git's configuration.
type setting struct{ key, value string }

// hardening is the configuration that every git command gets; it wins over every file. What has
// no key of its own here (filters, textconv, merge drivers) works only if a driver is configured,
// and configuration comes from here alone: the git directories are ours.
var hardening = []setting{
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"core.untrackedCache", "false"},
	{"core.attributesFile", "/dev/null"},
	{"core.excludesFile", "/dev/null"},
	{"core.autocrlf", "false"},
	{"core.safecrlf", "false"},
	{"core.eol", "lf"},
	{"core.symlinks", "true"},
	{"core.protectHFS", "true"},
	{"core.protectNTFS", "true"},
	{"core.quotePath", "false"},
	{"core.sshCommand", "false"},
	{"core.gitProxy", ""},
	{"core.pager", "cat"},
	{"core.askPass", ""},
	{"core.alternateRefsCommand", "true"},
	{"credential.helper", ""},
	{"protocol.version", "2"},
	{"safe.bareRepository", "explicit"},
	{"submodule.recurse", "false"},
	{"fetch.recurseSubmodules", "false"},
	{"push.recurseSubmodules", "no"},
	{"diff.external", ""},
	{"diff.ignoreSubmodules", "none"},
	{"log.showSignature", "false"},
	{"commit.gpgSign", "false"},
	{"push.gpgSign", "false"},
	{"gpg.program", "false"},
	{"gpg.ssh.program", "false"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"receive.autogc", "false"},
	{"advice.detachedHead", "false"},
	{"http.followRedirects", "false"},
	{"http.emptyAuth", "false"},
	{"uploadpack.packObjectsHook", ""},
	{"feature.manyFiles", "false"},
	{"index.threads", "true"},
}

// noProtocol is what GIT_ALLOW_PROTOCOL holds for commands that have no business with a remote.
// An empty value would mean the default list.
const noProtocol = "none"

// git runs the git program. It is safe for concurrent use.
type git struct {
	path    string        // absolute
	timeout time.Duration // of one command
}

// ErrNoGit is returned where there is no git program to run.
var ErrNoGit = errors.New("no git program")

// findGit resolves the program: an absolute path, or a name that is looked up once.
func findGit(path string) (string, error) {
	if path == "" {
		path = "git"
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w; install git 2.38 or newer", ErrNoGit, err)
	}
	return filepath.Abs(found)
}

// call is one run of git.
type call struct {
	args []string
	// dir is the working directory; gitDir, workTree and index are absolute paths, empty ones are
	// not given to git.
	dir, gitDir, workTree, index string
	stdin                        io.Reader
	config                       []setting // beside and before the hardening
	env                          []string
	protocols                    string // as GIT_ALLOW_PROTOCOL; "": none
	secret                       string // taken out of what errors say
	timeout                      time.Duration
	limit                        int64    // bytes of output; 0: maxOutput
	lock                         *os.File // kept open by git and its children
}

// environment is all that git gets to see; nothing is inherited from the server.
func (g *git) environment(c call) []string {
	protocols := c.protocols
	if protocols == "" {
		protocols = noProtocol
	}
	env := []string{
		"PATH=" + filepath.Dir(g.path) + ":/usr/local/bin:/usr/bin:/bin",
		"HOME=/dev/null",
		"XDG_CONFIG_HOME=/dev/null",
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_LITERAL_PATHSPECS=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_PROTOCOL_FROM_USER=0",
		"GIT_ALLOW_PROTOCOL=" + protocols,
	}
	if c.gitDir != "" {
		env = append(env, "GIT_DIR="+c.gitDir)
	}
	if c.workTree != "" {
		env = append(env, "GIT_WORK_TREE="+c.workTree)
	}
	if c.index != "" {
		env = append(env, "GIT_INDEX_FILE="+c.index)
	}
	settings := append(append([]setting(nil), c.config...), hardening...)
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return append(env, c.env...)
}

// stream runs git and hands its standard output to read while it runs. An error of read ends git
// and is returned as it is. The whole process group is killed when ctx or the time-out ends.
func (g *git) stream(ctx context.Context, c call, read func(io.Reader) error) error {
	timeout := c.timeout
	if timeout == 0 {
		timeout = g.timeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no end after %s: %w", timeout, context.DeadlineExceeded))
	defer cancel()
	var stderr tail
	cmd := exec.CommandContext(ctx, g.path, c.args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = c.dir, g.environment(c), c.stdin, &stderr
	if cmd.Dir == "" {
		// Never the server's own directory, which could be a repository.
		if cmd.Dir = c.gitDir; cmd.Dir == "" {
			cmd.Dir = "/"
		}
	}
	if c.lock != nil {
		cmd.ExtraFiles = []*os.File{c.lock}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeGrace
	fail := func(code int, cause error) error {
		return redact(&Error{Args: c.args, ExitCode: code, Stderr: stderr.String(), Err: cause}, c.secret)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fail(-1, err)
	}
	if err := cmd.Start(); err != nil {
		return fail(-1, err)
	}
	readErr := read(out)
	ended := context.Cause(ctx)
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ended != nil:
		return fail(-1, ended)
	case readErr != nil:
		return readErr
	case err == nil:
		return nil
	case context.Cause(ctx) != nil:
		return fail(-1, context.Cause(ctx))
	case errors.As(err, &exit):
		return fail(exit.ExitCode(), nil)
	default:
		return fail(-1, err)
	}
}

// run runs git and returns its standard output.
func (g *git) run(ctx context.Context, c call) ([]byte, error) {
	limit := c.limit
	if limit == 0 {
		limit = maxOutput
	}
	var out bytes.Buffer
	err := g.stream(ctx, c, func(r io.Reader) error {
		n, err := io.Copy(&out, io.LimitReader(r, limit+1))
		if n > limit {
			return redact(&Error{Args: c.args, ExitCode: -1, Err: fmt.Errorf("over %d bytes: %w", limit, errOutputTooLong)}, c.secret)
		}
		return err
	})
	return out.Bytes(), err
}

// line runs git and returns its output without the last newline.
func (g *git) line(ctx context.Context, c call) (string, error) {
	out, err := g.run(ctx, c)
	return strings.TrimRight(string(out), "\n"), err
}

// redact takes the secret, raw and as it is encoded in a header, out of an error's texts.
func redact(e *Error, secret string) *Error {
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = redactText(a, secret)
	}
	e.Args, e.Stderr = args, redactText(e.Stderr, secret)
	return e
}

func redactText(text, secret string) string {
	if secret == "" {
		return text
	}
	return strings.NewReplacer(secret, "[redacted]", basicAuth(secret), "[redacted]").Replace(text)
}

// tail keeps the last maxStderr bytes written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - maxStderr; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }
