package sandbox_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// BenchmarkStart compares the start of `true` in the sandbox with the same under bare bubblewrap in the same
// namespaces, which has neither limits nor init nor filter, and under `docker run`. The targets are twice the
// first and a tenth of the second at most. cpu-us/op is the processor time of this process and of what it
// started, which other work on the machine changes little.
func BenchmarkStart(b *testing.B) {
	runner := newRunner(b, sandbox.Config{})
	dir := b.TempDir()
	measure := func(name string, start func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			before := processorTime(b)
			for b.Loop() {
				start(b)
			}
			b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
	measure("sandbox", func(b *testing.B) {
		result, err := runner.Run(context.Background(), sandbox.Command{Args: []string{"true"}, Dir: dir})
		if err != nil || result.ExitCode != 0 {
			b.Fatalf("%+v, %v", result, err)
		}
	})
	measure("bare", func(b *testing.B) {
		args := []string{"--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--die-with-parent", "--new-session",
			"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"}
		if err := exec.Command("bwrap", args...).Run(); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("docker", func(b *testing.B) {
		image := busyboxImage(b)
		for b.Loop() {
			if out, err := exec.Command("docker", "-H", dockerHost(), "run", "--rm", "--network", "none", image, "true").CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}

// processorTime is what this process and its children that ended have used.
func processorTime(b *testing.B) time.Duration {
	var total time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var used unix.Rusage
		if err := unix.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		total += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return total
}
