package main

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

// sampleFiles holds three files for each sample: NAME.txtar is the repository, NAME.issue.md the
// issue, NAME.script.yaml what the scripted model answers.
//
//go:embed samples/*.txtar samples/*.issue.md samples/*.script.yaml
var sampleFiles embed.FS

// sampleNames lists the samples in the order in which the demo shows them.
var sampleNames = []string{"go", "python", "node"}

// sample is a small repository with a bug, an issue about it, and a scripted model that solves it
// in two rounds: its first patch is wrong, so that the repair shows.
type sample struct {
	Name        string
	Title, Body string // of the issue
	Files       fs.FS  // the repository; its tests are green and do not cover the bug
	Script      modeltest.Script
}

// loadSample reads the sample of that name. An unknown name is an error that lists the known ones.
func loadSample(name string) (sample, error) {
	read := func(suffix string) ([]byte, error) { return sampleFiles.ReadFile(path.Join("samples", name+suffix)) }
	archive, err := read(".txtar")
	if err != nil {
		return sample{}, fmt.Errorf("there is no sample repository %q; there are %s", name, strings.Join(sampleNames, ", "))
	}
	files, err := txtar.FS(txtar.Parse(archive))
	if err != nil {
		return sample{}, fmt.Errorf("unpack the sample repository %s: %w", name, err)
	}
	issue, err := read(".issue.md")
	if err != nil {
		return sample{}, fmt.Errorf("read the issue of the sample repository %s: %w", name, err)
	}
	text, err := read(".script.yaml")
	if err != nil {
		return sample{}, fmt.Errorf("read the script of the sample repository %s: %w", name, err)
	}
	script, err := modeltest.Parse(text)
	if err != nil {
		return sample{}, fmt.Errorf("the script of the sample repository %s: %w", name, err)
	}
	title, body, _ := strings.Cut(string(issue), "\n")
	return sample{
		Name: name, Title: strings.TrimSpace(title), Body: strings.TrimSpace(body) + "\n", Files: files, Script: script,
	}, nil
}
