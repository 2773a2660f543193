package codemap

import (
	"math"
	"path"
	"strings"
)

// How much a mention is worth, from the weakest to the strongest. A frame says where the program was; a name
// without a directory may be any of several files.
const (
	worthModule = 0.15
	worthName   = 0.3
	worthPath   = 0.8
	worthFrame  = 1
)

// mentioned gives the files that the text names their due.
func (v *view) mentioned(q *query, out []ranked) {
	if len(q.mentions) == 0 {
		return
	}
	byBase := map[string][]int{}
	byStem := map[string][]int{}
	for i, f := range v.files {
		base := strings.ToLower(path.Base(f.path))
		byBase[base] = append(byBase[base], i)
		stem := strings.TrimSuffix(base, path.Ext(base))
		byStem[stem] = append(byStem[stem], i)
	}
	for _, m := range q.mentions {
		worth, files := v.resolve(m, byBase, byStem)
		for _, i := range files {
			out[i].mention = max(out[i].mention, worth/float64(len(files)))
			if m.line > 0 {
				out[i].lines = append(out[i].lines, int32(min(m.line, math.MaxInt32)))
			}
		}
	}
}

// maxNamesakes is how many files a bare name may fit before it names none.
const maxNamesakes = 8

// resolve finds the files that a mention names: those that share the longest tail of its path.
func (v *view) resolve(m mention, byBase, byStem map[string][]int) (float64, []int) {
	tail := strings.ToLower(m.path)
	if m.module {
		if words := strings.Split(tail, "/"); len(byBase[strings.Join(words[max(0, len(words)-2):], ".")]) > 0 {
			return 0, nil // util.ts is that file and not the module util
		}
		return v.resolveModule(tail, byStem)
	}
	candidates := byBase[path.Base(tail)]
	if len(candidates) == 0 {
		return 0, nil
	}
	best, files := -1, []int(nil)
	for _, i := range candidates {
		n := common(strings.ToLower(v.files[i].path), tail)
		switch {
		case n > best:
			best, files = n, []int{i}
		case n == best:
			files = append(files, i)
		}
	}
	if len(files) > maxNamesakes {
		return 0, nil
	}
	worth := worthName
	if best > 0 || len(files) == 1 && strings.Contains(tail, "/") {
		worth = worthPath
	}
	if m.line > 0 {
		worth = worthPath
	}
	if m.frame {
		worth = worthFrame
	}
	return worth, files
}

// common counts the directories that two paths share from the end, their equal names not counted.
func common(a, b string) int {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n+1 < len(as) && n+1 < len(bs) && as[len(as)-2-n] == bs[len(bs)-2-n] {
		n++
	}
	return n
}

// resolveModule finds the file of a dotted name such as pkg.module.Class.method: the longest head of it whose
// last word is a file's stem and whose others are its directories.
func (v *view) resolveModule(name string, byStem map[string][]int) (float64, []int) {
	words := strings.Split(name, "/")
	for end := len(words); end >= 1; end-- {
		candidates := byStem[words[end-1]]
		if len(candidates) == 0 || len(candidates) > 4*maxNamesakes {
			continue
		}
		var files []int
		for _, i := range candidates {
			p := strings.ToLower(v.files[i].path)
			stem := strings.TrimSuffix(p, path.Ext(p))
			if end == 1 || common(stem, strings.Join(words[:end], "/")) > 0 {
				files = append(files, i)
			}
		}
		if n := len(files); n > 0 && n <= maxNamesakes {
			if end > 1 {
				return worthPath, files
			}
			return worthModule, files
		}
	}
	return 0, nil
}
