package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/rs/zerolog"
)

// decode reads a payload. Parts that are not as documented are left out and told, since one time in a
// form of its own, in a part that nobody reads, must not cost the event: GitHub's own payloads have such.
// What a handler needs it looks at itself. A payload that is no object is dropped: it would not be one
// the next time either.
func decode[E any](ctx context.Context, payload []byte) (*E, bool) {
	event := new(E)
	err := json.Unmarshal(payload, event)
	if err == nil {
		return event, true
	}
	fitting, fits := fit(payload, reflect.TypeFor[E]())
	if !fits {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("the payload does not decode; dropped")
		return nil, false
	}
	event = new(E)
	if err := json.Unmarshal(fitting, event); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("the payload does not decode; dropped")
		return nil, false
	}
	zerolog.Ctx(ctx).Info().Err(err).Msg("a part of the payload is not as documented; left out")
	return event, true
}

// fit returns what of a JSON value a type can hold; fits is false where that is nothing.
func fit(value json.RawMessage, into reflect.Type) (fitting json.RawMessage, fits bool) {
	if json.Unmarshal(value, reflect.New(into).Interface()) == nil {
		return value, true
	}
	for into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	value = bytes.TrimSpace(value)
	if reflect.PointerTo(into).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil, false // it has a form of its own, hence no parts
	}
	switch {
	case into.Kind() == reflect.Struct && bytes.HasPrefix(value, []byte("{")):
		return fitFields(value, into)
	case into.Kind() == reflect.Slice && bytes.HasPrefix(value, []byte("[")):
		return fitElements(value, into.Elem())
	default:
		return nil, false
	}
}

// fitFields is fit for an object.
func fitFields(value json.RawMessage, into reflect.Type) (fitting json.RawMessage, fits bool) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(value, &parts) != nil {
		return nil, false
	}
	for _, field := range reflect.VisibleFields(into) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		for key, part := range parts {
			if name == "" || !strings.EqualFold(key, name) { // as package json finds them
				continue
			}
			if part, ok := fit(part, field.Type); ok {
				parts[key] = part
			} else {
				delete(parts, key)
			}
		}
	}
	fitting, err := json.Marshal(parts)
	return fitting, err == nil
}

// fitElements is fit for a list.
func fitElements(value json.RawMessage, into reflect.Type) (fitting json.RawMessage, fits bool) {
	var all, kept []json.RawMessage
	if json.Unmarshal(value, &all) != nil {
		return nil, false
	}
	for _, element := range all {
		if element, ok := fit(element, into); ok {
			kept = append(kept, element)
		}
	}
	fitting, err := json.Marshal(kept)
	return fitting, err == nil
}
