package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/handlers"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/guard"
)

var updateReadme = flag.Bool("update", false, "write the generated parts of README.md anew")

// generated are the parts of README.md that are made from the code, by name. Each stands between
// <!-- generated: NAME --> and <!-- end --> (go test ./cmd/autocode -run TestReadme -update).
var generated = map[string]func() string{
	"states":   stateDiagram,
	"rules":    ruleTable,
	"guard":    guardTable,
	"tools":    toolTable,
	"commands": commandTable,
}

// stateDiagram draws the state machine's own arrows; those to the ends, which every phase has, are in the text.
func stateDiagram() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> queued\n")
	for _, from := range loop.Phases() {
		for _, to := range loop.Followers(from) {
			everywhere := to == loop.PhaseEscalated || to == loop.PhaseStopped || to == loop.PhaseFailed
			if everywhere || from == to {
				continue
			}
			if from.Ended() {
				fmt.Fprintf(&b, "    %s --> %s: /autocode resume\n", from, to)
				continue
			}
			fmt.Fprintf(&b, "    %s --> %s\n", from, to)
		}
	}
	b.WriteString("    done --> [*]\n```")
	return b.String()
}

func ruleTable() string {
	rows := [][]string{{"rule", "applies when"}}
	for _, r := range loop.Rules() {
		rows = append(rows, []string{"`" + r[0] + "`", r[1]})
	}
	return table(rows)
}

func guardTable() string {
	rows := [][]string{{"rule", "effect", "found"}}
	for _, r := range guard.Rules() {
		rows = append(rows, []string{"`" + r.Name + "`", string(r.Severity), r.Doc})
	}
	return table(rows)
}

func toolTable() string {
	rows := [][]string{{"tool", "what is understood"}}
	for _, t := range feedback.Tools() {
		rows = append(rows, []string{"`" + t.Name + "`", t.What})
	}
	return table(append(rows, []string{"`generic`", "whatever else: messages with a place, stack traces, the last block that speaks of an error"}))
}

// commandTable is made from the same struct tags as `autocode --help`.
func commandTable() string {
	rows := [][]string{{"command", "what it does"}}
	fields := reflect.TypeFor[cli]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if _, command := f.Tag.Lookup("cmd"); !command || f.Tag.Get("hidden") != "" {
			continue
		}
		rows = append(rows, []string{"`autocode " + strings.ToLower(f.Name) + "`", f.Tag.Get("help")})
	}
	return table(rows)
}

// table is Markdown; the first row is the head.
func table(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		for j := range row {
			row[j] = strings.ReplaceAll(row[j], "|", `\|`)
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var generatedPart = regexp.MustCompile(`(?s)<!-- generated: (\w+) -->\n.*?<!-- end -->`)

// What the README says of phases, rules, guard, tools and commands is what the code says.
func TestReadmeGeneratedParts(t *testing.T) {
	old := readme(t)
	seen := map[string]bool{}
	fresh := generatedPart.ReplaceAllStringFunc(old, func(part string) string {
		name := generatedPart.FindStringSubmatch(part)[1]
		seen[name] = true
		make, known := generated[name]
		if !known {
			t.Errorf("README.md has a generated part %q that nothing makes", name)
			return part
		}
		want := fmt.Sprintf("<!-- generated: %s -->\n%s\n<!-- end -->", name, make())
		if part != want && !*updateReadme {
			t.Errorf("the part %q of README.md is not what the code says; run go test ./cmd/autocode -run TestReadme -update", name)
		}
		return want
	})
	for name := range generated {
		if !seen[name] {
			t.Errorf("README.md lacks the generated part %q", name)
		}
	}
	if *updateReadme && fresh != old {
		if err := os.WriteFile(filepath.Join(moduleRoot, "README.md"), []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// codeBlock returns the fenced block that begins with a comment line.
func codeBlock(t *testing.T, first string) string {
	t.Helper()
	_, rest, found := strings.Cut(readme(t), first+"\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("README.md has no code block that begins with %q", first)
	}
	return block
}

// The examples of both configurations are valid, and that of a repository names every section there is.
// TestReadmeReach holds each line of the table of what can be reached to tests: it names attacks, every attack that it names is
// a test, and of those about git, sandbox, paths and replies none is left out.
func TestReadmeReach(t *testing.T) {
	tested := attacksTested(t)
	section := regexp.MustCompile(`(?s)### What the model and the code can reach\n(.*?)\n### `).FindStringSubmatch(readme(t))
	if section == nil {
		t.Fatal("README.md has no section about what can be reached")
	}
	named := map[int]bool{}
	rows := regexp.MustCompile(`(?m)^\| (.+?) \|.*\| (.*?) \|$`).FindAllStringSubmatch(section[1], -1)
	for _, row := range rows {
		if row[2] == "attacks" {
			continue // the heading
		}
		numbers := regexp.MustCompile(`(\d+)(?:–(\d+))?`).FindAllStringSubmatch(row[2], -1)
		if len(numbers) == 0 {
			t.Errorf("the line %q names no attack", row[1])
		}
		for _, m := range numbers {
			first, last := atoi(t, m[1]), atoi(t, cmp.Or(m[2], m[1]))
			for n := first; n <= last; n++ {
				named[n] = true
				if !tested[n] {
					t.Errorf("the line %q names attack %d, which no test is named after", row[1], n)
				}
			}
		}
	}
	for _, about := range [][2]int{{30, 81}, {86, 88}, {109, 124}} {
		for n := about[0]; n <= about[1]; n++ {
			if !named[n] {
				t.Errorf("no line names attack %d", n)
			}
		}
	}
}

func atoi(t *testing.T, digits string) int {
	t.Helper()
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// attacksTested lists the attacks that tests are named after: TestAttack47…, TestAttack30To32…, or a case whose name begins
// with its number.
func attacksTested(t *testing.T) map[int]bool {
	t.Helper()
	tested := map[int]bool{}
	name := regexp.MustCompile(`func TestAttacks?(\d+)(?:(?:To|And)(\d+))?|func TestCases(\d+)And(\d+)|"(?:case )?(\d{2,3})(?: [a-z]|: )`)
	err := filepath.WalkDir(moduleRoot, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range name.FindAllStringSubmatch(string(source), -1) {
			first := atoi(t, cmp.Or(m[1], m[3], m[5]))
			for n := first; n <= atoi(t, cmp.Or(m[2], m[4], m[1], m[3], m[5])); n++ {
				tested[n] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tested
}

func TestReadmeConfigurations(t *testing.T) {
	repository := codeBlock(t, "# .github/autocode.yml")
	if _, err := loop.ParseConfig("README.md", []byte(repository), loop.DefaultConfig()); err != nil {
		t.Errorf("the example of .github/autocode.yml: %v", err)
	}
	var shown map[string]any
	if err := yaml.Load([]byte(repository), &shown); err != nil {
		t.Fatal(err)
	}
	raw, err := loop.Schema("config")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	if len(schema.Properties) == 0 {
		t.Fatal("the schema of the configuration has no properties")
	}
	for section := range schema.Properties {
		if _, there := shown[section]; !there {
			t.Errorf("the example of .github/autocode.yml does not show %s", section)
		}
	}
	server := filepath.Join(t.TempDir(), "autocode.yaml")
	if err := os.WriteFile(server, []byte(codeBlock(t, "# autocode.yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadSettings(server, func(string) string { return "" }); err != nil {
		t.Errorf("the example of autocode.yaml: %v", err)
	}
}

// Every environment variable that is read is told, and no other.
func TestReadmeEnvironment(t *testing.T) {
	source, err := os.ReadFile("config.go")
	if err != nil {
		t.Fatal(err)
	}
	text := readme(t)
	variables := regexp.MustCompile(`"((?:AUTOCODE|GITHUB|OPENAI)_[A-Z0-9_]+[A-Z0-9])"`).FindAllStringSubmatch(string(source), -1)
	if len(variables) == 0 {
		t.Fatal("config.go names no variable")
	}
	for _, v := range variables {
		if !strings.Contains(text, "`"+v[1]+"`") {
			t.Errorf("README.md does not tell of %s", v[1])
		}
	}
}

// Every `/autocode …` in the README is understood as what it says.
func TestReadmeComments(t *testing.T) {
	told := map[handlers.Verb]bool{}
	for _, m := range regexp.MustCompile("`/autocode ([a-z]+)([^`]*)`").FindAllStringSubmatch(readme(t), -1) {
		command, ok := handlers.ParseCommand("/autocode "+m[1]+m[2], "autocode")
		if !ok || string(command.Verb) != m[1] {
			t.Errorf("%s is not understood", m[0])
		}
		if command.Verb == handlers.VerbBudget {
			if _, err := handlers.ParseBudget(command.Rest); err != nil {
				t.Errorf("%s: %v", m[0], err)
			}
		}
		told[command.Verb] = true
	}
	for _, verb := range []handlers.Verb{
		handlers.VerbRetry, handlers.VerbStop, handlers.VerbStatus, handlers.VerbResume, handlers.VerbApprove, handlers.VerbPlan, handlers.VerbBudget, handlers.VerbHelp,
	} {
		if !told[verb] {
			t.Errorf("README.md does not tell of /autocode %s", verb)
		}
	}
}

// The manifest subscribes to the events that have a handler, and to no other.
func TestManifestEvents(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(moduleRoot, "app.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Events      []string          `yaml:"default_events"`
		Permissions map[string]string `yaml:"default_permissions"`
	}
	if err := yaml.Load(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	var handled []string
	for _, h := range (&handlers.Handlers{}).All() {
		handled = append(handled, h.Handles()...)
	}
	// GitHub sends these to every App and refuses a manifest that asks for them.
	// Commit statuses are followed where `autocode setup` was told so.
	unasked := []string{"installation", "installation_repositories", handlers.StatusEvent}
	handled = slices.DeleteFunc(handled, func(event string) bool { return slices.Contains(unasked, event) })
	slices.Sort(handled)
	slices.Sort(manifest.Events)
	if !slices.Equal(handled, manifest.Events) {
		t.Errorf("app.yml subscribes to %v, the handlers use %v", manifest.Events, handled)
	}
	want := map[string]string{"metadata": "read", "contents": "write", "issues": "write", "pull_requests": "write", "checks": "write"}
	if !reflect.DeepEqual(manifest.Permissions, want) {
		t.Errorf("app.yml asks for %v, want the least that works: %v", manifest.Permissions, want)
	}
}
