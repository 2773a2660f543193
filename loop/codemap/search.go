package codemap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-7a986423/autocode/loop"
)

const (
	// maxPattern bounds a pattern in bytes: RE2 is linear in the text, but its program grows with the pattern.
	maxPattern = 1 << 10
	// maxSearchLine is how much of a line is shown.
	maxSearchLine = 240
	// maxHitsPerFile keeps one file from filling the answer.
	maxHitsPerFile = 20
	// maxSearchHits bounds the limit itself.
	maxSearchHits = 1000
)

// textBounds turns the bounds of a text into those of a line, which is the text that a search looks at.
var textBounds = strings.NewReplacer(`\\`, `\\`, `\A`, `^`, `\z`, `$`)

// ErrPattern is returned for a pattern or a glob that cannot be read.
var ErrPattern = errors.New("pattern is not understood")

// errEnough ends a search that has found enough.
var errEnough = errors.New("enough found")

// Search returns lines that contain the pattern (RE2) as path:line: text, sources first and then by path, at most limit and at
// most 20 of one file, and how many there are. pathGlob is empty for all files, or a pattern such as *.go, cmd/**, **/*_test.py; one
// without a slash fits the name in any directory. Binary, minified and secret files are not searched.
func (x *Index) Search(ctx context.Context, tree loop.Tree, pattern, pathGlob string, limit int) (loop.Matches, error) {
	if pattern == "" || len(pattern) > maxPattern {
		return loop.Matches{}, fmt.Errorf("search: the pattern has %d bytes, must have 1 to %d: %w", len(pattern), maxPattern, ErrPattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return loop.Matches{}, fmt.Errorf("search: %w: %w (RE2 syntax; escape special characters with a backslash)", ErrPattern, err)
	}
	// A text is split into lines only where the pattern fits somewhere.
	anywhere := re
	if strings.ContainsAny(pattern, `^$\`) {
		if anywhere, err = regexp.Compile("(?m:" + textBounds.Replace(pattern) + ")"); err != nil {
			return loop.Matches{}, fmt.Errorf("search: %w: %w", ErrPattern, err)
		}
	}
	fits, err := globber(pathGlob)
	if err != nil {
		return loop.Matches{}, err
	}
	if limit = min(limit, maxSearchHits); limit <= 0 {
		return loop.Matches{}, nil
	}
	files, err := tree.Files(ctx)
	if err != nil {
		return loop.Matches{}, fmt.Errorf("list the files of %s: %w", tree.Commit(), err)
	}
	byBlob := map[string][]string{}
	order := map[string]int{}
	var blobs []string
	for i, f := range files {
		if c := classOf(f.Path); !readable(f, c) || Secret(f.Path) || !fits(f.Path) {
			continue
		}
		if byBlob[f.Blob] == nil {
			blobs = append(blobs, f.Blob)
		}
		byBlob[f.Blob] = append(byBlob[f.Blob], f.Path)
		order[f.Path] = i
	}
	type found struct {
		path  string
		lines []string
	}
	var all []found
	result := loop.Matches{Lines: []string{}}
	err = tree.ReadAll(ctx, blobs, maxBlob, func(blob string, content []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if k := kindOf(content); k == blobBinary || k == blobMinified {
			return nil
		}
		hits, count := matchLines(re, anywhere, content)
		for _, p := range byBlob[blob] {
			if len(hits) > 0 {
				all = append(all, found{p, hits})
				result.Count += count
				result.Files++
			}
		}
		if len(all) > maxSearchHits {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return loop.Matches{}, fmt.Errorf("search %s: %w", tree.Commit(), err)
	}
	result.More = err != nil
	// Sources come first, since the limit may cut: a name is asked for to find its code.
	slices.SortFunc(all, func(a, b found) int {
		if ca, cb := classOf(a.path), classOf(b.path); (ca == classSource) != (cb == classSource) {
			if ca == classSource {
				return -1
			}
			return 1
		}
		return order[a.path] - order[b.path]
	})
	for _, f := range all {
		for _, l := range f.lines {
			if len(result.Lines) == limit {
				return result, nil
			}
			result.Lines = append(result.Lines, oneLine(f.path)+":"+l)
		}
	}
	return result, nil
}

// matchLines lists the lines of a text, in which anywhere matches, that match re, as "line: text", at most maxHitsPerFile,
// and counts all of them.
func matchLines(re, anywhere *regexp.Regexp, content []byte) (lines []string, count int) {
	if bytes.IndexByte(content, '\r') < 0 && !anywhere.Match(content) {
		return nil, 0
	}
	for number := 1; len(content) > 0; number++ {
		line, rest, _ := bytes.Cut(content, []byte{'\n'})
		content = rest
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if re.Match(line) {
			if count++; count <= maxHitsPerFile {
				lines = append(lines, fmt.Sprintf("%d: %s", number, shorten(string(line), maxSearchLine)))
			}
		}
	}
	return lines, count
}

// shorten cuts a line at a character and says so.
func shorten(line string, limit int) string {
	line = strings.ToValidUTF8(strings.TrimRight(line, " \t"), "?")
	if len(line) <= limit {
		return line
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}

// globber returns what tells whether a path fits a glob: path.Match, with ** for any number of directories.
func globber(glob string) (func(string) bool, error) {
	glob = strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/")
	if glob == "" || glob == "**" {
		return func(string) bool { return true }, nil
	}
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	parts := slices.CompactFunc(strings.Split(glob, "/"), func(a, b string) bool { return a == "**" && b == "**" })
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("search: path glob %q: %w: %w", glob, ErrPattern, err)
		}
	}
	if len(parts) == 1 {
		return func(p string) bool {
			ok, _ := path.Match(glob, path.Base(p))
			return ok || p == glob || strings.HasPrefix(p, glob+"/")
		}, nil
	}
	return func(p string) bool { return globs(parts, strings.Split(p, "/")) || strings.HasPrefix(p, glob+"/") }, nil
}

// globs matches names of a path against the parts of a glob.
func globs(parts, names []string) bool {
	for len(parts) > 0 {
		if parts[0] == "**" {
			if len(parts) == 1 {
				return true
			}
			for i := range names {
				if globs(parts[1:], names[i:]) {
					return true
				}
			}
			return false
		}
		if len(names) == 0 {
			return false
		}
		if ok, _ := path.Match(parts[0], names[0]); !ok {
			return false
		}
		parts, names = parts[1:], names[1:]
	}
	return len(names) == 0
}
