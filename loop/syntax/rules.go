package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// rules tells how definitions and calls look in a language's syntax tree.
type rules struct {
	define map[string]Kind // node kind → what it defines
	// transparent kinds define nothing themselves but lend their name to what is inside (Rust's impl).
	transparent map[string]bool
	wrap        map[string]bool   // node kinds that belong to the definition inside (decorators, export, template)
	call        map[string]string // node kind of a call → field that holds what is called
	// names returns the names that node defines, its kind (a table entry may depend on more than the node's
	// kind) and, for methods outside of their type, the type's name. No names: it is no definition after all.
	names func(node *sitter.Node, kind, in Kind, src []byte) (names []string, actual Kind, receiver string)
}

// rulesOf returns lang's rules; false where it has none.
func rulesOf(lang Language) (rules, bool) {
	switch lang {
	case C, CPP:
		return cRules(), true
	case CSharp:
		return csharpRules(), true
	case Go:
		return goRules(), true
	case Java:
		return javaRules(), true
	case JavaScript, TypeScript, TSX:
		return scriptRules(), true
	case PHP:
		return phpRules(), true
	case Python:
		return pythonRules(), true
	case Ruby:
		return rubyRules(), true
	case Rust:
		return rustRules(), true
	case JSON, TOML, XML, YAML, Unknown:
		return rules{}, false
	}
	return rules{}, false
}

// fieldText is the text of a field as a list of one, or nothing.
func fieldText(node *sitter.Node, field string, src []byte) []string {
	child := node.ChildByFieldName(field)
	if child == nil || child.StartByte() >= child.EndByte() {
		return nil
	}
	return []string{child.Utf8Text(src)}
}

// set makes a set of its arguments.
func set(kinds ...string) map[string]bool {
	m := make(map[string]bool, len(kinds))
	for _, kind := range kinds {
		m[kind] = true
	}
	return m
}

// parentKind is the kind of the node around node, n levels up.
func parentKind(node *sitter.Node, n int) string {
	for ; n > 0 && node != nil; n-- {
		node = node.Parent()
	}
	if node == nil {
		return ""
	}
	return node.Kind()
}

func goRules() rules {
	return rules{
		define: map[string]Kind{
			"function_declaration": KindFunction, "method_declaration": KindMethod,
			"type_spec": KindType, "type_alias": KindType, "const_spec": KindConstant, "var_spec": KindVariable,
		},
		wrap: set(),
		call: map[string]string{"call_expression": "function", "composite_literal": "type"},
		names: func(node *sitter.Node, kind, in Kind, src []byte) ([]string, Kind, string) {
			switch kind {
			case KindMethod:
				receiver := ""
				if r := node.ChildByFieldName("receiver"); r != nil {
					receiver = receiverType(r.Utf8Text(src))
				}
				return fieldText(node, "name", src), kind, receiver
			case KindType:
				if t := node.ChildByFieldName("type"); t != nil && t.Kind() == "interface_type" {
					kind = KindInterface
				}
				return fieldText(node, "name", src), kind, ""
			case KindConstant, KindVariable:
				if in != "" {
					return nil, kind, "" // within a function
				}
				var names []string
				for i := range node.ChildCount() {
					if node.FieldNameForChild(uint32(i)) == "name" {
						if child := node.Child(i); child.IsNamed() {
							names = append(names, child.Utf8Text(src))
						}
					}
				}
				return names, kind, ""
			case KindFunction, KindClass, KindInterface, KindModule:
				return fieldText(node, "name", src), kind, ""
			}
			return nil, kind, ""
		},
	}
}

// receiverType reads T out of "(t *T[K])".
func receiverType(text string) string {
	text = strings.Trim(text, "()")
	if i := strings.IndexByte(text, '['); i >= 0 {
		text = text[:i]
	}
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '*' || r == '\t' })
	if len(fields) == 0 {
		return ""
	}
	return fields[len(fields)-1]
}

func pythonRules() rules {
	return rules{
		define: map[string]Kind{
			"function_definition": KindFunction, "class_definition": KindClass,
			"assignment": KindVariable, "type_alias_statement": KindType,
		},
		wrap: set("decorated_definition"),
		call: map[string]string{"call": "function", "decorator": ""},
		names: func(node *sitter.Node, kind, in Kind, src []byte) ([]string, Kind, string) {
			if kind == KindType {
				return fieldText(node, "left", src), kind, ""
			}
			if kind != KindVariable {
				return fieldText(node, "name", src), kind, ""
			}
			left := node.ChildByFieldName("left")
			if left == nil || left.Kind() != "identifier" || in == KindFunction || in == KindMethod ||
				parentKind(node, 1) != "expression_statement" || in == "" && parentKind(node, 2) != "module" {
				return nil, kind, ""
			}
			name := left.Utf8Text(src)
			if name == strings.ToUpper(name) && strings.Trim(name, "_") != "" {
				kind = KindConstant
			}
			return []string{name}, kind, ""
		},
	}
}

func javaRules() rules {
	return rules{
		define: map[string]Kind{
			"class_declaration": KindClass, "record_declaration": KindClass, "enum_declaration": KindType,
			"interface_declaration": KindInterface, "annotation_type_declaration": KindInterface,
			"method_declaration": KindMethod, "constructor_declaration": KindMethod, "compact_constructor_declaration": KindMethod,
			"field_declaration": KindVariable, "constant_declaration": KindConstant,
		},
		wrap: set(),
		call: map[string]string{"method_invocation": "name", "object_creation_expression": "type", "method_reference": ""},
		names: func(node *sitter.Node, kind, _ Kind, src []byte) ([]string, Kind, string) {
			if kind != KindVariable && kind != KindConstant {
				return fieldText(node, "name", src), kind, ""
			}
			text := node.Utf8Text(src)
			if before, _, ok := strings.Cut(text, "="); ok && strings.Contains(before, "static") && strings.Contains(before, "final") {
				kind = KindConstant
			}
			return declaratorNames(node, src), kind, ""
		},
	}
}

// declaratorNames are the names of the variable declarators directly below node.
func declaratorNames(node *sitter.Node, src []byte) []string {
	var names []string
	for i := range node.NamedChildCount() {
		child := node.NamedChild(i)
		switch child.Kind() {
		case "variable_declarator", "const_element":
			if name := fieldText(child, "name", src); name != nil {
				names = append(names, name...)
			} else if child.NamedChildCount() > 0 {
				names = append(names, child.NamedChild(0).Utf8Text(src))
			}
		case "variable_declaration":
			names = append(names, declaratorNames(child, src)...)
		}
	}
	return names
}

func csharpRules() rules {
	return rules{
		define: map[string]Kind{
			"class_declaration": KindClass, "record_declaration": KindClass, "struct_declaration": KindClass,
			"enum_declaration": KindType, "delegate_declaration": KindType, "interface_declaration": KindInterface,
			"namespace_declaration": KindModule, "file_scoped_namespace_declaration": KindModule,
			"method_declaration": KindMethod, "constructor_declaration": KindMethod, "local_function_statement": KindFunction,
			"property_declaration": KindVariable, "field_declaration": KindVariable, "event_field_declaration": KindVariable,
		},
		wrap: set(),
		call: map[string]string{"invocation_expression": "function", "object_creation_expression": "type"},
		names: func(node *sitter.Node, kind, _ Kind, src []byte) ([]string, Kind, string) {
			if names := fieldText(node, "name", src); names != nil {
				return names, kind, ""
			}
			if before, _, _ := strings.Cut(node.Utf8Text(src), "="); strings.Contains(" "+before, " const ") {
				kind = KindConstant
			}
			return declaratorNames(node, src), kind, ""
		},
	}
}

func phpRules() rules {
	return rules{
		define: map[string]Kind{
			"function_definition": KindFunction, "method_declaration": KindMethod, "class_declaration": KindClass,
			"interface_declaration": KindInterface, "trait_declaration": KindType, "enum_declaration": KindType,
			"const_declaration": KindConstant,
		},
		wrap: set(),
		call: map[string]string{
			"function_call_expression": "function", "member_call_expression": "name", "nullsafe_member_call_expression": "name",
			"scoped_call_expression": "name", "object_creation_expression": "",
		},
		names: func(node *sitter.Node, kind, _ Kind, src []byte) ([]string, Kind, string) {
			if kind == KindConstant {
				return declaratorNames(node, src), kind, ""
			}
			return fieldText(node, "name", src), kind, ""
		},
	}
}

func rubyRules() rules {
	return rules{
		define: map[string]Kind{
			"method": KindMethod, "singleton_method": KindMethod, "class": KindClass, "module": KindModule, "assignment": KindConstant,
		},
		wrap: set(),
		call: map[string]string{"call": "method"},
		names: func(node *sitter.Node, kind, in Kind, src []byte) ([]string, Kind, string) {
			if kind == KindConstant {
				if left := node.ChildByFieldName("left"); left == nil || left.Kind() != "constant" {
					return nil, kind, ""
				}
				return fieldText(node, "left", src), kind, ""
			}
			if kind == KindMethod && in == "" {
				kind = KindFunction
			}
			return fieldText(node, "name", src), kind, ""
		},
	}
}

func rustRules() rules {
	return rules{
		define: map[string]Kind{
			"function_item": KindFunction, "function_signature_item": KindFunction, "struct_item": KindType, "enum_item": KindType,
			"union_item": KindType, "type_item": KindType, "trait_item": KindInterface, "impl_item": KindType, "mod_item": KindModule,
			"const_item": KindConstant, "static_item": KindVariable, "macro_definition": KindFunction,
		},
		transparent: set("impl_item"),
		wrap:        set(),
		call:        map[string]string{"call_expression": "function", "macro_invocation": "macro", "struct_expression": "name"},
		names: func(node *sitter.Node, kind, _ Kind, src []byte) ([]string, Kind, string) {
			if node.Kind() != "impl_item" {
				return fieldText(node, "name", src), kind, ""
			}
			names := fieldText(node, "type", src)
			if len(names) == 1 {
				names[0], _, _ = strings.Cut(names[0], "<")
			}
			return names, kind, ""
		},
	}
}

func cRules() rules {
	return rules{
		define: map[string]Kind{
			"function_definition": KindFunction, "struct_specifier": KindClass, "class_specifier": KindClass,
			"union_specifier": KindType, "enum_specifier": KindType, "type_definition": KindType, "alias_declaration": KindType,
			"concept_definition": KindType, "namespace_definition": KindModule, "preproc_def": KindConstant, "preproc_function_def": KindFunction,
			"declaration": KindVariable, "field_declaration": KindVariable,
		},
		wrap: set("template_declaration"),
		call: map[string]string{"call_expression": "function", "new_expression": "type"},
		names: func(node *sitter.Node, kind, in Kind, src []byte) ([]string, Kind, string) {
			switch node.Kind() {
			case "struct_specifier", "class_specifier", "union_specifier", "enum_specifier":
				if node.ChildByFieldName("body") == nil {
					return nil, kind, "" // a use, not the definition
				}
				return fieldText(node, "name", src), kind, ""
			case "function_definition", "type_definition", "declaration", "field_declaration":
				return declared(node, kind, in, src)
			}
			return fieldText(node, "name", src), kind, ""
		},
	}
}

// declared unwraps a C declarator, as in `int *(*f(void))[3]`, down to the name that it declares.
func declared(node *sitter.Node, kind, in Kind, src []byte) ([]string, Kind, string) {
	function := false
	d := node.ChildByFieldName("declarator")
	for d != nil {
		switch d.Kind() {
		case "function_declarator":
			function = true
		case "identifier", "field_identifier", "type_identifier", "destructor_name", "operator_name", "operator_cast":
			if node.Kind() == "declaration" || node.Kind() == "field_declaration" {
				// Variables count at the top only; prototypes count wherever types have members.
				if !function || in == KindFunction || in == KindMethod {
					return nil, kind, ""
				}
				kind = KindFunction
			}
			return []string{d.Utf8Text(src)}, kind, ""
		case "qualified_identifier":
			if node.Kind() == "declaration" || node.Kind() == "field_declaration" {
				return nil, kind, ""
			}
			full := d.Utf8Text(src)
			i := strings.LastIndex(full, "::")
			if i < 0 {
				return []string{full}, kind, ""
			}
			return []string{full[i+2:]}, KindMethod, full[:i]
		}
		next := d.ChildByFieldName("declarator")
		if next == nil && d.NamedChildCount() > 0 && (d.Kind() == "reference_declarator" || d.Kind() == "parenthesized_declarator") {
			next = d.NamedChild(0)
		}
		d = next
	}
	return nil, kind, ""
}
