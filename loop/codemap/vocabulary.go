package codemap

// vocabulary maps every identifier of a dictionary to its terms, so that a text is split once for each
// spelling and not once for each use.
type vocabulary struct {
	ids   map[string]uint32 // terms
	first []uint32          // identifier i has the terms parts[first[i]:first[i+1]]
	parts []uint32
}

func newVocabulary() *vocabulary {
	return &vocabulary{ids: map[string]uint32{}, first: []uint32{0, 0}}
}

// Estimated heap of a map's entry with its key, in bytes.
const mapEntry = 72

// grow takes over the identifiers that are new in d and returns the bytes that it and d grew by.
func (v *vocabulary) grow(d *dictionary) int64 {
	var added int64
	for _, name := range d.names[len(v.first)-1:] {
		list, _ := terms(name)
		for _, t := range list {
			id, ok := v.ids[t]
			if !ok {
				id = uint32(len(v.ids))
				v.ids[t] = id
				added += mapEntry
			}
			v.parts = append(v.parts, id)
			added += 4
		}
		v.first = append(v.first, uint32(len(v.parts)))
		added += mapEntry + int64(len(name))
	}
	return added
}

// of returns the terms of an identifier.
func (v *vocabulary) of(identifier uint32) []uint32 {
	return v.parts[v.first[identifier]:v.first[identifier+1]]
}
