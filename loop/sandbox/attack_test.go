package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-7a986423/autocode/loop/sandbox"
)

func TestAttack47Network(t *testing.T)   { wantHeld(t, "egress") }
func TestAttack48DNS(t *testing.T)       { wantHeld(t, "dns") }
func TestAttack49NoAllow(t *testing.T)   { wantHeld(t, "no-proxy") }
func TestAttack53Sockets(t *testing.T)   { wantHeld(t, "sockets") }
func TestAttack58Keyrings(t *testing.T)  { wantHeld(t, "keyrings") }
func TestAttack59Ptrace(t *testing.T)    { wantHeld(t, "ptrace") }
func TestAttack60Namespace(t *testing.T) { wantHeld(t, "namespaces") }

func TestAttack54KernelInterfaces(t *testing.T) {
	for _, name := range []string{"vsock", "alg", "packet", "io_uring", "kernel", "netlink"} {
		t.Run(name, func(t *testing.T) { wantHeld(t, name) })
	}
}

func TestAttack61Privileges(t *testing.T) {
	wantHeld(t, "privileges")
	t.Run("set-id files", func(t *testing.T) { wantHeld(t, "setid") })
}

// The canary is in the server's environment, arguments and an inherited descriptor; nothing of it
// may be seen through /proc.
func TestAttack55Proc(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(secret, unix.O_RDONLY, 0) // without close-on-exec, like a careless parent
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	t.Setenv("OPENAI_API_KEY", canary)
	wantHeld(t, "proc-canary")
	wantHeld(t, "descriptors")
	t.Run("writes", func(t *testing.T) { wantHeld(t, "proc-writes") })
	t.Run("kernel memory", func(t *testing.T) { wantHeld(t, "kernel-addresses") })
}

func TestAttack56Environment(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", canary)
	t.Setenv("LD_PRELOAD_CANARY", canary)
	command := shell("env")
	command.Env = []string{"WANTED=yes", "HOME=/elsewhere"}
	result := run(t, command)
	wantExit(t, result, sandbox.Exited, 0)
	known := []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "PWD", "WANTED",
		"PYENV_ROOT", "RBENV_ROOT", "NODENV_ROOT", "GOENV_ROOT", "JENV_ROOT", "PHPENV_ROOT", "NVM_DIR", "ASDF_DIR", "VOLTA_HOME", "DOTNET_ROOT"}
	values := map[string]string{}
	for _, line := range lines(result.Stdout) {
		key, value, _ := strings.Cut(line, "=")
		values[key] = value
		found := false
		for _, name := range known {
			found = found || key == name
		}
		if !found || strings.Contains(value, canary) {
			t.Errorf("unexpected in the environment: %s", line)
		}
	}
	if values["WANTED"] != "yes" || values["HOME"] != "/elsewhere" {
		t.Errorf("the command's own entries are missing: %v", values)
	}
}

func TestAttack57Descriptors(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	var opened []int
	for range 20 {
		fd, err := unix.Open(secret, unix.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		opened = append(opened, fd)
	}
	defer func() {
		for _, fd := range opened {
			unix.Close(fd)
		}
	}()
	result := run(t, shell("ls /proc/self/fd; cat <&"+fmt.Sprint(opened[0])))
	if strings.Contains(string(result.Stdout), canary) {
		t.Error("an inherited descriptor was read")
	}
	if got := lines(result.Stdout); len(got) != 4 { // ls itself has one open
		t.Errorf("descriptors inside: %v", got)
	}
}

func TestAttack62Files(t *testing.T) {
	home, data := t.TempDir(), t.TempDir()
	for _, path := range []string{".ssh/id_ed25519", ".npmrc", ".cargo/credentials.toml", ".cargo/bin/tool", ".config/gh/hosts.yml", ".pyenv/versions/3/bin/python", "bin/script"} {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(canary), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(data, "other-task"), []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	config := sandbox.Config{Home: home, SearchPath: strings.Join([]string{
		filepath.Join(home, ".cargo/bin"), filepath.Join(home, ".pyenv/versions/3/bin"), filepath.Join(home, "bin"), home, ".", "relative/bin", "/nonexistent/bin",
	}, ":")}
	result := runWith(t, config, shell("find "+home+" "+data+" /etc/shadow /etc/ssh /etc/npmrc /etc/pip.conf /etc/maven/settings.xml /var/lib /root/.bashrc -type f 2>/dev/null"))
	want := []string{filepath.Join(home, ".cargo/bin/tool"), filepath.Join(home, ".pyenv/versions/3/bin/python"), filepath.Join(home, "bin/script")}
	if got := lines(result.Stdout); !sameSet(got, want) {
		t.Errorf("visible: %q, want the toolchains alone: %q", got, want)
	}
}

func sameSet(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	seen := map[string]int{}
	for i := range a {
		seen[a[i]]++
		seen[b[i]]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestAttack63Writes(t *testing.T) {
	dir := t.TempDir()
	command := shell(`
		for place in / /usr /usr/bin /usr/local/bin /etc /bin /dev /run /run/autocode /var /home /sys /proc /opt /lib; do
			if echo x > $place/.attack 2>/dev/null; then echo "wrote below $place"; fi
		done
		if echo x >> /etc/passwd 2>/dev/null; then echo "wrote passwd"; fi
		echo x > /tmp/a && echo x > $HOME/a && echo x > /dev/shm/a && echo x > own && echo x > /var/tmp/b || echo "cannot write where it may"`)
	command.Dir = dir
	result := run(t, command)
	wantExit(t, result, sandbox.Exited, 0)
	if len(result.Stdout) > 0 {
		t.Errorf("%s", result.Stdout)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "own")); err != nil || string(content) != "x\n" {
		t.Errorf("the workspace was not written: %q, %v", content, err)
	}
}

func TestAttack64ForkBomb(t *testing.T) {
	command := shell(`bomb() { bomb | bomb & }; bomb; sleep 5; echo survived`)
	command.Limits = sandbox.Limits{PIDs: 64, Timeout: 10 * time.Second}
	result := run(t, command)
	// The shell dies of it, hangs until the time-out, or gets over it; the host stays free of it.
	if result.Reason == sandbox.OOM {
		t.Errorf("ended by %s", result.Reason)
	}
	t.Run("exact limit", func(t *testing.T) {
		command := shell("i=0; while [ $i -lt 60 ]; do sleep 3 & i=$((i+1)); done; ls -d /proc/[0-9]* | wc -l")
		command.Limits = sandbox.Limits{PIDs: 20}
		result := run(t, command)
		var processes int
		if _, err := fmt.Sscan(string(result.Stdout), &processes); err == nil && processes > 20+1 {
			t.Errorf("%d processes at once, the init included", processes)
		}
	})
	if out, err := exec.Command("/bin/sh", "-c", "echo alive").Output(); err != nil || string(out) != "alive\n" {
		t.Errorf("the host cannot start processes: %v", err)
	}
}

func TestAttack65Memory(t *testing.T) {
	for _, name := range []string{"anonymous", "memfd", "shared-hidden"} {
		t.Run(name, func(t *testing.T) {
			result := run(t, sandbox.Command{
				Args:   []string{inside, attackArgument, name},
				Limits: sandbox.Limits{Memory: 128 << 20, Disk: 1 << 30, Timeout: time.Minute},
			})
			wantExit(t, result, sandbox.OOM, 137)
		})
	}
	t.Run("a child", func(t *testing.T) {
		// What the kernel leaves of the command must not go on.
		command := shell("sh -c 'x=x; while :; do x=$x$x; done'; sleep 60")
		command.Limits = sandbox.Limits{Memory: 64 << 20, Timeout: time.Minute}
		result := run(t, command)
		wantExit(t, result, sandbox.OOM, 137)
	})
	t.Run("socket buffers, no cgroups", func(t *testing.T) {
		result := runWith(t, sandbox.Config{NoCgroups: true}, sandbox.Command{
			Args:   []string{inside, attackArgument, "socket-buffers"},
			Limits: sandbox.Limits{Memory: 64 << 20, Timeout: time.Minute},
		})
		wantExit(t, result, sandbox.OOM, 137)
	})
	t.Run("tmpfs", func(t *testing.T) {
		command := shell("for dir in /tmp /dev/shm $HOME; do cat /dev/zero > $dir/fill; done; echo survived")
		command.Limits = sandbox.Limits{Memory: 64 << 20, Disk: 1 << 30, Timeout: time.Minute}
		result := run(t, command)
		if result.Reason != sandbox.OOM && !strings.Contains(string(result.Stderr), "No space left") {
			t.Errorf("ended by %s: %s", result.Reason, result.Stderr)
		}
	})
}

func TestAttack66Disk(t *testing.T) {
	limits := sandbox.Limits{Disk: 32 << 20, Timeout: time.Minute}
	for _, test := range []struct{ name, script string }{
		{"one file", "cat /dev/zero > big"},
		{"one file in tmp", "cat /dev/zero > /tmp/big"},
		{"one file at home", "cat /dev/zero > ~/big"},
		{"many files", "i=0; while head -c 4194304 /dev/zero > f$i; do i=$((i+1)); done"},
		{"in a locked directory", "mkdir d; cd d; chmod 0300 .; i=0; while head -c 4194304 /dev/zero > f$i; do i=$((i+1)); done"},
		{"inodes", "i=0; while mkdir $i && for j in 0 1 2 3 4 5 6 7 8 9; do for k in 0 1 2 3 4 5 6 7 8 9; do : > $i/$j$k; done; done; do i=$((i+1)); done"},
		{"deleted and open", inside + " " + attackArgument + " unlinked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			command := shell(test.script)
			command.Limits, command.Dir = limits, t.TempDir()
			result := run(t, command)
			t.Cleanup(func() { _ = sandbox.RemoveAll(command.Dir) })
			if result.ExitCode == 0 {
				t.Errorf("the command succeeded: %q", result.Stderr)
			}
			said := string(result.Stderr) + strings.Join(result.Warnings, " ")
			if !strings.Contains(said, "quota") && !strings.Contains(said, "No space left") && !strings.Contains(strings.ToLower(said), "file size limit") && result.Signal != int(unix.SIGXFSZ) && !strings.Contains(said, "too large") {
				t.Errorf("no quota error: %q, %+v", said, result.Reason)
			}
			const slack = 256 << 20 // what can be written until it is noticed
			if used := treeSize(t, command.Dir); used > limits.Disk+slack {
				t.Errorf("%d bytes were written", used)
			}
		})
	}
}

func treeSize(t *testing.T, dir string) int64 {
	t.Helper()
	out, err := exec.Command("du", "-s", "--block-size=1", dir).Output()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	var size int64
	if _, err := fmt.Sscan(string(out), &size); err != nil {
		t.Fatal(err)
	}
	return size
}

func TestAttack67Output(t *testing.T) {
	const limit = 100_000
	for _, test := range []struct{ name, script string }{
		{"lines", "yes"},
		{"no newline", "cat /dev/zero"},
		{"escapes", `while :; do printf '\033]0;title\007\033[2J'; done`},
		{"standard error", "yes >&2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			command := shell(test.script)
			command.Limits = sandbox.Limits{Output: limit}
			result := run(t, command)
			wantExit(t, result, sandbox.OutputLimit, 125)
			if len(result.Stdout) > limit || len(result.Stderr) > limit || !result.Truncated {
				t.Errorf("%d and %d bytes, truncated %v", len(result.Stdout), len(result.Stderr), result.Truncated)
			}
			if all := string(result.Stdout) + string(result.Stderr); !strings.Contains(all, "output cut here, the limit is 100000 bytes") {
				t.Error("no marker")
			}
			if escaped := sandbox.Escape(result.Stdout); strings.ContainsAny(string(escaped), "\x1b\x07\x00") {
				t.Error("control characters are left")
			}
		})
	}
	t.Run("exactly the limit", func(t *testing.T) {
		command := shell("head -c 100000 /dev/zero")
		command.Limits = sandbox.Limits{Output: limit}
		result := run(t, command)
		wantExit(t, result, sandbox.Exited, 0)
		if len(result.Stdout) != limit || result.Truncated {
			t.Errorf("%d bytes, truncated %v", len(result.Stdout), result.Truncated)
		}
	})
}

// marked is a command line that no other process on the host has.
func marked(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%d.%d", 1000+os.Getpid()%1000, time.Now().UnixNano())
}

// alive counts the processes on the host with mark in their command line.
func alive(t *testing.T, mark string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), mark) {
			count++
		}
	}
	return count
}

func TestAttack68Daemon(t *testing.T) {
	mark := marked(t)
	result := run(t, shell(`setsid sh -c 'setsid sleep `+mark+` & exit 0' & sleep 0.3; exit 0`))
	wantExit(t, result, sandbox.Exited, 0)
	if n := alive(t, mark); n != 0 {
		t.Errorf("%d daemons survived", n)
	}
}

func TestAttack69HeldOutput(t *testing.T) {
	mark := marked(t)
	for _, test := range []struct {
		name, script string
		limit        time.Duration // 0: the default
		reason       sandbox.Reason
		code         int
	}{
		{"after the end", "sleep " + mark + " & echo done", 0, sandbox.Exited, 0},
		{"past the time-out", "trap '' TERM HUP INT; sleep " + mark + " & sleep " + mark, 2 * time.Second, sandbox.Timeout, 124},
	} {
		t.Run(test.name, func(t *testing.T) {
			command := shell(test.script)
			command.Limits = sandbox.Limits{Timeout: test.limit}
			result := run(t, command)
			wantExit(t, result, test.reason, test.code)
			if n := alive(t, mark); n != 0 {
				t.Errorf("%d processes survived", n)
			}
		})
	}
}

// A server that is killed takes its sandboxes along; what remains on the host is removed by the
// next one.
func TestAttack70ServerKilled(t *testing.T) {
	newRunner(t, sandbox.Config{}) // skips where there is none
	mark, state, dir := marked(t), t.TempDir(), t.TempDir()
	server := exec.Command(os.Args[0], attackArgument, "server")
	server.Env = append(os.Environ(), "STATE="+state, "DIR="+dir, "MARK="+mark)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the sandbox to run", func() bool {
		_, err := os.Stat(filepath.Join(dir, "running"))
		return err == nil
	})
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	waitFor(t, "the sandbox to end with its server", func() bool { return alive(t, mark) == 0 })
	if entries, _ := filepath.Glob(filepath.Join(state, "autocode-run-*")); len(entries) == 0 {
		t.Fatal("the killed server left nothing to reap: the test tests nothing")
	}
	reaped, err := newRunner(t, sandbox.Config{StateDir: state}).Reap(context.Background())
	if err != nil || reaped == 0 {
		t.Errorf("reaped %d runs, %v", reaped, err)
	}
	if entries, _ := filepath.Glob(filepath.Join(state, "autocode-run-*")); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func init() {
	attacks["server"] = func() error {
		runner, err := sandbox.New(sandbox.Config{StateDir: os.Getenv("STATE")})
		if err != nil {
			return err
		}
		_, err = runner.Run(context.Background(), sandbox.Command{
			Args:   []string{"/bin/sh", "-c", "touch running; setsid sleep " + os.Getenv("MARK") + " & sleep " + os.Getenv("MARK")},
			Dir:    os.Getenv("DIR"),
			Copies: []sandbox.Mount{{Source: os.Getenv("DIR"), Target: "/cache/copy"}},
		})
		return err
	}
}

// waitFor looks until condition holds, or fails the test when patience ends.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestAttack71Unavailable(t *testing.T) {
	t.Run("not installed", func(t *testing.T) {
		t.Chdir(filepath.Dir(fakeBwrap(t, "runs from a relative entry of the path")))
		path, err := sandbox.FindBwrap([]string{t.TempDir(), "."})
		var unavailable *sandbox.Unavailable
		if !errors.As(err, &unavailable) {
			t.Fatalf("got %q, %v, want Unavailable", path, err)
		}
		if !strings.Contains(unavailable.Remedy, "install bubblewrap") {
			t.Errorf("the remedy does not say what to install: %s", unavailable.Remedy)
		}
	})
	for _, test := range []struct{ name, bwrap, want string }{
		{"missing", "/nonexistent/bwrap", "install bubblewrap"},
		{"refused", fakeBwrap(t, "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces."), "AppArmor"},
		{"too old", fakeBwrap(t, "bwrap: Unknown option --disable-userns"), "0.8"},
		{"masked proc", fakeBwrap(t, "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"), "systempaths=unconfined"},
		{"silent", fakeBwrap(t, ""), "doctor"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			runner, err := sandbox.New(sandbox.Config{Bwrap: test.bwrap, StateDir: t.TempDir()})
			if err == nil {
				_, err = runner.Run(context.Background(), sandbox.Command{Args: []string{"/bin/sh", "-c", "touch escaped"}, Dir: dir})
			}
			var unavailable *sandbox.Unavailable
			if !errors.As(err, &unavailable) {
				t.Fatalf("got %v, want Unavailable", err)
			}
			if !strings.Contains(unavailable.Remedy, test.want) {
				t.Errorf("the remedy does not name %q: %s", test.want, unavailable.Remedy)
			}
			if _, err := os.Stat(filepath.Join(dir, "escaped")); err == nil {
				t.Error("the command ran unconfined")
			}
		})
	}
}

// fakeBwrap is a program that refuses like bubblewrap does.
func fakeBwrap(t *testing.T, says string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bwrap")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \""+says+"\" >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAttack72Cache(t *testing.T) {
	cache := t.TempDir()
	if err := os.WriteFile(filepath.Join(cache, "package"), []byte("good"), 0o644); err != nil {
		t.Fatal(err)
	}
	poison := shell("echo evil > /cache/deps/package; echo evil > /cache/deps/new; cat /cache/deps/package")
	poison.Copies = []sandbox.Mount{{Source: cache, Target: "/cache/deps"}}
	if result := run(t, poison); strings.TrimSpace(string(result.Stdout)) != "evil" {
		t.Errorf("a copy cannot be written: %s%s", result.Stdout, result.Stderr)
	}
	readOnly := shell("echo evil > /cache/deps/package; ls /cache/deps; cat /cache/deps/package")
	readOnly.ReadOnly = []sandbox.Mount{{Source: cache, Target: "/cache/deps"}}
	if result := run(t, readOnly); string(result.Stdout) != "package\ngood" {
		t.Errorf("task B sees %q", result.Stdout)
	}
}

func TestAttack73Cleanup(t *testing.T) {
	dir := t.TempDir()
	work, outside := filepath.Join(dir, "work"), filepath.Join(dir, "outside")
	for _, path := range []string{work, outside} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	precious := filepath.Join(outside, "precious")
	if err := os.WriteFile(precious, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	command := shell("mkdir -p locked/in && touch locked/in/f && chmod 000 locked/in locked; ln -s " + outside + " link; ln -s " + precious + " file; " + inside + " " + attackArgument + " deep")
	command.Dir = work
	wantExit(t, run(t, command), sandbox.Exited, 0)
	if err := sandbox.RemoveAll(work); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(work); !os.IsNotExist(err) {
		t.Error("the workspace is still there")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
}
