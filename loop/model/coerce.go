package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// leadingNumber is a number with what makes it plain to a reader: "4/5", "L12", "12-15", "line 7".
var leadingNumber = regexp.MustCompile(`(?i)^\s*(?:l|lines?\s*)?(0|[1-9]\d{0,8})\s*(?:/\s*\d+|[-–]\s*\d+)?\s*$`)

// coerce brings a value nearer to its schema where only one thing can be meant: a list or text
// that is missing is empty, a single value in the place of a list is a list of one, numbers and
// enumerations in another spelling are themselves, unknown properties are left out.
func coerce(value any, schema map[string]any) any {
	switch typeOf(schema) {
	case "object":
		object, ok := value.(map[string]any)
		if !ok {
			return value
		}
		return coerceObject(object, schema)
	case "array":
		return coerceList(value, schema)
	case "string":
		return coerceString(value, schema)
	case "integer", "number":
		if text, ok := value.(string); ok {
			if n := json.Number(strings.TrimSpace(text)); json.Valid([]byte(n)) {
				return n
			}
			if m := leadingNumber.FindStringSubmatch(text); m != nil && typeOf(schema) == "integer" {
				return json.Number(m[1])
			}
		}
	case "boolean":
		switch text, _ := value.(string); strings.ToLower(text) {
		case "true", "yes":
			return true
		case "false", "no":
			return false
		}
	}
	return value
}

func coerceObject(object map[string]any, schema map[string]any) any {
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) == 0 {
		return object
	}
	object = respelled(object, schema, properties)
	result := map[string]any{}
	for name, property := range properties {
		shape, _ := property.(map[string]any)
		value, present := object[name]
		if !present || value == nil {
			if empty, ok := emptyOf(shape); ok && required(schema, name) {
				result[name] = empty
				continue
			}
		}
		if present {
			result[name] = coerce(value, shape)
		}
	}
	if schema["additionalProperties"] != false {
		for name, value := range object {
			if _, known := properties[name]; !known {
				result[name] = value
			}
		}
	}
	return result
}

// respelled gives the properties that are missing the values of unknown ones that can only be
// meant for them: the same word in another spelling, its abbreviation, or, where one is missing
// and one is left over, that one.
func respelled(object, schema, properties map[string]any) map[string]any {
	var missing, over []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if _, present := object[name]; !present {
			missing = append(missing, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if _, known := properties[name]; !known {
			over = append(over, name)
		}
	}
	if len(missing) == 0 || len(over) == 0 {
		return object
	}
	object = maps.Clone(object)
	take := func(fits func(name, other string) bool) {
		for _, name := range missing {
			shape, _ := properties[name].(map[string]any)
			var found []string
			for _, other := range over {
				if value, there := object[other]; there && sameKind(value, shape) && fits(name, other) {
					found = append(found, other)
				}
			}
			if _, taken := object[name]; !taken && len(found) == 1 {
				object[name] = object[found[0]]
				delete(object, found[0])
			}
		}
	}
	take(sameWord)
	take(abbreviates)
	needed := slices.DeleteFunc(slices.Clone(missing), func(name string) bool { _, there := object[name]; return there || !required(schema, name) })
	if _, chosen := shapeOf(properties, needed)["enum"]; len(needed) == 1 && !chosen {
		take(func(name, _ string) bool { return name == needed[0] })
	}
	return object
}

// shapeOf is the schema of the only property of a list.
func shapeOf(properties map[string]any, names []string) map[string]any {
	if len(names) != 1 {
		return nil
	}
	shape, _ := properties[names[0]].(map[string]any)
	return shape
}

// abbreviates says whether one name is the other with letters left out: msg and message.
func abbreviates(a, b string) bool {
	short, long := strings.ToLower(a), strings.ToLower(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	const least = 3 // letters that an abbreviation has
	if len(short) < least || short[0] != long[0] {
		return false
	}
	for i := range len(short) {
		at := strings.IndexByte(long, short[i])
		if at < 0 {
			return false
		}
		long = long[at+1:]
	}
	return true
}

// sameKind says whether a value is of a schema's type as it stands.
func sameKind(value any, schema map[string]any) bool {
	switch value.(type) {
	case string:
		return typeOf(schema) == "string"
	case []any:
		return typeOf(schema) == "array"
	case map[string]any:
		return typeOf(schema) == "object"
	case json.Number:
		return typeOf(schema) == "integer" || typeOf(schema) == "number"
	case bool:
		return typeOf(schema) == "boolean"
	}
	return false
}

func coerceList(value any, schema map[string]any) any {
	items, _ := schema["items"].(map[string]any)
	list, ok := value.([]any)
	if !ok {
		if text, isText := value.(string); isText && strings.TrimSpace(text) == "" {
			return []any{}
		}
		list = []any{value}
	}
	result := make([]any, len(list))
	for i, item := range list {
		result[i] = coerce(item, items)
	}
	return result
}

func coerceString(value any, schema map[string]any) any {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case json.Number:
		text = v.String()
	case bool:
		return fmt.Sprint(v)
	case []any:
		lines := make([]string, len(v))
		for i, item := range v {
			line, ok := item.(string)
			if !ok {
				return value
			}
			lines[i] = line
		}
		text = strings.Join(lines, "\n")
	default:
		return value
	}
	options, _ := schema["enum"].([]any)
	for _, option := range options {
		if name, ok := option.(string); ok && sameWord(name, text) {
			return name
		}
	}
	return text
}

// sameWord compares the spellings of an enumeration's value.
func sameWord(a, b string) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "")
	return strings.EqualFold(plain.Replace(a), plain.Replace(b))
}

func typeOf(schema map[string]any) string {
	name, _ := schema["type"].(string)
	return name
}

func required(schema map[string]any, name string) bool {
	list, _ := schema["required"].([]any)
	return slices.Contains(list, any(name))
}

// emptyOf is the empty value of a schema, where it has one that says nothing wrong.
func emptyOf(schema map[string]any) (any, bool) {
	switch typeOf(schema) {
	case "array":
		if _, least := schema["minItems"]; !least {
			return []any{}, true
		}
	case "string":
		_, least := schema["minLength"]
		if _, chosen := schema["enum"]; !least && !chosen {
			return "", true
		}
	case "boolean":
		return false, true
	}
	return nil, false
}
