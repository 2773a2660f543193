package verify_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/verify"
)

// TestGoModuleBeyondCache installs a module of which this machine's cache knows the version alone: a cache
// that once resolved a version has its .mod and not its .zip.
func TestGoModuleBeyondCache(t *testing.T) {
	cache := t.TempDir()
	download := filepath.Join(cache, "cache", "download")
	configured := filepath.Join(download, "configured") // shown in the sandbox together with the cache
	sum := writeModule(t, configured, "example.com/dep", "v1.0.0", "package dep\n\nfunc Two() int { return 2 }\n")
	write(t, filepath.Join(download, "example.com/dep/@v/v1.0.0.mod"), []byte("module example.com/dep\n"))

	for _, c := range []struct {
		name, proxy string
		pass        bool
	}{
		{"the configured proxy has it", "file://" + configured, true},
		{"nobody has it", "file://" + filepath.Join(download, "empty"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "go", func(config *verify.Config) {
				config.GoModCache = cache
				config.InstallEnv = []string{"GOPROXY=" + c.proxy}
			})
			out := b.verify(b.commit(map[string]string{
				"go.mod": "module example.com/m\n\ngo 1.20\n\nrequire example.com/dep v1.0.0\n", "go.sum": sum,
				"m.go":      "package m\n\nimport \"example.com/dep\"\n\nvar Two = dep.Two()\n",
				"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two != 2 {\n\t\tt.Fail()\n\t}\n}\n",
			}), nil)
			if out.Verdict.Pass != c.pass {
				t.Errorf("pass is %v, want %v\n%s", out.Verdict.Pass, c.pass, show(out))
			}
			if c.pass && out.Cases["example.com/m.TestTwo"] != loop.CasePassed {
				t.Errorf("the test that needs the module did not pass\n%s", show(out))
			}
			if !c.pass && out.Verdict.Class != "environment" {
				t.Errorf("class %q, want environment: the source is right\n%s", out.Verdict.Class, show(out))
			}
		})
	}
}

// writeModule writes a module as a proxy keeps it and returns its lines for go.sum.
func writeModule(t *testing.T, proxy, path, version, source string) string {
	t.Helper()
	mod := []byte("module " + path + "\n")
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	var listing bytes.Buffer // https://go.dev/ref/mod#go-sum-files: the h1 of sorted names and sums
	for _, file := range []struct {
		name string
		text []byte
	}{{"dep.go", []byte(source)}, {"go.mod", mod}} {
		name := path + "@" + version + "/" + file.name
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(file.text); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&listing, "%x  %s\n", sha256.Sum256(file.text), name)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(proxy, path, "@v", version)
	write(t, at+".mod", mod)
	write(t, at+".info", []byte(`{"Version":"`+version+`"}`))
	write(t, at+".zip", archive.Bytes())
	h1 := func(text []byte) string {
		sum := sha256.Sum256(text)
		return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
	}
	return fmt.Sprintf("%s %s %s\n%s %s/go.mod %s\n", path, version, h1(listing.Bytes()),
		path, version, h1(fmt.Appendf(nil, "%x  go.mod\n", sha256.Sum256(mod))))
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestStandardLibraryIsPlanted: a clone gets the compiled standard library although go list, which asks what is
// needed of it, has made a build cache there before.
func TestStandardLibraryIsPlanted(t *testing.T) {
	var seeds string
	b := newBench(t, "go", func(config *verify.Config) { seeds = config.CacheDir })
	clone := b.at(b.commit(map[string]string{"go.mod": "module example.com/m\n\ngo 1.20\n", "m.go": "package m\n\nimport \"strings\"\n\nvar Up = strings.ToUpper(\"x\")\n"}))
	compiled, err := filepath.Glob(filepath.Join(seeds, "go-*", "go-build", "*", "*-d"))
	if err != nil || len(compiled) == 0 {
		t.Fatalf("there is no compiled standard library in %s: %v", seeds, err)
	}
	missing := 0
	for _, file := range compiled {
		name := filepath.Join(clone.Root(), "cache", "go-build", filepath.Base(filepath.Dir(file)), filepath.Base(file))
		if _, err := os.Stat(name); err != nil {
			missing++
		}
	}
	if missing > len(compiled)/2 { // a seed of another Go may lie there, too
		t.Errorf("of %d compiled files of the standard library the clone lacks %d", len(compiled), missing)
	}
}
