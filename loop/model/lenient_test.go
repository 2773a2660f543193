package model

import (
	"encoding/json"
	"testing"
)

// FuzzParseLenient holds the parser to what its callers rely on: it ends, stays inside the text,
// and what it returns can be written as JSON.
func FuzzParseLenient(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, 2, {"b": null}]}`, `{'a': "b", c: d,}`, `{"a": "b`, `[`, `{"a" "b"}`, `{"\u12`, `{a:{a:{a:`, "{// x\n#\n/* }", `{"a": 1e999, "b": -}`,
		"{“a”: ‘b’}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, read, ok := parseLenient(text)
		if read < 0 || read > len(text) {
			t.Fatalf("read %d of %d bytes", read, len(text))
		}
		if !ok {
			return
		}
		if _, err := json.Marshal(value); err != nil {
			t.Fatalf("%#v: %v", value, err)
		}
	})
}

// FuzzObjects holds the search for objects to what valid JSON objects are: themselves.
func FuzzObjects(f *testing.F) {
	f.Add(`{"a": 1}`)
	f.Add("x ```json\n{\"a\": 1}\n``` y {b: 2}")
	f.Fuzz(func(t *testing.T, text string) {
		found := objects(text)
		if object, ok := strict(text); ok && len(object) > 0 && len(found) != 1 {
			t.Fatalf("a valid object was read as %d", len(found))
		}
	})
}
