package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/prompts"
)

const (
	// maxHits and maxEntries bound the lines of a search and of a listing.
	maxHits    = 40
	maxEntries = 200
	// maxHit bounds a line of a search, in bytes.
	maxHit = 240
	// runTimeout and runOutput bound a command of the model: one test, not a whole suite.
	runTimeout = 3 * time.Minute
	runOutput  = 1 << 20
	// outputHead and outputTail are what is shown of a long output, in bytes; the end matters
	// more, since tools sum up there.
	outputHead = 1_500
	outputTail = 4_500
)

// The prefixes of things that read_file reads besides files.
const (
	logPrefix    = "log:"
	outputPrefix = "output:"
)

// otherNames are the names under which models know the arguments from elsewhere.
var otherNames = map[string][]string{
	"path":     {"file", "file_path", "filepath", "filename", "file_name"},
	"start":    {"start_line", "line_start", "from", "line", "offset", "begin"},
	"end":      {"end_line", "line_end", "to"},
	"pattern":  {"query", "regex", "regexp", "search", "text", "keyword"},
	"glob":     {"include", "file_pattern", "files"},
	"dir":      {"directory", "path", "folder"},
	"command":  {"cmd", "script", "code"},
	"question": {"text", "message", "query"},
	"choices":  {"options"},
	"reason":   {"why", "explanation"},
	"message":  {"answer", "result", "summary", "text", "final_answer"},
}

// decodeArguments reads an action's arguments, tolerant of other names, of numbers and lists in
// strings, and of a command in a list of words.
func decodeArguments(raw json.RawMessage) (arguments, error) {
	var loose map[string]any
	if json.Unmarshal(raw, &loose) != nil {
		return arguments{}, errors.New("the arguments are no JSON object; send the action again with them as one, complete")
	}
	for name, others := range otherNames {
		for _, other := range others {
			if value, present := loose[other]; present && loose[name] == nil {
				loose[name] = value
			}
		}
	}
	for _, key := range []string{"start", "end"} {
		n := 0
		if _, err := fmt.Sscan(fmt.Sprint(loose[key]), &n); err != nil {
			delete(loose, key)
			continue
		}
		loose[key] = n
	}
	if choices, isText := loose["choices"].(string); isText {
		loose["choices"] = strings.Split(choices, "\n")
	}
	if words, isList := loose["command"].([]any); isList {
		loose["command"] = commandOf(words)
	}
	again, err := json.Marshal(loose)
	if err != nil {
		return arguments{}, fmt.Errorf("write the arguments anew: %w", err)
	}
	var a arguments
	if err := json.Unmarshal(again, &a); err != nil {
		return arguments{}, fmt.Errorf("the arguments do not fit: %w", err)
	}
	return a, nil
}

// commandOf makes one line of a command in words: what a shell gets with -c is the line itself.
func commandOf(words []any) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = fmt.Sprint(word)
	}
	const shellForm = 3 // bash -lc LINE
	if len(list) == shellForm && strings.HasPrefix(list[1], "-") && strings.HasSuffix(list[1], "c") {
		return list[2]
	}
	for i, word := range list {
		if word == "" || strings.ContainsAny(word, shellSigns+" \t") {
			list[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(list, " ")
}

// look carries out one of the actions that bring something back. What goes wrong with it is its
// result: the model is told, and goes on. An error ends the round.
func (t *turn) look(ctx context.Context, name actionName, a arguments) (string, error) {
	switch name {
	case actRead:
		return t.readFile(ctx, a)
	case actSearch:
		return t.searchCode(ctx, a)
	case actList:
		return t.listFiles(a.Dir), nil
	case actRun:
		return t.runCommand(ctx, a.Command)
	case actAsk, actApproval, actGiveUp, actFinal:
	}
	return prompts.Correct(prompts.TurnUnknown, prompts.TurnData{Action: string(name), Known: knownActions()})
}

func knownActions() []string {
	names := make([]string, len(actionNames))
	for i, n := range actionNames {
		names[i] = string(n)
	}
	return names
}

func (t *turn) readFile(ctx context.Context, a arguments) (string, error) {
	if name, ok := strings.CutPrefix(a.Path, logPrefix); ok {
		if t.request.Log == nil {
			return "there are no logs", nil
		}
		log, found := t.request.Log(name)
		if !found {
			return "there is no log " + name, nil
		}
		return prompts.Data("Log", excerpt(a.Path, string(log), a.Start, a.End)), nil
	}
	if output, ok := t.outputs[a.Path]; ok {
		return prompts.Data("Output", excerpt(a.Path, output, a.Start, a.End)), nil
	}
	content, err := readWorktree(t.root, a.Path)
	if err != nil {
		return err.Error() + t.similar(a.Path), nil
	}
	shown := excerpt(a.Path, string(content), a.Start, a.End)
	if a.Start == 0 && a.End == 0 && strings.Count(string(content), "\n") > maxLines && t.survey.exists(a.Path) {
		// Of a long file the symbols with their lines come along, to read on where it matters.
		outline, err := t.survey.index.Outline(ctx, t.survey.tree, a.Path)
		if err != nil {
			return "", fmt.Errorf("outline %s: %w", a.Path, err)
		}
		if outline != "" {
			shown = "Outline:\n" + prompts.Cut(outline, maxText/4) + "\n\n" + shown
		}
	}
	return prompts.Data("File", shown), nil
}

// similar names files with the same base name, for a path that does not exist.
func (t *turn) similar(p string) string {
	const few = 4
	same := t.survey.endingIn(path.Base(p))
	if len(same) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(same[:min(len(same), few)], " or ") + "?"
}

func (t *turn) searchCode(ctx context.Context, a arguments) (string, error) {
	if strings.TrimSpace(a.Pattern) == "" {
		return "the pattern is empty", nil
	}
	form, err := regexp.Compile(a.Pattern)
	note := ""
	if err != nil {
		note = "(not a regular expression, so searched as plain text)\n"
		a.Pattern = regexp.QuoteMeta(a.Pattern)
		form = regexp.MustCompile(a.Pattern)
	}
	found, err := t.survey.index.Search(ctx, t.survey.tree, a.Pattern, a.Glob, maxHits)
	if err != nil {
		return "the search failed: " + err.Error(), nil
	}
	// What was edited in this round is searched as it is now.
	var lines []string
	for _, hit := range found.Lines {
		file, _, _ := strings.Cut(hit, ":")
		if !slices.Contains(t.edited, file) && !secretFile(file) {
			lines = append(lines, prompts.Cut(hit, maxHit))
		}
	}
	missing := found.Count - len(found.Lines)
	for _, file := range t.edited {
		content, err := readWorktree(t.root, file)
		if err != nil {
			continue
		}
		for i, line := range strings.Split(string(content), "\n") {
			if form.MatchString(line) {
				lines = append(lines, fmt.Sprintf("%s:%d: %s", file, i+1, cutLine(line)))
			}
		}
	}
	switch {
	case len(lines) == 0:
		return note + "no line matches", nil
	case len(lines) > maxHits:
		missing += len(lines) - maxHits
		lines = lines[:maxHits]
	}
	if missing > 0 {
		about := ""
		if found.More {
			about = "more than "
		}
		note += fmt.Sprintf("%s%d lines match in %d files, %d of them are shown; narrow it by a longer pattern or by a glob such as %s\n",
			about, len(lines)+missing, found.Files, len(lines), globFor(lines[0]))
	}
	return note + prompts.Data("Matches", strings.Join(lines, "\n")), nil
}

// globFor is a glob that fits the file of a hit and those beside it.
func globFor(hit string) string {
	file, _, _ := strings.Cut(hit, ":")
	return path.Join(path.Dir(file), "*"+path.Ext(file))
}

func cutLine(line string) string {
	if len(line) > maxHit {
		return cutText(line, maxHit) + "…"
	}
	return line
}

// listFiles shows one directory of the commit.
func (t *turn) listFiles(dir string) string {
	list := t.survey.list(dir)
	if list == "" {
		return "there is no directory " + strings.TrimSpace(dir)
	}
	return prompts.Data("Directory", list)
}

// shellSigns are what makes a command more than a program with arguments.
const shellSigns = ";&|<>$`(){}[]*?!~\\\"'\n\r\x00#="

// allowed turns a command into what the sandbox runs: by the shell where anything may run, since
// the sandbox is the boundary, and as plain words where there is a list.
func (t *turn) allowed(command string) (args []string, refusal string) {
	if len(t.config.Commands) == 0 {
		return []string{"sh", "-c", command}, ""
	}
	list := strings.Join(t.config.Commands, ", ")
	if strings.ContainsAny(command, shellSigns) {
		return nil, "only plain commands without shell signs may be run, and only: " + list
	}
	args = strings.Fields(command)
	for _, c := range t.config.Commands {
		start := strings.Fields(c)
		if len(start) > 0 && len(args) >= len(start) && slices.Equal(args[:len(start)], start) {
			return args, ""
		}
	}
	return nil, "this command may not be run; those that may begin with: " + list
}

func (t *turn) runCommand(ctx context.Context, command string) (string, error) {
	if strings.TrimSpace(command) == "" {
		return "the command is empty", nil
	}
	args, refusal := t.allowed(command)
	if refusal != "" {
		return refusal, nil
	}
	limits := loop.CommandLimits{Timeout: runTimeout, Output: runOutput, Memory: t.request.Config.Sandbox.Memory, CPUs: t.request.Config.Sandbox.CPUs}
	dir := t.request.Clone.Dir()
	result, err := t.request.Runner.Run(ctx, loop.Command{Args: args, Dir: dir, Limits: limits})
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "the command could not be run: " + err.Error(), nil
	}
	output := strings.TrimRight(string(result.Stdout), "\n")
	if len(result.Stderr) > 0 {
		output += "\n" + strings.TrimRight(string(result.Stderr), "\n")
	}
	// Paths inside the sandbox mean nothing to the other actions.
	if inside := t.request.Runner.InsidePath(dir, dir); inside != "" && inside != "/" {
		output = strings.ReplaceAll(output, strings.TrimSuffix(inside, "/")+"/", "")
	}
	output = strings.Trim(output, "\n")
	t.ran++
	name := fmt.Sprintf("%s%d", outputPrefix, t.ran)
	t.outputs[name] = output
	head := fmt.Sprintf("exit code %d", result.ExitCode)
	if result.Reason != loop.EndExited {
		head += " (" + string(result.Reason) + ")"
	}
	if output == "" {
		return head + ", no output", nil
	}
	return head + "\n" + prompts.Data("Output", middleOut(output, name)), nil
}

// middleOut leaves out the middle of a long output and says how to read it.
func middleOut(output, name string) string {
	if len(output) <= outputHead+outputTail {
		return output
	}
	head := cutText(output, outputHead)
	if at := strings.LastIndexByte(head, '\n'); at > 0 {
		head = head[:at]
	}
	tail := strings.ToValidUTF8(output[len(output)-outputTail:], "")
	if at := strings.IndexByte(tail, '\n'); at >= 0 && at < len(tail)-1 {
		tail = tail[at+1:]
	}
	return fmt.Sprintf("%s\n… (the middle is left out: read_file %s, start %d) …\n%s", head, name, strings.Count(head, "\n")+2, tail)
}
