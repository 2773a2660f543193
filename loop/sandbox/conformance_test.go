package sandbox_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop/sandbox"
	"github.com/seed-7a986423/autocode/loop/sandbox/sandboxtest"
)

func TestBubblewrapConforms(t *testing.T) {
	run(t, shell("true")) // skips where there is none
	t.Run("cgroups", func(t *testing.T) { sandboxtest.Run(t, newRunner(t, sandbox.Config{})) })
	t.Run("watched", func(t *testing.T) { sandboxtest.Run(t, newRunner(t, sandbox.Config{NoCgroups: true})) })
}

// dockerHost is where the tests look for an engine.
func dockerHost() string {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return host
	}
	return "unix:///var/run/docker.sock"
}

// busyboxFiles is a tar archive of a root file system with the host's static busybox.
func busyboxFiles(t testing.TB) []byte {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		missing(t, "a static busybox (busybox-static)")
	}
	content, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	add := func(header tar.Header, content []byte) {
		header.Size = int64(len(content))
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"bin", "tmp", "etc", "usr", "home", "var", "var/tmp"} {
		add(tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o755}, nil)
	}
	add(tar.Header{Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o4755}, content)
	add(tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("root:x:0:0::/:/bin/sh\n"))
	for _, name := range []string{"sh", "cat", "echo", "ls", "sleep", "true", "grep", "tail", "touch", "chmod", "mv", "rm", "unshare", "pwd", "id"} {
		add(tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox", Mode: 0o777}, nil)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// busyboxImage imports an image into the engine and returns its id.
func busyboxImage(t testing.TB) string {
	t.Helper()
	docker, err := exec.LookPath("docker")
	if err != nil {
		missing(t, "the docker client")
	}
	load := exec.Command(docker, "-H", dockerHost(), "import", "-")
	load.Stdin = bytes.NewReader(busyboxFiles(t))
	out, err := load.CombinedOutput()
	if err != nil {
		missing(t, "a Docker engine: "+strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out))
}

func TestAttack74DockerConforms(t *testing.T) {
	runner, err := sandbox.NewDocker(sandbox.DockerConfig{Host: dockerHost(), Image: busyboxImage(t)})
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.Run(t, runner)
	t.Run("mounts", func(t *testing.T) {
		dir := t.TempDir()
		result, err := runner.Run(context.Background(), sandbox.Command{
			Args: []string{"sh", "-c", "grep -v -e ' /proc' -e ' /sys' -e ' /dev' /proc/self/mounts; ls /var/run/docker.sock /run/docker.sock /var/run/secrets 2>/dev/null"}, Dir: dir,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines(result.Stdout) {
			fields := strings.Fields(line)
			switch {
			case len(fields) < 4:
				t.Errorf("unexpected: %q", line)
			case fields[1] == "/" && strings.HasPrefix(fields[3], "ro"), fields[1] == dir, fields[2] == "tmpfs":
			case fields[1] == "/sbin/docker-init", strings.HasPrefix(fields[1], "/etc/"):
				// the engine's own: its init, and files of name resolution
			default:
				t.Errorf("unexpected mount: %q", line)
			}
		}
	})
	t.Run("other host paths", func(t *testing.T) {
		_, err := runner.Run(context.Background(), sandbox.Command{
			Args: []string{"true"}, Dir: t.TempDir(), ReadOnly: []sandbox.Mount{{Source: t.TempDir(), Target: "/cache/x"}},
		})
		var invalid *sandbox.Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("got %v, want Invalid", err)
		}
	})
	t.Run("nothing is left", func(t *testing.T) {
		out, err := exec.Command("docker", "-H", dockerHost(), "ps", "-aq", "--filter", "label=autocode.run").Output()
		if err != nil || len(out) > 0 {
			t.Errorf("containers are left: %s, %v", out, err)
		}
		if reaped, err := runner.Reap(context.Background()); err != nil || reaped != 0 {
			t.Errorf("reaped %d, %v", reaped, err)
		}
	})
}

func TestDockerRefusals(t *testing.T) {
	t.Run("image by tag", func(t *testing.T) {
		_, err := sandbox.NewDocker(sandbox.DockerConfig{Image: "debian:12"})
		var invalid *sandbox.Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("got %v, want Invalid", err)
		}
	})
	t.Run("no engine", func(t *testing.T) {
		runner, err := sandbox.NewDocker(sandbox.DockerConfig{Host: "unix:///nonexistent/docker.sock", Image: "sha256:" + strings.Repeat("0", 64)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = runner.Run(context.Background(), sandbox.Command{Args: []string{"true"}, Dir: t.TempDir()})
		var unavailable *sandbox.Unavailable
		if !errors.As(err, &unavailable) {
			t.Errorf("got %v, want Unavailable", err)
		}
	})
	t.Run("no image", func(t *testing.T) {
		busyboxImage(t) // skips where there is no engine
		runner, err := sandbox.NewDocker(sandbox.DockerConfig{Host: dockerHost(), Image: "sha256:" + strings.Repeat("0", 64)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = runner.Run(context.Background(), sandbox.Command{Args: []string{"true"}, Dir: t.TempDir()})
		var unavailable *sandbox.Unavailable
		if !errors.As(err, &unavailable) || !strings.Contains(unavailable.Remedy, "docker pull") {
			t.Errorf("got %v, want Unavailable with the pull to do", err)
		}
	})
}
