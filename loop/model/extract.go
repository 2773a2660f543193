package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// checker finds the object that a schema asks for in a model's reply.
type checker struct {
	schema  *jsonschema.Schema
	shape   map[string]any // the schema itself, for filling in what can only mean one thing
	printer *message.Printer
}

func newChecker(schema json.RawMessage) (*checker, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	const name = "reply.json"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("add the schema: %w", err)
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("compile the schema: %w", err)
	}
	shape, _ := doc.(map[string]any)
	return &checker{schema: compiled, shape: shape, printer: message.NewPrinter(language.English)}, nil
}

// find returns the object, or the faults of the best candidate. Of several objects the last
// valid one counts, since models correct themselves; parts that are valid only together are
// put together.
func (c *checker) find(text string) (json.RawMessage, []string) {
	candidates := objects(text)
	if len(candidates) == 0 {
		return nil, []string{"there is no JSON object in it"}
	}
	var faults []string
	for _, object := range slices.Backward(candidates) {
		if c.wraps(object) {
			object = unwrapped(object)
		}
		raw, why := c.check(object)
		if len(why) == 0 {
			return raw, nil
		}
		if faults == nil || len(why) < len(faults) {
			faults = why
		}
	}
	if len(candidates) > 1 {
		together := map[string]any{}
		for _, object := range candidates {
			maps.Copy(together, object)
		}
		if raw, why := c.check(together); len(why) == 0 {
			return raw, nil
		}
	}
	return nil, faults
}

// maxWrappers is the most properties of an object that is only a wrapper: {"spec": …, "plan": …}.
const maxWrappers = 3

// wraps says whether an object holds nothing that the schema names but objects that may.
func (c *checker) wraps(object map[string]any) bool {
	properties, _ := c.shape["properties"].(map[string]any)
	if len(properties) == 0 || len(object) > maxWrappers {
		return false
	}
	for key := range object {
		for name := range properties {
			if sameWord(key, name) {
				return false
			}
		}
	}
	return true
}

// unwrapped joins the objects that stand below the keys of an object with what stands beside them.
func unwrapped(object map[string]any) map[string]any {
	flat := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if inner, isObject := object[key].(map[string]any); isObject {
			maps.Copy(flat, inner)
		} else {
			flat[key] = object[key]
		}
	}
	return flat
}

// check coerces and validates one object.
func (c *checker) check(object map[string]any) (json.RawMessage, []string) {
	value := coerce(object, c.shape)
	if err := c.schema.Validate(value); err != nil {
		return nil, c.faults(err)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, []string{err.Error()}
	}
	return raw, nil
}

// faults lists the leaves of a validation error, each with its place.
func (c *checker) faults(err error) []string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []string{err.Error()}
	}
	var list []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			list = append(list, "/"+strings.Join(e.InstanceLocation, "/")+": "+e.ErrorKind.LocalizedString(c.printer))
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(invalid)
	return list
}

// maxObjects bounds the places where an object is looked for.
const maxObjects = 32

var fencedJSON = regexp.MustCompile("(?s)```[a-zA-Z0-9]*[ \t]*\r?\n(.*?)(?:\n[ \t]*```|$)")

// objects lists the JSON objects of a reply in their order: the whole text, else what stands in
// code fences, else whatever begins with a brace.
func objects(text string) []map[string]any {
	text = strings.TrimSpace(text)
	if object, ok := strict(text); ok {
		return []map[string]any{object}
	}
	var found []map[string]any
	for _, fence := range fencedJSON.FindAllStringSubmatch(text, maxObjects) {
		body := strings.TrimSpace(fence[1])
		if object, ok := strict(body); ok {
			found = append(found, object)
		} else if strings.HasPrefix(body, "{") {
			found = append(found, scan(body)...)
		}
	}
	if len(found) > 0 {
		return found
	}
	return scan(text)
}

// scan reads objects wherever a brace begins one.
func scan(text string) []map[string]any {
	var found []map[string]any
	for at, tries := 0, 0; at < len(text) && tries < maxObjects; tries++ {
		next := strings.IndexByte(text[at:], '{')
		if next < 0 {
			break
		}
		at += next
		value, read, ok := parseLenient(text[at:])
		object, isObject := value.(map[string]any)
		if !ok || !isObject || len(object) == 0 {
			at++
			continue
		}
		found = append(found, object)
		at += read
	}
	return found
}

// strict reads text as one JSON object by the rules.
func strict(text string) (map[string]any, bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if decoder.Decode(&object) != nil || object == nil || decoder.More() {
		return nil, false
	}
	return object, true
}
