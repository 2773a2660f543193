package sandbox_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/seed-7a986423/autocode/loop/sandbox"
	"github.com/seed-7a986423/autocode/loop/sandbox/sandboxtest"
)

// staticInit links an init that starts in any root.
func staticInit(t *testing.T) string {
	t.Helper()
	compiler, err := exec.LookPath("go")
	if err != nil {
		missing(t, "the Go toolchain")
	}
	path := filepath.Join(t.TempDir(), "guest")
	build := exec.Command(compiler, "build", "-o", path, "./testdata/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// testImage is an image of one busybox layer and one that removes a file of it.
func testImage(t *testing.T) v1.Image {
	t.Helper()
	content := busyboxFiles(t)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	image, err = mutate.Config(image, v1.Config{Env: []string{"PATH=/bin", "FROM_IMAGE=yes"}})
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestImages(t *testing.T) {
	run(t, shell("true")) // skips where there is no bubblewrap
	guest, image := staticInit(t), testImage(t)
	dir := t.TempDir()
	asLayout := filepath.Join(dir, "layout")
	written, err := layout.Write(asLayout, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := written.AppendImage(image); err != nil {
		t.Fatal(err)
	}
	saved, archived := filepath.Join(dir, "saved.tar"), filepath.Join(dir, "oci.tar")
	if err := tarball.WriteToFile(saved, name.MustParseReference("test:1"), image); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-C", asLayout, "-cf", archived, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	unpacked := filepath.Join(dir, "root")
	if err := os.Mkdir(unpacked, 0o755); err != nil {
		t.Fatal(err)
	}
	extract := exec.Command("tar", "-C", unpacked, "-x")
	extract.Stdin = bytes.NewReader(busyboxFiles(t))
	if out, err := extract.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for kind, path := range map[string]string{"OCI layout": asLayout, "OCI archive": archived, "docker save": saved, "directory": unpacked} {
		t.Run(kind, func(t *testing.T) {
			config := sandbox.Config{Image: path, Init: guest}
			result := runWith(t, config, shell("echo $FROM_IMAGE; id -un; ls /usr/lib /etc/alternatives /lib 2>/dev/null; ls -l /bin/busybox | grep -c rws"))
			want := "yes\nsandbox\n0\n"
			if kind == "directory" {
				want = "\nsandbox\n"
				if got := string(result.Stdout); !strings.HasPrefix(got, want) {
					t.Errorf("printed %q", got)
				}
				return
			}
			if string(result.Stdout) != want {
				t.Errorf("printed %q, want %q (stderr %q)", result.Stdout, want, result.Stderr)
			}
			missingTool := runWith(t, config, sandbox.Command{Args: []string{"cargo", "build"}})
			wantExit(t, missingTool, sandbox.Exited, 127)
			if !strings.Contains(string(missingTool.Stderr), "cargo: command not found") {
				t.Errorf("the missing program is not named: %q", missingTool.Stderr)
			}
		})
	}
	t.Run("conforms", func(t *testing.T) { sandboxtest.Run(t, newRunner(t, sandbox.Config{Image: asLayout, Init: guest})) })
	for name, content := range map[string]string{"not an archive": "no", "empty": ""} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "image")
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := sandbox.New(sandbox.Config{Image: path, Init: guest, StateDir: t.TempDir()})
			var unavailable *sandbox.Unavailable
			if !errors.As(err, &unavailable) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want Unavailable in one line", err)
			}
		})
	}
}
