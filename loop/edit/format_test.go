package edit_test

import (
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop/edit"
)

var abc = files{"a.txt": "one\ntwo\nthree\n", "src/b.txt": "one\ntwo\nthree\n"}

func with(changes files) files {
	tree := files{}
	for k, v := range abc {
		tree[k] = v
	}
	for k, v := range changes {
		if v == "-" {
			delete(tree, k)
		} else {
			tree[k] = v
		}
	}
	return tree
}

const two = "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n"

// How models name the path. Each of these changes src/b.txt.
func TestPathForms(t *testing.T) {
	forms := map[string]string{
		"plain":                           "src/b.txt\n" + two,
		"leading dot slash":               "./src/b.txt\n" + two,
		"doubled slash":                   "src//b.txt\n" + two,
		"trailing space":                  "src/b.txt  \n" + two,
		"blank line between":              "src/b.txt\n\n" + two,
		"backticks":                       "`src/b.txt`\n" + two,
		"bold":                            "**src/b.txt**\n" + two,
		"bold backticks":                  "**`src/b.txt`**\n" + two,
		"quotes":                          "\"src/b.txt\"\n" + two,
		"label":                           "File: src/b.txt\n" + two,
		"label in lower case":             "file: src/b.txt\n" + two,
		"label and backticks":             "File: `src/b.txt`\n" + two,
		"bold label":                      "**File:** `src/b.txt`\n" + two,
		"bold label, colon outside":       "**File**: src/b.txt\n" + two,
		"bold label and path":             "**File: src/b.txt**\n" + two,
		"path label":                      "Path: src/b.txt\n" + two,
		"filename label":                  "Filename: src/b.txt\n" + two,
		"heading":                         "### src/b.txt\n" + two,
		"heading with backticks":          "## `src/b.txt`\n" + two,
		"heading with label":              "#### File: `src/b.txt`\n" + two,
		"heading with number":             "### 1. `src/b.txt`\n" + two,
		"trailing colon":                  "src/b.txt:\n" + two,
		"backticks and colon":             "`src/b.txt`:\n" + two,
		"list item":                       "- src/b.txt\n" + two,
		"numbered":                        "1. `src/b.txt`\n" + two,
		"note":                            "src/b.txt (edit)\n" + two,
		"comment":                         "// src/b.txt\n" + two,
		"hash comment":                    "# src/b.txt\n" + two,
		"html comment":                    "<!-- src/b.txt -->\n" + two,
		"on the marker":                   strings.Replace(two, "SEARCH", "SEARCH src/b.txt", 1),
		"on the marker in backticks":      strings.Replace(two, "SEARCH", "SEARCH `src/b.txt`", 1),
		"fence below path":                "src/b.txt\n```\n" + two + "```\n",
		"fence with language":             "src/b.txt\n```text\n" + two + "```\n",
		"fence above path":                "```\nsrc/b.txt\n" + two + "```\n",
		"fence of tildes":                 "src/b.txt\n~~~\n" + two + "~~~\n",
		"long fence":                      "src/b.txt\n`````go\n" + two + "`````\n",
		"fence info":                      "```src/b.txt\n" + two + "```\n",
		"fence info after language":       "```text src/b.txt\n" + two + "```\n",
		"fence info with colon":           "```text:src/b.txt\n" + two + "```\n",
		"fence title":                     "```text title=\"src/b.txt\"\n" + two + "```\n",
		"fence file attribute":            "```text file=src/b.txt\n" + two + "```\n",
		"fence info and same path":        "src/b.txt\n```text src/b.txt\n" + two + "```\n",
		"path in fence, comment":          "```text\n// src/b.txt\n" + two + "```\n",
		"blank line in fence":             "src/b.txt\n```\n\n" + two + "\n```\n",
		"prose before":                    "I change a.txt no more.\n\nsrc/b.txt\n" + two,
		"prose between path and block":    "src/b.txt\n\nWrite the number as a digit:\n\n" + two,
		"fence before prose":              "```go\nx := 1\n```\nNow:\n\nsrc/b.txt\n" + two,
		"root cause and files first":      "ROOT CAUSE: the digit.\nFILES:\n- src/b.txt\n\nsrc/b.txt\n" + two,
		"files alone on lines":            "FILES:\nsrc/b.txt\n\n" + two,
		"byte order mark":                 "\ufeffsrc/b.txt\n" + two,
		"lost last newline":               "src/b.txt\n" + strings.TrimSuffix(two, "\n"),
		"carriage returns":                strings.ReplaceAll("src/b.txt\n"+two, "\n", "\r\n"),
		"carriage returns, newline lost":  strings.ReplaceAll("src/b.txt\n"+strings.TrimSuffix(two, "\n"), "\n", "\r\n"),
		"five characters":                 "src/b.txt\n<<<<< SEARCH\ntwo\n=====\n2\n>>>>> REPLACE\n",
		"six characters":                  "src/b.txt\n<<<<<< SEARCH\ntwo\n======\n2\n>>>>>> REPLACE\n",
		"nine characters":                 "src/b.txt\n<<<<<<<<< SEARCH\ntwo\n=========\n2\n>>>>>>>>> REPLACE\n",
		"original and updated":            "src/b.txt\n<<<<<<< ORIGINAL\ntwo\n=======\n2\n>>>>>>> UPDATED\n",
		"head and updated":                "src/b.txt\n<<<<<<< HEAD\ntwo\n=======\n2\n>>>>>>> UPDATED\n",
		"lower case markers":              "src/b.txt\n<<<<<<< search\ntwo\n=======\n2\n>>>>>>> replace\n",
		"no space in markers":             "src/b.txt\n<<<<<<<SEARCH\ntwo\n=======\n2\n>>>>>>>REPLACE\n",
		"trailing space behind markers":   "src/b.txt\n<<<<<<< SEARCH \ntwo\n======= \n2\n>>>>>>> REPLACE \n",
		"bare closing marker":             "src/b.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>>\n",
		"block indented in a list":        "1. Digit:\n\n   src/b.txt\n   <<<<<<< SEARCH\n   two\n   =======\n   2\n   >>>>>>> REPLACE\n",
		"unclosed fence":                  "src/b.txt\n```\n" + two,
		"text behind":                     "src/b.txt\n" + two + "That is all. See a.txt.\n",
		"file name mentioned in the text": "The file a.txt is fine, b is not.\nsrc/b.txt\n" + two,
	}
	for name, reply := range forms {
		t.Run(name, func(t *testing.T) {
			dir := plant(t, abc)
			result := apply(t, dir, reply, edit.Options{})
			if len(result.Applied) != 1 || result.Applied[0].Path != "src/b.txt" || result.Applied[0].Op != edit.OpEdit || result.Applied[0].Line != 2 {
				t.Errorf("%s\n%+v", reply, result)
			}
			sameTree(t, harvest(t, dir), with(files{"src/b.txt": "one\n2\nthree\n"}))
		})
	}
}

func TestReplies(t *testing.T) {
	bare := files{"Makefile": "two\n", "LICENSE": "two\n", "weird": "two\n", "my file.txt": "two\n", "docs/a b.md": "two\n"}
	plus := func(name, content string) files {
		tree := files{}
		for k, v := range bare {
			tree[k] = v
		}
		tree[name] = content
		return tree
	}
	runScenarios(t, map[string]scenario{
		"several blocks under one path": {abc, block("a.txt", "one\n", "1\n") + two, with(files{"a.txt": "1\n2\nthree\n"}),
			"edit a.txt exact 1; edit a.txt exact 2", ""},
		"several blocks, prose between": {abc, block("a.txt", "one\n", "1\n") + "\nThen the second number:\n\n" + two,
			with(files{"a.txt": "1\n2\nthree\n"}), "edit a.txt exact 1; edit a.txt exact 2", ""},
		"several files": {abc, block("a.txt", "one\n", "1\n") + block("src/b.txt", "one\n", "1\n"),
			with(files{"a.txt": "1\ntwo\nthree\n", "src/b.txt": "1\ntwo\nthree\n"}), "edit a.txt exact 1; edit src/b.txt exact 1", ""},
		"a path left out, another file named in the prose": {abc, block("a.txt", "one\n", "1\n") + "The same in src/b.txt:\n\n" + two, nil,
			"error ambiguous 2 a.txt", "src/b.txt"},
		"another file named in the prose, where it does not match": {files{"a.txt": "one\ntwo\n", "b.txt": "three\n"},
			block("a.txt", "one\n", "1\n") + "As b.txt has it:\n\n" + two, files{"a.txt": "1\n2\n", "b.txt": "three\n"},
			"edit a.txt exact 1; edit a.txt exact 2", ""},
		"a path between prose lines, another file named": {abc, "a.txt\n\nLike in src/b.txt we write\n" + two, nil, "error ambiguous 1 a.txt", ""},
		"create below prose that names a new file": {abc, block("a.txt", "one\n", "1\n") + "And src/new.txt:\nx\n" + block("", "", "n\n"), nil,
			"error conflict 2 a.txt", ""},
		"no block":                     {abc, "I would change a.txt.\n", nil, "error malformed 1 ", "no block"},
		"empty reply":                  {abc, "", nil, "error malformed 1 ", ""},
		"only a path":                  {abc, "a.txt\n", nil, "error malformed 1 ", ""},
		"a diff instead":               {abc, "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+2\n", nil, "error malformed 1 ", ""},
		"no path":                      {abc, two, nil, "error malformed 1 ", "no path"},
		"only prose above":             {abc, "Change the number in this way:\n" + two, nil, "error malformed 1 ", "no path"},
		"path in prose":                {abc, "Change a.txt like this:\n" + two, nil, "error malformed 1 ", "no path"},
		"path at the prose's end":      {abc, "Please look at a.txt\n" + two, nil, "error malformed 1 ", "no path"},
		"url above":                    {abc, "https://example.org/a.txt\n" + two, nil, "error malformed 1 ", ""},
		"two paths":                    {abc, "a.txt\n```text src/b.txt\n" + two + "```\n", nil, "error malformed 1 src/b.txt", "two paths"},
		"marker and line differ":       {abc, "a.txt\n" + strings.Replace(two, "SEARCH", "SEARCH src/b.txt", 1), nil, "error malformed 1 src/b.txt", "two paths"},
		"no divider":                   {abc, "a.txt\n<<<<<<< SEARCH\ntwo\n>>>>>>> REPLACE\n", nil, "error malformed 1 a.txt", "no divider"},
		"not closed":                   {abc, "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n", nil, "error malformed 1 a.txt", "not closed"},
		"cut in SEARCH":                {abc, "a.txt\n<<<<<<< SEARCH\ntw", nil, "error malformed 1 a.txt", "not closed"},
		"first block not closed":       {abc, "a.txt\n<<<<<<< SEARCH\none\n=======\n1\n\n" + two, nil, "error malformed 1 a.txt", "not closed"},
		"sound block beside a cut one": {abc, block("a.txt", "one\n", "1\n") + "<<<<<<< SEARCH\ntwo\n=======\n2", nil, "error malformed 2 a.txt", ""},
		"markers of unequal length":    {abc, "a.txt\n<<<<<<< SEARCH\ntwo\n======\n2\n>>>>>>> REPLACE\n", nil, "error malformed 1 a.txt", ""},
		"closing marker too short":     {abc, "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>> REPLACE\n", nil, "error malformed 1 a.txt", ""},
		"four characters":              {abc, "a.txt\n<<<< SEARCH\ntwo\n====\n2\n>>>> REPLACE\n", nil, "error malformed 1 a.txt", "4 characters"},
		"ten characters":               {abc, "a.txt\n<<<<<<<<<< SEARCH\ntwo\n==========\n2\n>>>>>>>>>> REPLACE\n", nil, "error malformed 1 a.txt", ""},
		"wrong length beside a sound block": {abc, block("a.txt", "one\n", "1\n") + "a.txt\n<<<< SEARCH\ntwo\n====\n2\n>>>> REPLACE\n", nil,
			"error malformed 2 a.txt", ""},
		"stray closing marker":            {abc, block("a.txt", "one\n", "1\n") + "x\n>>>>>>> REPLACE\n", nil, "error malformed 2 a.txt", "outside of any block"},
		"marker quoted in prose":          {abc, "The `<<<<<<< SEARCH` marker opens a block.\n\n" + block("a.txt", "one\n", "1\n"), with(files{"a.txt": "1\ntwo\nthree\n"}), "edit a.txt exact 1", ""},
		"prose like a divider":            {abc, "Summary\n=======\n\n" + block("a.txt", "one\n", "1\n"), with(files{"a.txt": "1\ntwo\nthree\n"}), "edit a.txt exact 1", ""},
		"customary bare name":             {bare, "Makefile\n" + two, plus("Makefile", "2\n"), "edit Makefile exact 1", ""},
		"bare name that exists":           {bare, "weird\n" + two, plus("weird", "2\n"), "edit weird exact 1", ""},
		"bare word after a path":          {bare, block("LICENSE", "two\n", "three\n") + "Then\n" + block("", "three\n", "2\n"), plus("LICENSE", "2\n"), "edit LICENSE exact 1; edit LICENSE exact 1", ""},
		"path with a space":               {bare, "my file.txt\n" + two, plus("my file.txt", "2\n"), "edit my file.txt exact 1", ""},
		"path with a space in backticks":  {bare, "`docs/a b.md`\n" + two, plus("docs/a b.md", "2\n"), "edit docs/a b.md exact 1", ""},
		"new path with a space":           {bare, block("docs/c d.md", "", "new\n"), plus("docs/c d.md", "new\n"), "create docs/c d.md exact 1", ""},
		"new path with a space and label": {bare, block("File: x/c d.md", "", "new\n"), plus("x/c d.md", "new\n"), "create x/c d.md exact 1", ""},
		"package with underscores":        {abc, block("src/__init__.py", "", ""), with(files{"src/__init__.py": ""}), "create src/__init__.py exact 1", ""},
		"hidden file":                     {abc, block(".gitignore", "", "*.o\n"), with(files{".gitignore": "*.o\n"}), "create .gitignore exact 1", ""},
		"heading between blocks":          {abc, block("a.txt", "one\n", "1\n") + "\n### Changes\n\n" + two, with(files{"a.txt": "1\n2\nthree\n"}), "edit a.txt exact 1; edit a.txt exact 2", ""},
		"unknown extension":               {abc, block("a.txt", "one\n", "1\n") + block("data.xyz", "", "new\n"), with(files{"a.txt": "1\ntwo\nthree\n", "data.xyz": "new\n"}), "edit a.txt exact 1; create data.xyz exact 1", ""},
	})
}

func TestDeleteAndRename(t *testing.T) {
	gone := with(files{"a.txt": "-"})
	moved := with(files{"a.txt": "-", "c/d.txt": "one\ntwo\nthree\n"})
	runScenarios(t, map[string]scenario{
		"delete":                             {abc, "a.txt (delete)\n", gone, "delete a.txt exact 1", ""},
		"delete without newline":             {abc, "a.txt (delete)", gone, "delete a.txt exact 1", ""},
		"delete, path in backticks":          {abc, "`a.txt` (delete)\n", gone, "delete a.txt exact 1", ""},
		"delete, all in backticks":           {abc, "`a.txt (delete)`\n", gone, "delete a.txt exact 1", ""},
		"delete in bold":                     {abc, "**a.txt** (delete)\n", gone, "delete a.txt exact 1", ""},
		"delete, all in bold":                {abc, "**a.txt (delete)**\n", gone, "delete a.txt exact 1", ""},
		"delete with label":                  {abc, "File: a.txt (delete)\n", gone, "delete a.txt exact 1", ""},
		"delete as heading":                  {abc, "### a.txt (delete)\n", gone, "delete a.txt exact 1", ""},
		"delete with dot slash":              {abc, "./a.txt (delete)\r\n", gone, "delete a.txt exact 1", ""},
		"delete in a fence of its own":       {abc, "```\na.txt (delete)\n```\n", gone, "delete a.txt exact 1", ""},
		"delete in a fence with a block":     {abc, "```\na.txt (delete)\n" + block("src/b.txt", "two\n", "2\n") + "```\n", with(files{"a.txt": "-", "src/b.txt": "one\n2\nthree\n"}), "delete a.txt exact 1; edit src/b.txt exact 2", ""},
		"delete in a listing":                {abc, "```\n$ git status\na.txt (delete)\n```\n" + block("src/b.txt", "two\n", "2\n"), with(files{"src/b.txt": "one\n2\nthree\n"}), "edit src/b.txt exact 2", ""},
		"delete in prose":                    {abc, "I left out a.txt (delete)\n" + block("src/b.txt", "two\n", "2\n"), with(files{"src/b.txt": "one\n2\nthree\n"}), "edit src/b.txt exact 2", ""},
		"delete in a list":                   {abc, "- a.txt (delete)\n" + block("src/b.txt", "two\n", "2\n"), with(files{"src/b.txt": "one\n2\nthree\n"}), "edit src/b.txt exact 2", ""},
		"delete in a quotation":              {abc, "> a.txt (delete)\n" + block("src/b.txt", "two\n", "2\n"), with(files{"src/b.txt": "one\n2\nthree\n"}), "edit src/b.txt exact 2", ""},
		"deleted in a summary":               {abc, block("src/b.txt", "two\n", "2\n") + "a.txt (deleted)\n", with(files{"src/b.txt": "one\n2\nthree\n"}), "edit src/b.txt exact 2", ""},
		"delete within a block is content":   {abc, block("src/b.txt", "two\n", "a.txt (delete)\n"), with(files{"src/b.txt": "one\na.txt (delete)\nthree\n"}), "edit src/b.txt exact 2", ""},
		"rename within a block is content":   {abc, block("src/b.txt", "two\n", "a.txt -> z.txt\n"), with(files{"src/b.txt": "one\na.txt -> z.txt\nthree\n"}), "edit src/b.txt exact 2", ""},
		"delete said twice":                  {abc, "a.txt (delete)\n\na.txt (delete)\n", gone, "delete a.txt exact 1", ""},
		"delete what is not there":           {abc, "b.txt (delete)\n", nil, "error not-found 1 b.txt", "src/b.txt"},
		"delete a folder":                    {abc, "src (delete)\n", nil, "error conflict 1 src", "folder"},
		"block after a delete without path":  {abc, "a.txt (delete)\n" + two, nil, "error malformed 2 ", "no path"},
		"edit after delete":                  {abc, "a.txt (delete)\n" + block("a.txt", "one\n", "1\n"), nil, "error not-found 2 a.txt", "deleted by an earlier block"},
		"create after delete":                {abc, "a.txt (delete)\n" + block("a.txt", "", "new\n"), with(files{"a.txt": "new\n"}), "delete a.txt exact 1; create a.txt exact 1", ""},
		"edit, then delete":                  {abc, block("a.txt", "one\n", "1\n") + "\na.txt (delete)\n", gone, "edit a.txt exact 1; delete a.txt exact 1", ""},
		"create, then delete":                {abc, block("n.txt", "", "new\n") + "\nn.txt (delete)\n", abc, "create n.txt exact 1; delete n.txt exact 1", ""},
		"rename":                             {abc, "a.txt -> c/d.txt\n", moved, "rename a.txt exact 1", ""},
		"rename, each in backticks":          {abc, "`a.txt` -> `c/d.txt`\n", moved, "rename a.txt exact 1", ""},
		"rename, all in backticks":           {abc, "`a.txt -> c/d.txt`\n", moved, "rename a.txt exact 1", ""},
		"rename in bold":                     {abc, "**a.txt -> c/d.txt**\n", moved, "rename a.txt exact 1", ""},
		"rename as heading":                  {abc, "## a.txt -> c/d.txt\n", moved, "rename a.txt exact 1", ""},
		"rename with label":                  {abc, "File: a.txt -> c/d.txt\n", moved, "rename a.txt exact 1", ""},
		"rename in a fence of its own":       {abc, "```\na.txt -> c/d.txt\n```\n", moved, "rename a.txt exact 1", ""},
		"rename in a listing":                {abc, "```\nrenamed:\n  a.txt -> c/d.txt\n```\n" + block("src/b.txt", "two\n", "2\n"), with(files{"src/b.txt": "one\n2\nthree\n"}), "edit src/b.txt exact 2", ""},
		"rename in prose":                    {abc, "I thought of a.txt -> c/d.txt here\n" + block("src/b.txt", "two\n", "2\n"), with(files{"src/b.txt": "one\n2\nthree\n"}), "edit src/b.txt exact 2", ""},
		"versions in prose":                  {abc, "v1.2 -> v1.3\n" + block("src/b.txt", "two\n", "2\n"), with(files{"src/b.txt": "one\n2\nthree\n"}), "edit src/b.txt exact 2", ""},
		"functions in prose":                 {abc, "os.Open -> root.Open\n\nIdle -> Running\n" + block("src/b.txt", "two\n", "2\n"), with(files{"src/b.txt": "one\n2\nthree\n"}), "edit src/b.txt exact 2", ""},
		"only arrows in prose":               {abc, "Idle -> Running\n", nil, "error malformed 1 ", "no block"},
		"rename and edit under the new name": {abc, "a.txt -> c/d.txt\n" + block("c/d.txt", "two\n", "2\n"), with(files{"a.txt": "-", "c/d.txt": "one\n2\nthree\n"}), "rename a.txt exact 1; edit c/d.txt exact 2", ""},
		"rename and edit without a path":     {abc, "a.txt -> c/d.txt\n" + two, with(files{"a.txt": "-", "c/d.txt": "one\n2\nthree\n"}), "rename a.txt exact 1; edit c/d.txt exact 2", ""},
		"rename and edit under the old name": {abc, "a.txt -> c/d.txt\n" + block("a.txt", "two\n", "2\n"), nil, "error not-found 2 a.txt", "renamed to c/d.txt"},
		"edit, then rename":                  {abc, block("a.txt", "two\n", "2\n") + "\na.txt -> c/d.txt\n", with(files{"a.txt": "-", "c/d.txt": "one\n2\nthree\n"}), "edit a.txt exact 2; rename a.txt exact 1", ""},
		"rename of what is not there":        {abc, "src/z.txt -> c/d.txt\n", nil, "error not-found 1 src/z.txt", ""},
		"rename onto a file":                 {abc, "a.txt -> src/b.txt\n", nil, "error conflict 1 a.txt", "exists already"},
		"rename onto itself":                 {abc, "a.txt -> ./a.txt\n", nil, "error conflict 1 a.txt", ""},
		"rename into a file":                 {abc, "a.txt -> src/b.txt/c.txt\n", nil, "error conflict 1 a.txt", "is a file"},
		"rename onto a deleted file":         {abc, "src/b.txt (delete)\na.txt -> src/b.txt\n", with(files{"a.txt": "-"}), "delete src/b.txt exact 1; rename a.txt exact 1", ""},
		"rename in a circle":                 {files{"a.txt": "a\n", "b.txt": "b\n"}, "a.txt -> t.txt\nb.txt -> a.txt\nt.txt -> b.txt\n", files{"a.txt": "b\n", "b.txt": "a\n"}, "rename a.txt exact 1; rename b.txt exact 1; rename t.txt exact 1", ""},
		"rename there and back":              {abc, "a.txt -> t.txt\nt.txt -> a.txt\n", abc, "rename a.txt exact 1; rename t.txt exact 1", ""},
		"rename that changes case":           {abc, "a.txt -> A.txt\n", with(files{"a.txt": "-", "A.txt": "one\ntwo\nthree\n"}), "rename a.txt exact 1", ""},
		"rename of a folder":                 {abc, "src/ -> lib/\n", nil, "error unsafe-path 1 src/", "folder"},
		"rename of a binary file":            {files{"a.png": "\x89PNG\x00"}, "a.png -> img/a.png\n", files{"img/a.png": "\x89PNG\x00"}, "rename a.png exact 1", ""},
		"delete of a binary file":            {files{"a.png": "\x89PNG\x00"}, "a.png (delete)\n", files{}, "delete a.png exact 1", ""},
	})
}

// Content that looks like the block's own divider: the division counts whose SEARCH matches uniquely.
func TestDividerInContent(t *testing.T) {
	doc := files{"README.md": "Title\n=====\n\nUsage\n=======\n\nold text\n\nMore\n=======\n"}
	twice := files{"r.rst": "Usage\n=======\n\nold\n\nUsage\n=======\n\nnew\n"}
	runScenarios(t, map[string]scenario{
		"divider-like line in REPLACE": {doc, block("README.md", "old text\n", "new text\n\nHeading\n=======\n"),
			files{"README.md": "Title\n=====\n\nUsage\n=======\n\nnew text\n\nHeading\n=======\n\nMore\n=======\n"}, "edit README.md exact 7", ""},
		"divider-like line in SEARCH, its beginning found twice": {twice, block("r.rst", "Usage\n=======\n\nold\n", "Usage\n=======\n\nolder\n"),
			files{"r.rst": "Usage\n=======\n\nolder\n\nUsage\n=======\n\nnew\n"}, "edit r.rst exact 1", ""},
		"two divisions match": {doc, block("README.md", "Usage\n=======\n\nold text\n", "new\n"), nil, "error malformed 1 README.md", "5 to 9 characters"},
		"no division matches": {doc, block("README.md", "Nothing\n=======\n", "new\n"), nil, "error malformed 1 README.md", ""},
		"markers of another length": {doc, "README.md\n<<<<< SEARCH\nUsage\n=======\n=====\nUse\n===\n>>>>> REPLACE\n",
			files{"README.md": "Title\n=====\n\nUse\n===\n\nold text\n\nMore\n=======\n"}, "edit README.md exact 4", ""},
		"new file with divider-like lines": {abc, block("new.rst", "", "Title\n=======\n\nText\n=======\n"),
			with(files{"new.rst": "Title\n=======\n\nText\n=======\n"}), "create new.rst exact 1", ""},
		"divider-like line first in SEARCH": {files{"a.rst": "=======\nTitle\n=======\n"}, block("a.rst", "=======\nTitle\n", "=======\nName\n"), nil, "error malformed 1 a.rst", ""},
		"conflict resolved with longer markers": {files{"a.txt": "x\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> topic\ny\n"},
			"a.txt\n<<<<<<<<< SEARCH\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> topic\n=========\nb\n>>>>>>>>> REPLACE\n", files{"a.txt": "x\nb\ny\n"}, "edit a.txt exact 2", ""},
		"markers of a lost block in REPLACE": {abc, "a.txt\n<<<<<<< SEARCH\none\n=======\n1\n\n<<<<<<< ORIGINAL\ntwo\n=======\n2\n>>>>>>> REPLACE\n", nil, "error malformed 1 a.txt", ""},
		"an example of a block in a document": {doc, "README.md\n<<<<<<<<< SEARCH\nold text\n=========\n" + two + ">>>>>>>>> REPLACE\n",
			files{"README.md": strings.Replace(doc["README.md"], "old text\n", two, 1)}, "edit README.md exact 7", ""},
		"fence in content": {doc, block("README.md", "old text\n", "```go\nx\n```\n"),
			files{"README.md": "Title\n=====\n\nUsage\n=======\n\n```go\nx\n```\n\nMore\n=======\n"}, "edit README.md exact 7", ""},
	})
}
