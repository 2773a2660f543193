package publish

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const anyLength = 60_000

// sanitized is what is posted of a text, with what is checked of every output.
func sanitized(t *testing.T, text string) string {
	t.Helper()
	out := Sanitize(text, anyLength)
	if again := Sanitize(out, anyLength); again != out {
		t.Errorf("not idempotent:\n%q\n%q\n%q", text, out, again)
	}
	return out
}

// wants checks texts that must and must not be in the output.
func wants(t *testing.T, text string, has, hasNot []string) {
	t.Helper()
	out := sanitized(t, text)
	for _, part := range has {
		if !strings.Contains(out, part) {
			t.Errorf("%q: %q is missing in %q", text, part, out)
		}
	}
	for _, part := range hasNot {
		if strings.Contains(out, part) {
			t.Errorf("%q: %q is left in %q", text, part, out)
		}
	}
}

func TestAttack91Mentions(t *testing.T) {
	for _, text := range []string{
		"@org/team", "ask @org/team please", "(@org/team)", "x\n@org/team", "**@org/team**", "[@org/team](http://a.example)", "\\@org/team",
		"``a``@org/team b", "\\`@org/team\\`", "`unclosed @org/team", "> ```\n@org/team", "- a\n  ```\n@org/team", "~~~\ncode\n~~~\n@org/team",
		"```\ncode\n   ``` \n@org/team", "```a`\n@org/team", "é@org/team", "_@org/team_", "| `a | @org/team` |", "1. ```\n@org/team", "    ```\n@org/team",
	} {
		wants(t, text, []string{"org/team"}, []string{"@org/team"})
	}
	for _, text := range []string{"&#64;org/team", "&commat;org/team", "&#x40;org/team"} {
		wants(t, text, []string{"&amp;"}, []string{"&#", "&commat"})
	}
	// Code stays code, an address an address.
	for _, text := range []string{"`@property`", "```python\nx = 1  # @cached\n```", "write to a@b.example", "@ 5 o'clock"} {
		if out := sanitized(t, text); out != text {
			t.Errorf("%q became %q", text, out)
		}
	}
}

func TestAttack92ClosingKeywords(t *testing.T) {
	for _, text := range []string{
		"closes other/repo#1", "Fixes #12", "resolved: #12", "fix #12", "closes **#12**", "closes [#12](http://a.example)", "closes \\#12", "closes\n#12",
		"closes:\n> #12", "`fixes #12`", "```\nfixes #12\n```", "fixes GH-12", "closes owner/other#12", "CLOSES   #12", "closes\n\nowner/other#12",
	} {
		out := sanitized(t, text)
		if regexp.MustCompile(`#\d|GH-\d`).MatchString(out) {
			t.Errorf("%q became %q", text, out)
		}
	}
	wants(t, "closes https://github.example/o/r/issues/3", nil, []string{"closes https"})
	wants(t, "see other/repo#1", []string{"other/repo# 1"}, nil)
	wants(t, "see #12, prefixes #3", []string{"see #12"}, nil)
}

func TestAttack93Images(t *testing.T) {
	for _, text := range []string{"![a](http://tracker.example/x.png)", "![a\n](http://tracker.example)", "![a][b]\n\n[b]: http://tracker.example", "<img src=http://tracker.example>", "`x`![a](b)"} {
		wants(t, text, nil, []string{"![", "<img", "]: http"})
	}
}

func TestAttack94HTML(t *testing.T) {
	wants(t, "<!-- hidden -->\n<details><summary>x</summary>\n<script>alert(1)</script>", []string{"&lt;details>", "&lt;!--"}, []string{"<"})
	wants(t, "a `<b>` c", []string{"`<b>`"}, nil)
	wants(t, "<https://x.example>", []string{"&lt;https"}, nil)
}

func TestAttack95HiddenCharacters(t *testing.T) {
	hidden := "a\u200bb\u202ec\U000e0041d\ufeffe\u00adf\u2066g\u3164h\x00i\x1b[31mj\u180ek\ufe0fl"
	out := sanitized(t, hidden)
	if out != "abcdefghi[31mjkl" {
		t.Errorf("%q", out)
	}
	wants(t, "@\u200borg/team", nil, []string{"@org"})
	wants(t, "`\u202e@x`", []string{"`@x`"}, nil)
	wants(t, "not UTF-8: \xff\xfe", []string{"�"}, nil)
}

func TestAttack96FenceBreakout(t *testing.T) {
	for _, text := range []string{"```\n@a\n```\n@org/team", "````\n```\n````\n@org/team", "~~~\n```\n~~~\n@org/team", "```\n    ```\n```\n@org/team", "```go\nx\n```` \n@org/team"} {
		wants(t, text, nil, []string{"@org/team"})
	}
	if out := sanitized(t, "```\nopen"); out != "```\nopen\n```" {
		t.Errorf("%q", out)
	}
	wants(t, "```mermaid\ngraph\n```", []string{"```\ngraph"}, []string{"mermaid"})
	wants(t, "```suggestion\nx\n```", nil, []string{"suggestion"})
	wants(t, "```go\nx\n```", []string{"```go\n"}, nil)
}

func TestAttack97BotCommands(t *testing.T) {
	for _, text := range []string{"/autocode stop", "  /retest", "> /merge", "- /lgtm", "1. /close", "```\n/retest\n```", "```\n@dependabot merge\n```", "@dependabot merge", "x\n/approve", "bors r+", "  retest this please", "```\nrecheck\n```"} {
		out := sanitized(t, text)
		for _, line := range strings.Split(out, "\n") {
			if regexp.MustCompile(`^(?:/|@[a-z])|^\s*(?:[>-]|\d\.)?\s*/\w|^\s*(?:bors|retest|recheck)`).MatchString(line) && !strings.HasPrefix(line, " /") {
				t.Errorf("%q became %q", text, out)
			}
		}
	}
	wants(t, "`/autocode stop` ends it", []string{"`/autocode stop` ends it"}, nil)
}

func TestAttack98Links(t *testing.T) {
	for _, text := range []string{"[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x]( data:text/html,x)", "[x](vbscript:x)", "[x](\njavascript:x)", "[x][y]\n\n[y]: javascript:x", "[x](file:///etc/passwd)"} {
		out := strings.ToLower(sanitized(t, text))
		if regexp.MustCompile(`\]\(\s*(?:javascript|data|vbscript|file):|\]:\s*javascript:|^javascript:`).MatchString(out) {
			t.Errorf("%q became %q", text, out)
		}
	}
	wants(t, "[x](https://a.example/b)", []string{"[x](https://a.example/b)"}, nil)
	wants(t, "[x](#part) [y](docs/a.md)", []string{"[x](#part) [y](docs/a.md)"}, nil)
}

func TestAttack99Length(t *testing.T) {
	for name, text := range map[string]string{
		"many lines": strings.Repeat("a line\n", 20_000), "one line": strings.Repeat("x", 200_000), "in a fence": "```\n" + strings.Repeat("code\n", 20_000),
		"wide runes": strings.Repeat("日本語\n", 30_000), "just over": strings.Repeat("y", 70) + "\n" + strings.Repeat("z", 70),
	} {
		for _, limit := range []int{200, 1000, 65_535} {
			out := Sanitize(text, limit)
			if n := utf8.RuneCountInString(out); n > limit {
				t.Errorf("%s: %d characters, limit %d", name, n, limit)
			}
			if n := strings.Count(out, "```"); n%2 != 0 {
				t.Errorf("%s: an open fence at limit %d", name, limit)
			}
		}
	}
	wants(t, strings.Repeat("a line\n", 20_000), []string{"more lines are left out"}, nil)
}

func TestAttack100DirectivesAndTrailers(t *testing.T) {
	for _, text := range []string{"[skip ci]", "[CI SKIP]", "x [no ci] y", "[skip actions]", "***NO_CI***", "[skip\u00a0ci]", "[ SKIP  CI ]", "[skip-ci]", "[skip travis]", "`[skip ci]`", "```\n[skip ci]\n```"} {
		if out := sanitized(t, text); regexp.MustCompile(`(?i)\[[^\]]*ci\]|\[skip|\*\*\*NO`).MatchString(out) {
			t.Errorf("%q became %q", text, out)
		}
	}
	for _, text := range []string{"Co-authored-by: A <a@b.example>", "signed-off-by: x", "Reviewed-by: y", "skip-checks: true", "```\nCo-authored-by: A\n```"} {
		if out := sanitized(t, text); regexp.MustCompile(`(?im)^[a-z-]+:`).MatchString(out) {
			t.Errorf("%q became %q", text, out)
		}
	}
}

// TestTitle: a title is a line without anything that acts.
func TestTitle(t *testing.T) {
	out := safeTitle("fix: @org/team\u202e closes #1 [skip ci]\nfixes other/r#2")
	for _, bad := range []string{"@org", "#1", "[skip", "\n", "\u202e", "r#2"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q is left in %q", bad, out)
		}
	}
}

// outsideCode blanks fences and spans as GitHub reads them, by the rules of CommonMark written down
// a second time: block structure first, quotes and lists included, then spans across the lines of a paragraph.
func outsideCode(text string) string {
	var blocks, paragraph []string
	fence := ""
	end := func() {
		blocks = append(blocks, spans(strings.Join(paragraph, "\n")))
		paragraph = nil
	}
	open := regexp.MustCompile("^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
	for _, line := range strings.Split(text, "\n") {
		if fence != "" {
			if m := regexp.MustCompile(`^ {0,3}(` + regexp.QuoteMeta(fence[:1]) + `{3,})[ \t]*$`).FindStringSubmatch(line); m != nil && len(m[1]) >= len(fence) {
				fence = ""
			}
			continue
		}
		if m := open.FindStringSubmatch(line); m != nil {
			end()
			fence = m[1] + m[2]
			continue
		}
		if strings.TrimSpace(line) == "" {
			end()
		}
		paragraph = append(paragraph, line)
	}
	end()
	return strings.Join(blocks, "\n")
}

// spans blanks the code spans of a paragraph.
func spans(text string) string {
	var b bytes.Buffer
	for i := 0; i < len(text); {
		switch {
		case text[i] == '\\' && i+1 < len(text) && unicode.In(rune(text[i+1]), unicode.P, unicode.S):
			b.WriteByte(text[i+1])
			i += 2
		case text[i] == '`':
			n := 0
			for i+n < len(text) && text[i+n] == '`' {
				n++
			}
			rest := text[i+n:]
			m := regexp.MustCompile("(?:^|[^`])(`{" + string(rune('0'+n%10)) + "})(?:[^`]|$)")
			if loc := m.FindStringSubmatchIndex(rest); n < 10 && loc != nil {
				i += n + loc[3]
				continue
			}
			b.WriteString(text[i : i+n])
			i += n
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String()
}

// FuzzSanitize: whatever goes in, nothing active comes out.
func FuzzSanitize(f *testing.F) {
	for _, seed := range []string{
		"@org/team", "```\n@a\n```", "> ```\n@org/team", "closes #1", "`a``@b`", "\\`@a\\`", "![x](y)", "<b>", "&#64;a", "- a\n  ~~~\n@b", "~~~\n@a", "`a\n@b`",
		"| `a|@b` |", "\\\\`@a`", "``` `\n@a", "[a](b:c)", "/x", "a\u200b@b", "  ```\n@a\n```\n@b",
	} {
		f.Add(seed)
	}
	active := []*regexp.Regexp{
		regexp.MustCompile(`(?:^|[^A-Za-z0-9])@[A-Za-z0-9]`), regexp.MustCompile(`<`), regexp.MustCompile(`!\[`),
		regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:[\w.-]+/[\w.-]+)?#\d`), regexp.MustCompile(`(?i)\]\(\s*javascript:`), regexp.MustCompile(`&#`),
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 {
			return
		}
		out := sanitized(t, text)
		seen := outsideCode(out)
		for _, what := range active {
			if m := what.FindString(seen); m != "" {
				t.Errorf("%q is active in %q\nfrom %q\nseen as %q", m, out, text, seen)
			}
		}
		if regexp.MustCompile(`(?i)\[(?:skip ci|ci skip|no ci)\]|(?:^|\n)/[a-z]`).MatchString(out) {
			t.Errorf("a command is left in %q from %q", out, text)
		}
		if out != visible(out) {
			t.Errorf("something hidden is left in %q", out)
		}
	})
}
