package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/sandbox"
)

const someImage = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func TestRunnerIsConfigured(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want string // a part of the fault; empty: none
	}{
		"left out":               {"{}", ""},
		"bubblewrap":             {"sandbox: {runner: bubblewrap}", ""},
		"docker":                 {"sandbox: {runner: docker, image: busybox@" + someImage + ", docker_host: 'unix:///x'}", ""},
		"unknown":                {"sandbox: {runner: chroot}", `sandbox.runner: "chroot" is not one of bubblewrap, docker`},
		"image by tag":           {"sandbox: {runner: docker, image: busybox}", `sandbox.image: "busybox" does not name an image by digest`},
		"docker without image":   {"sandbox: {runner: docker}", "sandbox.image"},
		"engine without docker":  {"sandbox: {docker_host: 'unix:///x'}", "sandbox.docker_host"},
		"a key that is mistaken": {"sandbox: {runers: docker}", "runers"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "autocode.yaml")
			if err := os.WriteFile(file, []byte(test.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := loadSettings(file, func(string) string { return "" })
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Fatalf("%v, want %q", err, test.want)
			}
			if err == nil && name == "docker" && s.Sandbox.Runner != runnerDocker {
				t.Errorf("runner %q", s.Sandbox.Runner)
			}
		})
	}
}

func TestOpenConfiner(t *testing.T) {
	if _, err := openConfiner("chroot", "", sandbox.Config{}); err == nil {
		t.Error("an unknown runner is made")
	}
	confined, err := openConfiner(runnerDocker, "unix:///nowhere", sandbox.Config{Image: someImage})
	if err != nil {
		t.Fatal(err)
	}
	var unavailable *sandbox.Unavailable
	if _, err = confined.Run(t.Context(), sandbox.Command{Args: []string{"true"}, Dir: t.TempDir()}); !errors.As(err, &unavailable) {
		t.Errorf("no engine: %v", err)
	}
}

// recorder notes what it is asked to run.
type recorder struct{ command sandbox.Command }

func (r *recorder) Run(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	r.command = c
	return sandbox.Result{}, nil
}

func (*recorder) Reap(context.Context) (int, error) { return 0, nil }

// The Docker runner shows no host path and reaches nothing; what the verifier wishes for beyond that is left out, and said.
func TestOfflineRunner(t *testing.T) {
	r := &recorder{}
	result, err := sandboxRunner{confiner: r, offline: true}.Run(t.Context(), loop.Command{
		Args: []string{"true"}, Network: []string{"example.org"}, Mirrors: []string{"mirror.example"}, Mounts: []loop.Mount{{Source: "/cache"}},
	})
	if err != nil || len(r.command.ReadOnly) > 0 || len(r.command.Network.Allow)+len(r.command.Network.Mirrors) > 0 {
		t.Errorf("%v, ran %+v", err, r.command)
	}
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "without network") {
		t.Errorf("warnings %q", result.Warnings)
	}
}
