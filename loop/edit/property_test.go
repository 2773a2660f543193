package edit_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop/edit"
)

// words make lines that are alike, so that a careless match finds the wrong one.
var words = []string{"alpha", "beta", "gamma", "x", "=", "+", "(", ")", "{", "}", "return", "if", "1", "2", "a:", "//"}

func randomLine(r *rand.Rand) string {
	if r.IntN(6) == 0 {
		return ""
	}
	parts := make([]string, 1+r.IntN(4))
	for i := range parts {
		parts[i] = words[r.IntN(len(words))]
	}
	return strings.Repeat([]string{"\t", "  ", "    "}[r.IntN(3)], r.IntN(3)) + strings.Join(parts, " ")
}

func randomLines(r *rand.Rand, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = randomLine(r)
	}
	return lines
}

// text joins lines, each closed by end.
func joined(lines []string, end string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, end) + end
}

// A random region of a random file is searched for with changes of white space that are allowed. It must be replaced at its
// own place or be refused as ambiguous, and nothing else may change.
func TestPropertyPlacedRight(t *testing.T) {
	placed := 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 1))
		lines := randomLines(r, 5+r.IntN(60))
		from := r.IntN(len(lines))
		to := from + 1 + r.IntN(min(6, len(lines)-from))
		region := lines[from:to]
		if strings.TrimSpace(strings.Join(region, "")) == "" {
			continue
		}
		marker := fmt.Sprintf("unique%d", seed)
		search := make([]string, len(region))
		indent := ""
		disturbance := r.IntN(4)
		if disturbance == 2 {
			indent = "      "
		}
		for i, l := range region {
			search[i] = l
			switch {
			case disturbance == 1:
				search[i] += strings.Repeat(" ", r.IntN(3))
			case disturbance == 2 && l != "":
				search[i] = indent + l
			case disturbance == 3:
				search[i] = fmt.Sprintf("%d | %s", from+1+i, l)
			}
		}
		replace := indent + marker + "\n"
		if disturbance == 3 {
			replace = fmt.Sprintf("%d | %s\n", from+1, marker)
		}
		end := []string{"\n", "\r\n"}[r.IntN(2)]
		dir := plant(t, files{"a.txt": joined(lines, end)})
		result := apply(t, dir, block("a.txt", joined(search, "\n"), replace), edit.Options{})
		if !result.OK() {
			if result.Errors[0].Kind != edit.KindAmbiguous {
				t.Fatalf("seed %d: %+v\nfile %q\nsearch %q", seed, result, lines, search)
			}
			sameTree(t, harvest(t, dir), files{"a.txt": joined(lines, end)})
			continue
		}
		placed++
		want := append(append(append([]string{}, lines[:from]...), marker), lines[to:]...)
		if disturbance != 0 && harvest(t, dir)["a.txt"] != joined(want, end) {
			// With disturbed white space another place may be the exact match; then it must be one.
			at := result.Applied[0]
			if at.Line-1 != from && strings.Join(lines[at.Line-1:at.Line-1+len(search)], "\n") == strings.Join(search, "\n") {
				continue
			}
		}
		sameTree(t, harvest(t, dir), files{"a.txt": joined(want, end)})
		if t.Failed() {
			t.Fatalf("seed %d: %+v\nfile %q\nsearch %q", seed, result, lines, search)
		}
	}
	if placed < 500 {
		t.Errorf("only %d of the random blocks were placed; the property is hardly tested", placed)
	}
}

// One character that is not white space is changed: the block must be refused, and the file stay as it is.
func TestPropertyNearMissRefused(t *testing.T) {
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 2))
		lines := randomLines(r, 5+r.IntN(60))
		from := r.IntN(len(lines))
		to := from + 1 + r.IntN(min(6, len(lines)-from))
		search := []byte(joined(lines[from:to], "\n"))
		var solid []int
		for i, c := range search {
			if c > ' ' {
				solid = append(solid, i)
			}
		}
		if len(solid) == 0 {
			continue
		}
		at := solid[r.IntN(len(solid))]
		switch r.IntN(3) {
		case 0:
			search[at] = '@' // changed
		case 1:
			search = append(search[:at], append([]byte("@"), search[at:]...)...) // added
		case 2:
			search[at] = "~#%"[r.IntN(3)]
		}
		content := joined(lines, "\n")
		dir := plant(t, files{"a.txt": content})
		result := apply(t, dir, block("a.txt", string(search), "new\n"), edit.Options{})
		if len(result.Errors) != 1 || result.Errors[0].Kind != edit.KindNotFound {
			t.Fatalf("seed %d: %+v\nfile %q\nsearch %q", seed, result, lines, search)
		}
		sameTree(t, harvest(t, dir), files{"a.txt": content})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", two, "a.txt\n" + two, "a (delete)\n", "a.go -> b.go\n", "```go a.go\n" + two + "```\n", "<<<<< SEARCH\n=====\n=====\n>>>>> REPLACE\n",
		"**File: `x`** (delete)\n", "- a.txt\n\n~~~\n" + two, strings.ReplaceAll("a.txt\n"+two, "\n", "\r\n"), "   a.txt\n   <<<<<<< SEARCH\n   a\n   =======\n   >>>>>>> REPLACE"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		for i, b := range edit.Parse(reply).Blocks {
			if b.Number != i+1 || b.Line < 1 {
				t.Fatalf("block %d is numbered %d, line %d", i+1, b.Number, b.Line)
			}
			if b.Action == edit.ActionChange && b.Malformed == "" && len(b.Divisions) == 0 {
				t.Fatalf("sound block without content: %+v", b)
			}
		}
	})
}

// Whatever the reply, nothing outside of the root is written, an error changes nothing, and one edit changes no line
// outside of its block.
func FuzzApply(f *testing.F) {
	f.Add("a.txt\n"+two, "one\ntwo\nthree\n")
	f.Add("../x.txt\n"+two, "two\n")
	f.Add("d/a.txt -> ../../x\n", "\r\n")
	f.Add(block("a.txt", "1: one\n2: two\n", "1: x\n"), "one\ntwo")
	f.Add(block("a.txt", "  one\n", "  x\n"), "\tone\n\n")
	f.Fuzz(func(t *testing.T, reply, content string) {
		parent := plant(t, files{"sentinel.txt": "s\n", "repo/a.txt": content, "repo/d/b.txt": content})
		result := apply(t, parent+"/repo", reply, edit.Options{})
		after := harvest(t, parent)
		if after["sentinel.txt"] != "s\n" {
			t.Fatal("the file outside was changed")
		}
		for name := range after {
			if name != "sentinel.txt" && !strings.HasPrefix(name, "repo/") || strings.Contains(name, ".autocode-") {
				t.Fatalf("%s was made", name)
			}
		}
		if !result.OK() {
			sameTree(t, after, files{"sentinel.txt": "s\n", "repo/a.txt": content, "repo/d/b.txt": content})
			return
		}
		if len(result.Applied) != 1 || result.Applied[0].Op != edit.OpEdit {
			return
		}
		// The lines above the block are as they were, the ones below are the end of what was there.
		now := after["repo/"+result.Applied[0].Path]
		above := 0
		for range result.Applied[0].Line - 1 {
			above += strings.IndexByte(content[above:], '\n') + 1
		}
		if !strings.HasPrefix(now, content[:above]) {
			t.Fatalf("a line above line %d changed: %q → %q", result.Applied[0].Line, content, now)
		}
	})
}
