package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// configCmd checks configurations.
type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Check the server's configuration and a repository's .github/autocode.yml; all faults at once."`
}

// configCheckCmd is `autocode config check`.
type configCheckCmd struct {
	Config string   `placeholder:"FILE" help:"Server configuration; default autocode.yaml where it exists."`
	Files  []string `arg:"" optional:"" help:"Repository configurations, and a server's by the name autocode.yaml; default .github/autocode.yml where it exists."`
}

// Run prints every fault, and where there is none, what serve would still want.
func (c *configCheckCmd) Run(std streams) error {
	server, files := c.sort()
	s, faults := readSettings(server, os.Getenv)
	ceiling := s.Ceiling
	if len(faults) > 0 {
		ceiling = loop.DefaultConfig() // the server's is not known
	}
	if err := s.checkEndpoints(); err != nil {
		faults = append(faults, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if _, err := loop.ParseConfig(file, raw, ceiling); err != nil {
			faults = append(faults, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return usageError(err)
	}
	checked := append([]string{s.File}, files...)
	checked = slices.DeleteFunc(checked, func(f string) bool { return f == "" })
	fmt.Fprintf(std.out, "no faults (%s)\n", strings.Join(append(checked, "environment"), ", "))
	missing := s.checkServe()
	if s.checkModel() == nil {
		_, err := newModel(s)
		missing = errors.Join(missing, err)
	}
	if missing != nil {
		fmt.Fprintf(std.out, "autocode serve needs more:\n  %s\n", strings.ReplaceAll(missing.Error(), "\n", "\n  "))
	}
	return nil
}

// checkEndpoints reports what is wrong with the model's endpoints as far as they are configured. The name and the
// price of a model may be left out where a person watches, so they are no fault yet.
func (s settings) checkEndpoints() error {
	if s.checkModel() != nil {
		return nil
	}
	s.Model.Name = cmp.Or(s.Model.Name, "unnamed")
	s.Model.Free = s.Model.Free || s.Model.Price == nil
	_, err := newModel(s)
	return err
}

// sort tells the server's configuration, which a person may name like a repository's, from those of repositories.
func (c *configCheckCmd) sort() (server string, files []string) {
	server = c.Config
	for _, file := range c.Files {
		if server == "" && filepath.Base(file) == defaultConfigFile && filepath.Base(filepath.Dir(file)) != ".github" {
			server = file
			continue
		}
		files = append(files, file)
	}
	if len(c.Files) == 0 {
		if _, err := os.Stat(loop.ConfigPath); err == nil {
			files = append(files, loop.ConfigPath)
		}
	}
	return server, files
}
