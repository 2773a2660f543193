package loop

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ConfigFault is one fault in a configuration file.
type ConfigFault struct {
	File         string
	Line, Column int    // from 1; 0 where not known
	Key          string // dotted
	Problem      string
}

// Error is file:line:column: key: problem.
func (f ConfigFault) Error() string {
	where := f.File
	if f.Line > 0 {
		where += fmt.Sprintf(":%d:%d", f.Line, f.Column)
	}
	if f.Key != "" {
		where += ": " + f.Key
	}
	return where + ": " + f.Problem
}

// joinFaults joins faults in the order of their places, so that the same file gives the same text.
func joinFaults(faults []ConfigFault) error {
	slices.SortStableFunc(faults, func(a, b ConfigFault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		if a.Column != b.Column {
			return a.Column - b.Column
		}
		return strings.Compare(a.Key+a.Problem, b.Key+b.Problem)
	})
	list := make([]error, len(faults))
	for i, f := range faults {
		list[i] = f
	}
	return errors.Join(list...)
}

// BlankYAML says whether a file holds nothing but white space and comments.
func BlankYAML(raw []byte) bool {
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// YAMLFaults turns the errors of reading a YAML file into a ConfigFault each, joined, in words for
// the file's author.
func YAMLFaults(file string, raw []byte, err error) error {
	return joinFaults(yamlFaults(file, raw, err))
}

// FaultAt is a fault of a dotted key with the place of the key's value in a YAML file; found is false where the file
// does not have the key.
func FaultAt(file string, raw []byte, key, problem string) (fault ConfigFault, found bool) {
	fault = ConfigFault{File: file, Key: key, Problem: problem}
	var root yaml.Node
	if err := yaml.Load(raw, &root); err != nil {
		return fault, false
	}
	line, column, found := position(&root, strings.Split(key, "."))
	if found {
		fault.Line, fault.Column = line, column
	}
	return fault, found
}

func yamlFaults(file string, raw []byte, err error) []ConfigFault {
	var many *yaml.LoadErrors
	var one *yaml.LoadError
	switch {
	case errors.As(err, &many):
	case errors.As(err, &one):
		many = &yaml.LoadErrors{Errors: []*yaml.LoadError{one}}
	default:
		return []ConfigFault{{File: file, Problem: plainProblem(err.Error())}}
	}
	var root yaml.Node
	// Where the file is no YAML at all, no key is known.
	_ = yaml.Load(raw, &root)
	var faults []ConfigFault
	for _, e := range many.Errors {
		faults = append(faults, ConfigFault{
			File: file, Line: e.Mark.Line, Column: e.Mark.Column, Key: keyAt(&root, e.Mark.Line, e.Mark.Column), Problem: plainProblem(e.Message),
		})
	}
	return faults
}

// The decoder's messages speak of Go types.
var (
	unknownField = regexp.MustCompile(`^field (.+) not found in type `)
	wrongType    = regexp.MustCompile("^cannot construct (!!\\w+)(?: `(.*)`)? into (.*)$")
)

// plainProblem says a decoder's message in words of YAML.
func plainProblem(message string) string {
	if m := unknownField.FindStringSubmatch(message); m != nil {
		return "there is no such key"
	}
	message = strings.TrimPrefix(message, "yaml: ")
	m := wrongType.FindStringSubmatch(strings.ReplaceAll(message, "\n", " "))
	if m == nil {
		return message
	}
	found := map[string]string{"!!seq": "a list", "!!map": "a mapping"}[m[1]]
	if m[2] != "" {
		found = fmt.Sprintf("%q", m[2])
	}
	if found == "" {
		found = "this"
	}
	return fmt.Sprintf("%s is not %s", found, goalOf(m[3]))
}

// goalOf says what a value of a Go type is to a person.
func goalOf(goType string) string {
	switch kind := strings.TrimLeft(goType, "*"); {
	case strings.HasPrefix(kind, "[]"):
		return "a list"
	case strings.HasPrefix(kind, "struct"), strings.HasPrefix(kind, "map"), strings.HasSuffix(kind, "onfig"):
		return "a mapping of keys"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	default:
		return "a text"
	}
}

// position finds the value of a dotted key; found is false where the file does not have it. The
// place is that of the nearest key above it then.
func position(n *yaml.Node, path []string) (line, column int, found bool) {
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	for _, key := range path {
		value := valueOf(n, key)
		if value == nil {
			return n.Line, n.Column, false
		}
		n = value
	}
	return n.Line, n.Column, true
}

// valueOf is the value of a key in a mapping, nil where there is none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// keyAt is the dotted key of the key or value that stands at a place, "" where none does.
func keyAt(n *yaml.Node, line, column int) string {
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			// A mapping stands where its first key does.
			if inner := keyAt(value, line, column); inner != "" {
				return key.Value + "." + inner
			}
			if key.Line == line && key.Column == column || value.Line == line && value.Column == column {
				return key.Value
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if inner := keyAt(item, line, column); inner != "" {
				return fmt.Sprintf("%d.%s", i+1, inner)
			}
			if item.Line == line && item.Column == column {
				return fmt.Sprint(i + 1)
			}
		}
	}
	return ""
}
