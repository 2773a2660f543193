package codemap

import (
	"strings"
	"testing"
)

func TestLicenceOf(t *testing.T) {
	lines := func(comment string, n int) string { return strings.Repeat(comment+"\n", n) }
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"lines":               {"// Copyright 2020 The Authors\n" + lines("// words", 4) + "\n// Package x is.\npackage x\n", 5},
		"hashes":              {"# Redistribution and use in source and binary forms\n" + lines("#", 3) + "import os\n", 4},
		"a block":             {"/*\n * Licensed under the Apache License\n" + lines(" * words", 3) + " */\nint x;\n", 6},
		"a short one":         {"// Copyright 2020\n// All rights reserved\npackage x\n", 0},
		"no licence":          {"// Package x does this.\n" + lines("// It does that.", 5) + "package x\n", 0},
		"not at the start":    {"package x\n// Copyright 2020\n" + lines("// words", 5), 0},
		"a script":            {"#!/bin/sh\n# Copyright 2020\n" + lines("# words", 5), 0},
		"an endless comment":  {"/* Copyright\n" + lines("words", 200), 0},
		"nothing but licence": {"# Copyright 2020\n" + lines("# words", 5), 6},
		"an empty file":       {"", 0},
	} {
		text := strings.SplitAfter(c.text, "\n")
		if got := licenceOf(text[:len(text)-1]); got != c.want {
			t.Errorf("%s: %d lines, want %d", name, got, c.want)
		}
	}
}

// TestPackLeavesLicencesOut: a licence costs no tokens, and the numbers of the lines stay those of the file.
func TestPackLeavesLicencesOut(t *testing.T) {
	licence := "# Copyright 2020 The Authors\n" + strings.Repeat("# words that stand in every file\n", 5)
	tree := newTree(map[string]string{"cart.py": licence + "import os\n\ndef total():\n    return 0\n"})
	text, err := New(Config{}).Pack(t.Context(), tree, nil, []string{"cart.py"}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "words that stand") || !strings.Contains(text, "=== cart.py:7-10 (whole file, but for its licence)\nimport os\n") {
		t.Error(text)
	}
}
