package syntax

import (
	"slices"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// scriptRules serve JavaScript and TypeScript, where most of what older code defines is assigned:
// `res.send = function send(body) {…}`, `Parser.prototype.next = …`, `exports.parse = …`.
func scriptRules() rules {
	return rules{
		define: map[string]Kind{
			"function_declaration": KindFunction, "generator_function_declaration": KindFunction, "function_signature": KindFunction,
			"function_expression": KindFunction, "assignment_expression": KindFunction,
			"class_declaration": KindClass, "abstract_class_declaration": KindClass, "class": KindClass,
			"method_definition": KindMethod, "method_signature": KindMethod, "abstract_method_signature": KindMethod,
			"field_definition": KindMethod, "public_field_definition": KindMethod, "pair": KindMethod,
			"interface_declaration": KindInterface, "type_alias_declaration": KindType, "enum_declaration": KindType,
			"internal_module": KindModule, "module": KindModule, "variable_declarator": KindVariable,
		},
		wrap:  set("export_statement", "ambient_declaration", "lexical_declaration", "variable_declaration", "expression_statement"),
		call:  map[string]string{"call_expression": "function", "new_expression": "constructor", "jsx_opening_element": "name", "jsx_self_closing_element": "name"},
		names: scriptNames,
	}
}

func scriptNames(node *sitter.Node, kind, in Kind, src []byte) ([]string, Kind, string) {
	inFunction := in == KindFunction || in == KindMethod
	switch node.Kind() {
	case "assignment_expression":
		return assignedNames(node, src)
	case "function_expression":
		// One that has a name and is handed to somebody, as in `defineGetter(req, 'ip', function ip() {…})`;
		// what is assigned has its name from there.
		if inFunction || parentKind(node, 1) != "arguments" {
			return nil, kind, ""
		}
		return fieldText(node, "name", src), kind, ""
	case "pair":
		if inFunction || !isFunction(node.ChildByFieldName("value")) {
			return nil, kind, ""
		}
		key := node.ChildByFieldName("key")
		if key == nil || key.Kind() != "property_identifier" {
			return nil, kind, ""
		}
		return []string{key.Utf8Text(src)}, kind, ""
	case "field_definition", "public_field_definition":
		if !isFunction(node.ChildByFieldName("value")) {
			return nil, kind, ""
		}
		if names := fieldText(node, "property", src); names != nil { // JavaScript's grammar
			return names, kind, ""
		}
		return fieldText(node, "name", src), kind, "" // TypeScript's
	case "variable_declarator":
		names := fieldText(node, "name", src)
		if isFunction(node.ChildByFieldName("value")) {
			return names, KindFunction, ""
		}
		level := parentKind(node, 2)
		if name := node.ChildByFieldName("name"); name == nil || name.Kind() != "identifier" || inFunction ||
			level != "program" && level != "export_statement" {
			return nil, kind, ""
		}
		if first := node.Parent().Child(0); first != nil && first.Utf8Text(src) == "const" {
			kind = KindConstant
		}
		return names, kind, ""
	}
	return fieldText(node, "name", src), kind, ""
}

// assignedNames are the names that a function or class is assigned to, several in `res.set = res.header = …`, and
// the object that the first of them belongs to. The module's own object (exports, this) is nobody's name.
func assignedNames(node *sitter.Node, src []byte) (names []string, kind Kind, object string) {
	if parentKind(node, 1) == "assignment_expression" {
		return nil, KindFunction, "" // told by the outer one
	}
	value := node
	for value != nil && value.Kind() == "assignment_expression" {
		if left := value.ChildByFieldName("left"); left != nil {
			name, of := memberName(left, src)
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
			if object == "" {
				object = of
			}
		}
		value = value.ChildByFieldName("right")
	}
	kind = KindFunction
	switch {
	case value == nil:
		return nil, kind, ""
	case value.Kind() == "class":
		kind = KindClass
	case !isFunction(value):
		return nil, kind, ""
	case object != "":
		kind = KindMethod
	}
	if len(names) == 0 { // module.exports = function parse() {…}
		names = fieldText(value, "name", src)
	}
	return names, kind, object
}

// memberName splits the left side of an assignment into the name assigned and the object that it belongs to.
func memberName(left *sitter.Node, src []byte) (name, object string) {
	switch left.Kind() {
	case "identifier":
		return left.Utf8Text(src), ""
	case "member_expression":
		property, of := left.ChildByFieldName("property"), left.ChildByFieldName("object")
		if property == nil || of == nil {
			return "", ""
		}
		name = property.Utf8Text(src)
		for of.Kind() == "member_expression" {
			inner, outer := of.ChildByFieldName("property"), of.ChildByFieldName("object")
			if inner == nil || outer == nil {
				return "", ""
			}
			if text := inner.Utf8Text(src); text != "prototype" {
				if text == "exports" {
					return name, ""
				}
				return name, text
			}
			of = outer
		}
		switch object = of.Utf8Text(src); {
		case object == "module" && name == "exports":
			return "", ""
		case object == "exports", object == "module", of.Kind() != "identifier":
			return name, ""
		}
		return name, object
	}
	return "", ""
}

// isFunction says whether a value is a function of any notation.
func isFunction(value *sitter.Node) bool {
	if value == nil {
		return false
	}
	switch value.Kind() {
	case "arrow_function", "function_expression", "generator_function":
		return true
	}
	return false
}
