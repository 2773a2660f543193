package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop/store"
	"github.com/seed-7a986423/autocode/loop/store/storetest"
)

// config is what the suite asks for.
func config(options storetest.Options) store.Config {
	return store.Config{
		Workers: options.Workers, Clock: options.Clock, Logger: zerolog.Nop(),
		LeaseTTL: storetest.LeaseTTL, SweepInterval: storetest.Sweep,
	}
}

// open opens a store that the test closes.
func open(t testing.TB, c store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	dirs := map[string]string{}
	storetest.Run(t, storetest.Suite{Open: func(t *testing.T, name string, options storetest.Options) storetest.Backend {
		key := t.Name() + "/" + name
		if dirs[key] == "" {
			dirs[key] = t.TempDir()
		}
		c := config(options)
		c.DataDir = dirs[key]
		return open(t, c)
	}})
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	urls := map[string]string{}
	cluster := startPostgres(t)
	storetest.Run(t, storetest.Suite{Shared: true, Open: func(t *testing.T, name string, options storetest.Options) storetest.Backend {
		key := t.Name() + "/" + name
		if urls[key] == "" {
			urls[key] = cluster.database(t)
		}
		c := config(options)
		c.URL = urls[key]
		return open(t, c)
	}})
}

func TestDirectoryIsTakenByOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made on the way", "data?#%20")
	first := open(t, store.Config{DataDir: dir})
	_, err := store.Open(t.Context(), store.Config{DataDir: dir})
	if err == nil {
		t.Fatal("two stores have one directory open")
	}
	text := err.Error()
	if strings.Contains(text, "\n") || !strings.Contains(text, dir) || !strings.Contains(text, fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("the error must name directory and process in one line: %s", text)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, store.Config{DataDir: dir})
}

func TestDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	open(t, store.Config{DataDir: dir})
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("mode %o, must be 700", mode)
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		config store.Config
	}{
		{"neither URL nor directory", store.Config{}},
		{"a file for a directory", store.Config{DataDir: file}},
		{"a negative number of workers", store.Config{DataDir: t.TempDir(), Workers: -1}},
		{"a URL that is none", store.Config{URL: "postgres://%zz"}},
		{"a database that nobody serves", store.Config{URL: "postgres://u:secret@127.0.0.1:1/x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := store.Open(t.Context(), c.config)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is in the error: %s", err)
			}
		})
	}
}

func TestDatabaseThatIsNone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "autocode.db"), []byte(strings.Repeat("no database at all ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{DataDir: dir})
	if err == nil {
		s.Close()
		t.Fatal("it was opened")
	}
	if !strings.Contains(err.Error(), dir) {
		t.Errorf("the error does not name the directory: %s", err)
	}
}
