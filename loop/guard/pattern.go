package guard

import (
	"path"
	"regexp"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// canonical folds the spellings of a path that some file system takes for the same: case, Unicode composition, code
// points that HFS+ ignores, trailing dots and spaces and streams of NTFS, backslashes, dot segments.
func canonical(p string) string {
	p = strings.Map(dropIgnorable, strings.ReplaceAll(p, `\`, "/"))
	segments := strings.Split(p, "/")
	for i, s := range segments {
		if s == "." || s == ".." {
			continue
		}
		s, _, _ = strings.Cut(s, ":")
		segments[i] = strings.TrimRight(s, " .")
	}
	p = strings.TrimPrefix(path.Clean("/"+strings.Join(segments, "/")), "/")
	// Folding may undo the composition, and the other way round.
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(p)))
}

// dropIgnorable drops the code points that HFS+ ignores in names (Apple's technical note 1150, as listed in git's
// utf8.c), and others that no reader sees.
func dropIgnorable(r rune) rune {
	switch {
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r == 0x00ad:
		return -1
	}
	return r
}

// pattern is a compiled pattern of a path policy.
type pattern struct {
	text string
	expr *regexp.Regexp
}

// compile reads patterns as in .gitignore: without a slash a pattern fits a name at any depth, ** spans directories,
// and a directory stands for all below it. Case and spelling are folded.
func compile(texts []string) []pattern {
	patterns := make([]pattern, 0, len(texts))
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			patterns = append(patterns, pattern{t, expression(t)})
		}
	}
	return patterns
}

func expression(text string) *regexp.Regexp {
	p := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "./"), "/")
	anchored := strings.Contains(strings.TrimPrefix(p, "**/"), "/")
	p = norm.NFC.String(cases.Fold().String(strings.TrimPrefix(p, "/")))
	var b strings.Builder
	b.WriteString("^")
	if !anchored && !strings.HasPrefix(p, "**/") {
		b.WriteString("(?:.*/)?")
	}
	for i := 0; i < len(p); {
		switch {
		case strings.HasPrefix(p[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 3
		case strings.HasPrefix(p[i:], "**"):
			b.WriteString(".*")
			i += 2
		case p[i] == '*':
			b.WriteString("[^/]*")
			i++
		case p[i] == '?':
			b.WriteString("[^/]")
			i++
		case p[i] == '[' && bracket(p[i:]) != "":
			b.WriteString(strings.Replace(bracket(p[i:]), "[!", "[^", 1))
			i += len(bracket(p[i:]))
		case p[i] == '\\' && i+1 < len(p):
			b.WriteString(regexp.QuoteMeta(p[i+1 : i+2]))
			i += 2
		default:
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
			i++
		}
	}
	b.WriteString("(?:/.*)?$")
	// Every part was quoted or is a class of letters, so that it compiles.
	return regexp.MustCompile("(?s)" + b.String())
}

// class matches the bracket expressions that are understood; others stand for themselves.
var class = regexp.MustCompile(`^\[!?[a-z0-9_.-]+\]`)

// bracket returns the bracket expression that a pattern begins with, "" for none.
func bracket(p string) string {
	set := class.FindString(p)
	if _, err := regexp.Compile(set); err != nil {
		return "" // such as [z-a]
	}
	return set
}

// matching returns the text of the first pattern that a path fits, "" for none.
func matching(patterns []pattern, p string) string {
	folded := canonical(p)
	for _, pattern := range patterns {
		if pattern.expr.MatchString(folded) {
			return pattern.text
		}
	}
	return ""
}

// dirOf is the directory of a path, "." at the root.
func dirOf(p string) string { return path.Dir(p) }

func trim(s string) string { return strings.TrimSpace(s) }
