package githubtest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// operation is a parsed GraphQL operation: as much of the language as clients use in requests.
type operation struct {
	// kind is query or mutation.
	kind       string
	selections []selection
}

// selection is a field, an inline fragment (on is set) or a fragment spread (spread is set).
type selection struct {
	alias, name string
	args        map[string]any
	on          string
	spread      string
	sub         []selection
}

// gqlToken are GraphQL's lexemes; white space, commas and comments lie between them.
var gqlToken = regexp.MustCompile(`#[^\n]*|"""(?:[^"]|"[^"]|""[^"])*"""|"(?:\\.|[^"\\\n])*"|[_A-Za-z][_0-9A-Za-z]*|-?[0-9]+(?:\.[0-9]+)?|\.\.\.|[!$():=@\[\]{|}]`)

// maxGraphQLDepth bounds the nesting of a request.
const maxGraphQLDepth = 50

// gqlParser walks over the lexemes.
type gqlParser struct {
	tokens    []string
	variables map[string]any
	fragments map[string][]selection
	depth     int
}

// parseGraphQL reads a document with one operation and its fragments.
func parseGraphQL(text string, variables map[string]any) (op operation, err error) {
	p := &gqlParser{variables: variables, fragments: map[string][]selection{}}
	for _, t := range gqlToken.FindAllString(text, -1) {
		if t[0] != '#' {
			p.tokens = append(p.tokens, t)
		}
	}
	if len(p.tokens) == 0 {
		return operation{}, errors.New("a query is missing")
	}
	for len(p.tokens) > 0 {
		switch p.peek() {
		case "fragment":
			p.next()
			name := p.next()
			p.next() // on
			p.next() // the type
			if p.fragments[name], err = p.selectionSet(); err != nil {
				return operation{}, err
			}
		case "query", "mutation":
			op.kind = p.next()
			if op.selections, err = p.operation(); err != nil {
				return operation{}, err
			}
		default:
			op.kind = "query"
			if op.selections, err = p.selectionSet(); err != nil {
				return operation{}, err
			}
		}
	}
	op.selections, err = p.expand(op.selections, 0)
	return op, err
}

func (p *gqlParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *gqlParser) next() string {
	t := p.peek()
	if t != "" {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *gqlParser) expect(want string) error {
	if got := p.next(); got != want {
		return fmt.Errorf("expected %q, got %q", want, got)
	}
	return nil
}

// operation reads the optional name and the variables' declarations, whose defaults count.
func (p *gqlParser) operation() ([]selection, error) {
	if t := p.peek(); t != "(" && t != "{" {
		p.next()
	}
	if p.peek() == "(" {
		p.next()
		for p.peek() != ")" {
			if err := p.variable(); err != nil {
				return nil, err
			}
		}
		p.next()
	}
	return p.selectionSet()
}

func (p *gqlParser) variable() error {
	if err := p.expect("$"); err != nil {
		return err
	}
	name := p.next()
	if err := p.expect(":"); err != nil {
		return err
	}
	for p.peek() != "$" && p.peek() != ")" && p.peek() != "=" {
		if p.next() == "" {
			return errors.New("the variables' declarations do not end")
		}
	}
	if p.peek() != "=" {
		return nil
	}
	p.next()
	value, err := p.value()
	if err != nil {
		return err
	}
	if _, given := p.variables[name]; !given {
		if p.variables == nil {
			p.variables = map[string]any{}
		}
		p.variables[name] = value
	}
	return nil
}

func (p *gqlParser) selectionSet() ([]selection, error) {
	if p.depth++; p.depth > maxGraphQLDepth {
		return nil, errors.New("the query is nested too deeply")
	}
	defer func() { p.depth-- }()
	if err := p.expect("{"); err != nil {
		return nil, err
	}
	var out []selection
	for p.peek() != "}" {
		if p.peek() == "" {
			return nil, errors.New("a selection does not end")
		}
		sel, err := p.selection()
		if err != nil {
			return nil, err
		}
		out = append(out, sel)
	}
	p.next()
	return out, nil
}

func (p *gqlParser) selection() (sel selection, err error) {
	if p.peek() == "..." {
		p.next()
		switch p.peek() {
		case "on":
			p.next()
			sel.on = p.next()
			sel.sub, err = p.selectionSet()
			return sel, err
		case "{":
			sel.on = "Node" // without a type it holds for every type
			sel.sub, err = p.selectionSet()
			return sel, err
		}
		sel.spread = p.next()
		return sel, nil
	}
	sel.name = p.next()
	sel.alias = sel.name
	if p.peek() == ":" {
		p.next()
		sel.name = p.next()
	}
	if !isName(sel.name) {
		return sel, fmt.Errorf("expected a field, got %q", sel.name)
	}
	if p.peek() == "(" {
		p.next()
		if sel.args, err = p.pairs(")"); err != nil {
			return sel, err
		}
	}
	if p.peek() == "{" {
		sel.sub, err = p.selectionSet()
	}
	return sel, err
}

// isName says whether a lexeme is a name.
func isName(t string) bool {
	return t != "" && (t[0] == '_' || t[0]|0x20 >= 'a' && t[0]|0x20 <= 'z')
}

// pairs reads name: value until the closing token.
func (p *gqlParser) pairs(closing string) (map[string]any, error) {
	out := map[string]any{}
	for p.peek() != closing {
		name := p.next()
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	p.next()
	return out, nil
}

// value reads a literal or a variable's value.
func (p *gqlParser) value() (any, error) {
	if p.depth++; p.depth > maxGraphQLDepth {
		return nil, errors.New("a value is nested too deeply")
	}
	defer func() { p.depth-- }()
	t := p.next()
	switch {
	case t == "":
		return nil, errors.New("a value is missing")
	case t == "$":
		return p.variables[p.next()], nil
	case t == "{":
		return p.pairs("}")
	case t == "[":
		list := []any{}
		for p.peek() != "]" {
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		p.next()
		return list, nil
	case strings.HasPrefix(t, `"""`):
		return strings.Trim(t, `"`), nil
	case t[0] == '"':
		return strconv.Unquote(t)
	case t == "true" || t == "false":
		return t == "true", nil
	case t == "null":
		return nil, nil
	}
	if n, err := strconv.ParseFloat(t, 64); err == nil {
		return n, nil // as encoding/json decodes numbers of variables
	}
	return t, nil // an enum's value
}

// expand puts the fragments in the place of their spreads.
func (p *gqlParser) expand(in []selection, depth int) ([]selection, error) {
	if depth > maxGraphQLDepth {
		return nil, errors.New("the fragments are nested too deeply")
	}
	var out []selection
	for _, sel := range in {
		if sel.spread != "" {
			fragment, known := p.fragments[sel.spread]
			if !known {
				return nil, fmt.Errorf("fragment %s is not defined", sel.spread)
			}
			sel = selection{on: "Node", sub: fragment}
		}
		var err error
		if sel.sub, err = p.expand(sel.sub, depth+1); err != nil {
			return nil, err
		}
		out = append(out, sel)
	}
	return out, nil
}
