package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is far longer than anything here takes on a loaded machine.
const patience = 5 * time.Minute

func TestGitErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		call       call
		text       string
		cause      error
	}{
		{"exit code and standard error", "echo broken >&2; exit 3", call{args: []string{"status", "-s"}}, "git status -s: exit code 3: broken", nil},
		{"secret", `echo "$1 eC1hY2Nlc3MtdG9rZW46aHVudGVyMg==" >&2; exit 1`, call{args: []string{"hunter2"}, secret: "hunter2"}, "git [redacted]: exit code 1: [redacted] [redacted]", nil},
		{"killed", "kill -9 $$", call{args: []string{"gc"}}, "git gc: exit code -1", nil},
		{"too much output", "yes", call{args: []string{"log"}, limit: 1000}, "over 1000 bytes", errOutputTooLong},
		{"time-out", "exec sleep 1000", call{args: []string{"fetch"}, timeout: time.Millisecond}, "no end after 1ms", context.DeadlineExceeded},
		{"last lines of a long standard error", "i=0; while [ $i -lt 3000 ]; do echo line-$i; i=$((i+1)); done >&2; exit 1", call{}, "line-2999", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := &git{path: script(t, c.body), timeout: time.Minute}
			_, err := g.run(t.Context(), c.call)
			if err == nil || !strings.Contains(err.Error(), c.text) || (c.cause != nil && !errors.Is(err, c.cause)) {
				t.Errorf("error %v, want %q", err, c.text)
			}
			if err != nil && len(err.Error()) > maxStderr+200 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestGitTimeoutKillsTheGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "child")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// The child holds the output open and ignores the end of its parent.
	g := &git{path: script(t, "sh -c 'trap \"\" HUP TERM; echo $$ >"+pipe+"; sleep 1000' &\nwait"), timeout: patience}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := g.run(ctx, call{args: []string{"fetch"}})
		done <- err
	}()
	pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, dir, "child")))
	if err != nil {
		t.Fatal(err)
	}
	child, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	// A killed process ends a little later than the call that killed it.
	poll := []unix.PollFd{{Fd: int32(child), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, int(patience.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 1 || err != nil {
			t.Errorf("the child lives (%d, %v)", n, err)
			_ = unix.PidfdSendSignal(child, unix.SIGKILL, nil, 0)
		}
		return
	}
}

func TestGitEnvironment(t *testing.T) {
	t.Parallel()
	g := &git{path: script(t, "env"), timeout: time.Minute}
	out, err := g.run(t.Context(), call{gitDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(name, "GIT_"), name == "PATH", name == "HOME", name == "XDG_CONFIG_HOME", name == "LC_ALL", name == "TZ":
		case name == "PWD", name == "OLDPWD", name == "SHLVL", name == "_": // the shell's own
		default:
			t.Errorf("git sees %s", strings.TrimSpace(line))
		}
	}
	for _, want := range []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "=safe.bareRepository", "=core.hooksPath"} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("git does not see %s", want)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := Config{Root: t.TempDir(), BaseURLs: []string{"https://github.com", "http://127.0.0.1:8080", "http://[::1]:1/x", "http://localhost"}}
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"good", func(*Config) {}, nil},
		{"plain http", func(c *Config) { c.BaseURLs = []string{"http://example.com"} }, []string{"BaseURLs", "only https"}},
		{"credentials", func(c *Config) { c.BaseURLs = []string{"https://user:pass@example.com"} }, []string{"holds credentials"}},
		{"no server", func(c *Config) { c.BaseURLs = nil }, []string{"BaseURLs: empty"}},
		{"file only", func(c *Config) { c.BaseURLs, c.AllowFile = nil, true }, nil},
		{"several faults at once", func(c *Config) {
			*c = Config{BaseURLs: []string{"ssh://x/y"}, BranchPrefix: "a b", AuthorName: "x\ny", AuthorMail: "x", GitPath: "/nonexistent/git", CAFile: "/nonexistent/ca", Proxy: "socks://x", Spares: -1}
		}, []string{"Root", "BaseURLs", "BranchPrefix", "AuthorName", "AuthorMail", "git program", "CAFile", "Proxy", "negative"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := good
			c.change(&config)
			_, err := New(config)
			if (err == nil) != (len(c.want) == 0) {
				t.Fatalf("error %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "pass@") {
				t.Errorf("the error repeats a password: %v", err)
			}
		})
	}
}
