package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// patience bounds a test; no command of the suite takes nearly as long.
const patience = 5 * time.Minute

// outcome is what a case expects.
type outcome struct {
	reason sandbox.Reason
	code   int
	stdout string // exact; "*" for anything
}

// cases are commands with their expected ends.
var cases = []struct {
	name    string
	command sandbox.Command
	want    outcome
}{
	{"success", shell("echo hello"), outcome{sandbox.Exited, 0, "hello\n"}},
	{"own exit code", shell("exit 7"), outcome{sandbox.Exited, 7, ""}},
	{"killed by a signal", shell("kill -TERM $$"), outcome{sandbox.Signal, 143, ""}},
	{"killed", shell("kill -KILL $$"), outcome{sandbox.Signal, 137, ""}},
	{"missing program", sandbox.Command{Args: []string{"no-such-program"}}, outcome{sandbox.Exited, 127, "*"}},
	{"arguments are no shell's", sandbox.Command{Args: []string{"echo", "a b", "$HOME", "*"}}, outcome{sandbox.Exited, 0, "a b $HOME *\n"}},
	{"empty standard input", shell("cat; echo end"), outcome{sandbox.Exited, 0, "end\n"}},
	{"standard input", with(shell("cat"), func(c *sandbox.Command) { c.Stdin = []byte("given") }), outcome{sandbox.Exited, 0, "given"}},
	{"environment", with(shell("echo $A$TERM$TMPDIR"), func(c *sandbox.Command) { c.Env = []string{"A=x=y "} }), outcome{sandbox.Exited, 0, "x=y dumb/tmp\n"}},
	{"time-out", with(shell("trap '' TERM; sleep 60 & sleep 60"), func(c *sandbox.Command) { c.Limits.Timeout = time.Second }), outcome{sandbox.Timeout, 124, ""}},
	{"memory", with(shell("x=x; while :; do x=$x$x; done"), func(c *sandbox.Command) { c.Limits.Memory = 64 << 20 }), outcome{sandbox.OOM, 137, ""}},
	{"output", with(shell("while :; do echo yyyyyyyyyyyyyyyyyyyyyyy; done"), func(c *sandbox.Command) { c.Limits.Output = 10_000 }), outcome{sandbox.OutputLimit, 125, "*"}},
	{"no network", shell("ls /sys/class/net 2>/dev/null | grep -v '^lo$'; cat /proc/net/route | tail -n +2"), outcome{sandbox.Exited, 0, ""}},
	{"read-only root", shell("for d in / /usr /bin /etc; do echo x > $d/attack; done 2>/dev/null; ls /attack /usr/attack /bin/attack /etc/attack 2>/dev/null; true"), outcome{sandbox.Exited, 0, ""}},
	{"scratch", shell("echo 1 > /tmp/a && echo 2 > ~/b && cat /tmp/a ~/b"), outcome{sandbox.Exited, 0, "1\n2\n"}},
	{"no capabilities", shell("grep -E '^Cap(Inh|Prm|Eff|Amb|Bnd)' /proc/self/status | grep -v 0000000000000000; grep -c 'NoNewPrivs:.1' /proc/self/status"), outcome{sandbox.Exited, 0, "1\n"}},
	{"no namespaces", shell("unshare -U true 2>/dev/null && echo made; true"), outcome{sandbox.Exited, 0, ""}},
	{"no set-id files", shell("touch f; chmod u+s f 2>/dev/null && echo made; true"), outcome{sandbox.Exited, 0, ""}},
	{"host name", shell("cat /proc/sys/kernel/hostname"), outcome{sandbox.Exited, 0, "sandbox\n"}},
}

func shell(script string) sandbox.Command {
	return sandbox.Command{Args: []string{"sh", "-c", script}}
}

func with(command sandbox.Command, change func(*sandbox.Command)) sandbox.Command {
	change(&command)
	return command
}

// Run runs the suite against runner.
func Run(t *testing.T, runner sandbox.Runner) {
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			test.command.Dir = t.TempDir()
			result := run(t, runner, test.command)
			if result.Reason != test.want.reason || result.ExitCode != test.want.code {
				t.Errorf("ended with %s and %d, want %s and %d (stdout %.500q, stderr %.500q, warnings %q)",
					result.Reason, result.ExitCode, test.want.reason, test.want.code, result.Stdout, result.Stderr, result.Warnings)
			}
			if test.want.stdout != "*" && string(result.Stdout) != test.want.stdout {
				t.Errorf("printed %.500q, want %q (stderr %.500q)", result.Stdout, test.want.stdout, result.Stderr)
			}
			if limit := test.command.Limits.Output; limit > 0 && int64(len(result.Stdout)) > limit {
				t.Errorf("%d bytes of output, over the limit of %d", len(result.Stdout), limit)
			}
		})
	}
	t.Run("workspace", func(t *testing.T) { workspace(t, runner) })
	t.Run("live output", func(t *testing.T) { liveOutput(t, runner) })
	t.Run("given up", func(t *testing.T) { givenUp(t, runner) })
	t.Run("refused commands", func(t *testing.T) { refused(t, runner) })
	t.Run("read-only part", func(t *testing.T) { readOnlyPart(t, runner) })
	t.Run("at once", func(t *testing.T) { atOnce(t, runner) })
}

func run(t *testing.T, runner sandbox.Runner, command sandbox.Command) sandbox.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	result, err := runner.Run(ctx, command)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// workspace checks that files go in and out at the path of the host.
func workspace(t *testing.T, runner sandbox.Runner) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sub", "in"), []byte("in"), 0o644); err != nil {
		t.Fatal(err)
	}
	command := shell("pwd; cat in; echo out > out")
	command.Dir, command.Workdir = dir, "sub"
	result := run(t, runner, command)
	if want := filepath.Join(dir, "sub") + "\nin"; string(result.Stdout) != want {
		t.Errorf("printed %q, want %q (stderr %q)", result.Stdout, want, result.Stderr)
	}
	content, err := os.ReadFile(filepath.Join(dir, "sub", "out"))
	if err != nil || string(content) != "out\n" {
		t.Errorf("the written file is %q, %v", content, err)
	}
}

func liveOutput(t *testing.T, runner sandbox.Runner) {
	var stdout, stderr bytes.Buffer
	command := shell("echo out; echo err >&2")
	command.Dir, command.Stdout, command.Stderr = t.TempDir(), &stdout, &stderr
	result := run(t, runner, command)
	if stdout.String() != "out\n" || stderr.String() != "err\n" || string(result.Stdout) != "out\n" || string(result.Stderr) != "err\n" {
		t.Errorf("live %q and %q, kept %q and %q", stdout.String(), stderr.String(), result.Stdout, result.Stderr)
	}
}

// whenWritten calls then at the first write.
type whenWritten struct{ then func() }

func (w whenWritten) Write(p []byte) (int, error) {
	w.then()
	return len(p), nil
}

func givenUp(t *testing.T, runner sandbox.Runner) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	command := shell("echo started; sleep 600")
	command.Dir, command.Stdout = t.TempDir(), whenWritten{cancel}
	if _, err := runner.Run(ctx, command); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func refused(t *testing.T, runner sandbox.Runner) {
	dir := t.TempDir()
	for name, command := range map[string]sandbox.Command{
		"no program":        {Dir: dir},
		"no directory":      {Args: []string{"true"}},
		"missing directory": {Args: []string{"true"}, Dir: filepath.Join(dir, "missing")},
		"a file":            {Args: []string{"true"}, Dir: os.Args[0]},
		"the root":          {Args: []string{"true"}, Dir: "/"},
		"the system":        {Args: []string{"true"}, Dir: "/etc"},
		"other's files":     {Args: []string{"true"}, Dir: "/tmp"},
		"homes":             {Args: []string{"true"}, Dir: "/home"},
		"outside":           {Args: []string{"true"}, Dir: dir, Workdir: "../other"},
		"environment":       {Args: []string{"true"}, Dir: dir, Env: []string{"NAME"}},
		"NUL":               {Args: []string{"true", "a\x00b"}, Dir: dir},
		"memory":            {Args: []string{"true"}, Dir: dir, Limits: sandbox.Limits{Memory: 1}},
		"time":              {Args: []string{"true"}, Dir: dir, Limits: sandbox.Limits{Timeout: -1}},
		"host":              {Args: []string{"true"}, Dir: dir, Network: sandbox.Network{Allow: []string{"127.0.0.1"}}},
		"mount":             {Args: []string{"true"}, Dir: dir, ReadOnly: []sandbox.Mount{{Source: "/"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runner.Run(context.Background(), command)
			var invalid *sandbox.Invalid
			if !errors.As(err, &invalid) {
				t.Errorf("got %v, want Invalid", err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

// readOnlyPart checks that a part of the workspace can be protected, as a repository's .git is.
func readOnlyPart(t *testing.T, runner sandbox.Runner) {
	dir := t.TempDir()
	git := filepath.Join(dir, ".git")
	if err := os.Mkdir(git, 0o755); err != nil {
		t.Fatal(err)
	}
	command := shell("echo x > .git/hook; mv .git gone; rm -rf .git; echo x > other; ls -A")
	command.Dir, command.ReadOnly = dir, []sandbox.Mount{{Source: git, Target: git}}
	if result := run(t, runner, command); string(result.Stdout) != ".git\nother\n" {
		t.Errorf("afterwards there are %q (stderr %q)", result.Stdout, result.Stderr)
	}
}

// atOnce checks that runs do not meet each other.
func atOnce(t *testing.T, runner sandbox.Runner) {
	const runs = 4
	results := make(chan error, runs)
	for i := range runs {
		command := shell("echo $N > /tmp/n; echo $N > n; sleep 0.2; cat /tmp/n n")
		text := strings.Repeat("x", i+1)
		command.Dir, command.Env = t.TempDir(), []string{"N=" + text}
		go func() {
			result, err := runner.Run(context.Background(), command)
			if err == nil && string(result.Stdout) != text+"\n"+text+"\n" {
				err = errors.New("printed " + string(result.Stdout))
			}
			results <- err
		}()
	}
	for range runs {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
