package guest

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// A start must not wait for packages that Go initialises late; see the package's comment.
func TestImports(t *testing.T) {
	compiler, err := exec.LookPath("go")
	if err != nil {
		if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" {
			t.Fatal("missing: the Go toolchain")
		}
		t.Skip("missing: the Go toolchain")
	}
	out, err := exec.Command(compiler, "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, banned := range []string{"encoding/json", "net", "regexp", "path/filepath", "os/signal", "os/exec", "runtime/debug"} {
		if slices.Contains(strings.Fields(string(out)), banned) {
			t.Errorf("%s is imported", banned)
		}
	}
}

func TestMessages(t *testing.T) {
	spec := Spec{
		Args: []string{"sh", "-c", "a\nb", ""}, Dir: "/w/sub", Env: []string{"A=b c", "E="}, HasStdin: true, Output: 1, Timeout: time.Second,
		Workspace: "/w", Scratch: []string{"/tmp"}, Disk: 2, Memory: 3, PIDs: 4, Egress: "/s",
	}
	stream := bytes.NewBuffer(append(spec.Encode(), "rest"...))
	got, err := readSpec(stream)
	if err != nil || !reflect.DeepEqual(got, spec) {
		t.Errorf("got %+v, %v", got, err)
	}
	if stream.String() != "rest" {
		t.Errorf("%q is left of the stream", stream)
	}
	report := Report{ExitCode: 137, Reason: OOM, Signal: 9, Wall: 1, CPU: 2, MaxRSS: 3, Truncated: true, Notes: []string{"a", "b"}}
	back, err := ReadReport(bytes.NewReader(report.encode()))
	if err != nil || !reflect.DeepEqual(back, report) {
		t.Errorf("got %+v, %v", back, err)
	}
}

func FuzzReadReport(f *testing.F) {
	f.Add(Report{Reason: Exited, Notes: []string{"x"}}.encode())
	f.Add([]byte("3\nabc"))
	f.Add([]byte("-1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := ReadReport(bytes.NewReader(data))
		if err != nil {
			return
		}
		again, err := ReadReport(bytes.NewReader(report.encode()))
		if err != nil || !reflect.DeepEqual(again, report) {
			t.Errorf("%+v became %+v, %v", report, again, err)
		}
	})
}

func TestCutter(t *testing.T) {
	const limit = 200
	marker := cutMarker(limit)
	for _, test := range []struct {
		name  string
		limit int64
		write []string
		want  string
		cut   bool
	}{
		{"nothing", limit, nil, "", false},
		{"short", limit, []string{"a", "b"}, "ab", false},
		{"exactly", limit, []string{strings.Repeat("x", limit-1), "y"}, strings.Repeat("x", limit-1) + "y", false},
		{"one more", limit, []string{strings.Repeat("x", limit), "y"}, strings.Repeat("x", limit-len(marker)) + marker, true},
		{"at once", limit, []string{strings.Repeat("x", 10*limit)}, strings.Repeat("x", limit-len(marker)) + marker, true},
		{"no room for a marker", 5, []string{"123456"}, "12345", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			cutter := &Cutter{Sink: &out, Limit: test.limit}
			fits := true
			for _, text := range test.write {
				fits = cutter.Write([]byte(text))
			}
			cutter.Finish()
			if out.String() != test.want || fits == test.cut {
				t.Errorf("passed on %q, cut %v", out.String(), !fits)
			}
		})
	}
}

func TestLookPath(t *testing.T) {
	for _, test := range []struct {
		name, program string
		env           []string
		want          string
	}{
		{"in the path", "sh", []string{"PATH=/nonexistent:/bin"}, "/bin/sh"},
		{"later entry wins", "sh", []string{"PATH=/nonexistent", "PATH=/bin"}, "/bin/sh"},
		{"not in the path", "sh", []string{"PATH=/nonexistent"}, ""},
		{"no path", "sh", nil, ""},
		{"absolute", "/bin/sh", nil, "/bin/sh"},
		{"relative", "./sh", nil, "/bin/./sh"},
		{"a directory", "bin", []string{"PATH=/"}, ""},
		{"missing", "/bin/no-such-program", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := LookPath(test.program, test.env, "/bin")
			if got != test.want || (err != nil) != (test.want == "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
