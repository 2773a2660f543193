package agent

import (
	"regexp"
	"strings"
)

// Some models write a unified diff in spite of what they were told. Its hunks say the same as
// blocks do, so they are turned into blocks, which the edit engine then matches as strictly as any.

var (
	oldFile = regexp.MustCompile(`^--- (?:a/)?([^\t]+?)\s*(?:\t.*)?$`)
	newFile = regexp.MustCompile(`^\+\+\+ (?:b/)?([^\t]+?)\s*(?:\t.*)?$`)
	hunk    = regexp.MustCompile(`^@@(?: |$)`)
)

const devNull = "/dev/null"

// diffToBlocks rewrites the unified diffs of a reply as edit blocks and leaves its other lines as
// they are; ok is false where there is none, or one that deletes what it does not show.
func diffToBlocks(reply string) (blocks string, ok bool) {
	lines := strings.Split(strings.ReplaceAll(reply, "\r\n", "\n"), "\n")
	var out []string
	file := ""
	for i := 0; i < len(lines); i++ {
		if i+1 < len(lines) {
			before, after := oldFile.FindStringSubmatch(lines[i]), newFile.FindStringSubmatch(lines[i+1])
			if before != nil && after != nil {
				i++
				file = after[1]
				if file == devNull {
					out = append(out, before[1]+" (delete)")
					file, ok = "", true
				}
				continue
			}
		}
		if file == "" || !hunk.MatchString(lines[i]) {
			out = append(out, lines[i])
			continue
		}
		search, replace, end := readHunk(lines, i+1)
		if len(search)+len(replace) > 0 {
			out = append(out, file, "<<<<<<< SEARCH")
			out = append(append(out, search...), "=======")
			out = append(append(out, replace...), ">>>>>>> REPLACE")
			ok = true
		}
		i = end - 1
	}
	return strings.Join(out, "\n"), ok
}

// readHunk reads the lines of a hunk from start on and returns both sides and where it ends.
func readHunk(lines []string, start int) (search, replace []string, end int) {
	blank := 0 // empty lines at the end, which may be context or not belong to the hunk at all
	for end = start; end < len(lines); end++ {
		line := lines[end]
		if line == "" {
			blank++
			continue
		}
		if strings.IndexByte(" +-\\", line[0]) < 0 || endsHunk(lines, end) {
			break
		}
		for ; blank > 0; blank-- {
			search, replace = append(search, ""), append(replace, "")
		}
		switch line[0] {
		case ' ':
			search, replace = append(search, line[1:]), append(replace, line[1:])
		case '-':
			search = append(search, line[1:])
		case '+':
			replace = append(replace, line[1:])
		}
	}
	return search, replace, end
}

// endsHunk says whether the next file's head begins at a line.
func endsHunk(lines []string, at int) bool {
	return at+1 < len(lines) && oldFile.MatchString(lines[at]) && newFile.MatchString(lines[at+1])
}
