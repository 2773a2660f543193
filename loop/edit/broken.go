package edit

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop/syntax"
)

// meaningful tells files in which indentation is part of the meaning.
func meaningful(p string) bool {
	switch syntax.LanguageOf(p, nil) {
	case syntax.Python, syntax.YAML:
		return true
	case syntax.Unknown:
		base := strings.ToLower(path.Base(p))
		ext := path.Ext(base)
		return strings.HasSuffix(base, "makefile") || slices.Contains([]string{".mk", ".md", ".rst", ".adoc", ".pug", ".haml", ".sass", ".slim",
			".coffee", ".nim", ".fs", ".fsx", ".hs", ".elm", ".bazel", ".bzl", ".gd", ".pyx", ".txt"}, ext)
	case syntax.C, syntax.CPP, syntax.CSharp, syntax.Go, syntax.Java, syntax.JavaScript, syntax.JSON, syntax.PHP, syntax.Ruby, syntax.Rust,
		syntax.TOML, syntax.TSX, syntax.TypeScript, syntax.XML:
		return false
	}
	return true
}

// headSize is how much of a file is looked at for its language.
const headSize = 16 << 10

// checkSyntax reports each file that an edit broke.
func (a *applier) checkSyntax(ctx context.Context) {
	for _, p := range a.tree.touched {
		f := a.tree.files[p]
		if !f.exists || !f.dirty || ctx.Err() != nil {
			continue
		}
		after := []byte(f.text.String())
		var before []byte
		if f.source != "" {
			original := &file{source: f.source}
			if err := a.tree.load(f.source, original); err != nil {
				continue // it was read before; the write will tell
			}
			before = []byte(original.text.String())
			if bytes.Equal(before, after) {
				continue
			}
		}
		lang := syntax.LanguageOf(p, after[:min(len(after), headSize)])
		worse, problem := syntax.Worse(lang, before, after)
		if !worse {
			continue
		}
		at := problem.Line - 1
		a.failNear(Block{Number: a.blame(p, at), Path: p}, KindConflict, around(f.text, at-nearestLines/2, at+nearestLines/2+1, at),
			"%s no longer parses as %s: line %d, column %d of the file as the reply leaves it: %s", p, lang, problem.Line, problem.Column, problem.Text)
	}
}

// blame names the block whose text stands at line at of p, or the last one above it, or the first one.
func (a *applier) blame(p string, at int) int {
	first, above := 0, 0
	for _, e := range a.edits {
		if e.path != p {
			continue
		}
		if e.first <= at && at < max(e.last, e.first+1) {
			return e.block
		}
		if first == 0 {
			first = e.block
		}
		if e.first <= at {
			above = e.block
		}
	}
	if above > 0 {
		return above
	}
	return max(first, 1)
}
