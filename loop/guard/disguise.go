package guard

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// disguised is a value of the server with the spellings that a change could carry it in.
type disguised struct {
	plain []string // looked for as they are
	bare  []string // letters and digits only; looked for in a text that has only those
	hex   string   // looked for in a text without separators and prefixes of bytes, in lower case
	bytes string   // decimal, with commas
	// windows are pieces of the value, of one length: found by themselves, since a value can be spread over variables.
	windows map[string]struct{}
}

const (
	// leastBare is the shortest spelling of letters and digits alone that is looked for: shorter ones are words.
	leastBare = 16
	// window is the length of a piece that gives a value away. 20 letters and digits hold 100 bits in a random value.
	window = 20
)

// disguise prepares a value.
func disguise(value string) disguised {
	encoded := hex.EncodeToString([]byte(value))
	d := disguised{hex: encoded, bytes: decimal(value), windows: map[string]struct{}{}}
	spellings := []string{
		value, reverse(value), rot13(value), url.QueryEscape(value), url.PathEscape(value), html.EscapeString(value),
		strings.Trim(strconv.Quote(value), `"`), strings.TrimRight(base32.StdEncoding.EncodeToString([]byte(value)), "="), reverse(encoded),
	}
	for _, b := range base64Forms(value) {
		spellings = append(spellings, b, reverse(b))
	}
	whole := base64.StdEncoding.EncodeToString([]byte(value))
	spellings = append(spellings, base64Forms(whole)...)
	for _, s := range spellings {
		d.plain = append(d.plain, s)
		if b := bare(s); len(b) >= leastBare {
			d.bare = append(d.bare, b)
		}
		d.addWindows(s)
	}
	d.addWindows(encoded)
	slices.Sort(d.plain)
	d.plain = slices.Compact(d.plain)
	slices.Sort(d.bare)
	d.bare = slices.Compact(d.bare)
	return d
}

// addWindows adds the pieces of a spelling that no text has by chance: within one run of letters and digits, which
// mixes both. The heads of key files are words, and the first bytes of every key of a kind are the same.
func (d *disguised) addWindows(spelling string) {
	for line := range strings.SplitSeq(spelling, "\n") {
		if strings.HasPrefix(line, "-----") {
			continue
		}
		for run := range strings.FieldsFuncSeq(line, func(r rune) bool { return !alphanumeric(r) }) {
			for i := 0; i+window <= len(run); i++ {
				w := run[i : i+window]
				if strings.ContainsAny(w, "0123456789") && entropy(w) >= randomEntropy && !strings.HasPrefix(w, "MII") {
					d.windows[w] = struct{}{}
				}
			}
		}
	}
}

// sighting is a text as it is looked at.
type sighting struct {
	text, bare, hex, bytes string
}

// bytePrefixes are what stands around the bytes of a string that is written in hexadecimal.
var bytePrefixes = strings.NewReplacer(`\x`, "", "0x", "", "0X", "", "%", "", "&#x", "", ";", "", `\u00`, "", ":", "", ",", "", " ", "", "\t", "", "\n", "", `"`, "", "'", "", "+", "", "\\", "", "-", "")

// spaces are what stands between decimal bytes.
var spaces = strings.NewReplacer(" ", "", "\n", "", "\t", "", "\r", "")

func newSighting(text string) sighting {
	return sighting{text: text, bare: bare(text), hex: strings.ToLower(bytePrefixes.Replace(text)), bytes: spaces.Replace(text)}
}

// in says whether a text holds the value in any spelling.
func (d disguised) in(s sighting) bool {
	contains := func(text string) func(string) bool {
		return func(spelling string) bool { return strings.Contains(text, spelling) }
	}
	if slices.ContainsFunc(d.plain, contains(s.text)) || slices.ContainsFunc(d.bare, contains(s.bare)) ||
		strings.Contains(s.hex, d.hex) || strings.Contains(s.bytes, d.bytes) {
		return true
	}
	for i := 0; i+window <= len(s.bare) && len(d.windows) > 0; i++ {
		if _, found := d.windows[s.bare[i:i+window]]; found {
			return true
		}
	}
	return false
}

// base64Forms are the characters that a value has within any longer encoded text: at each of the three alignments,
// those that depend on the value alone, in both alphabets.
func base64Forms(value string) []string {
	var forms []string
	for offset := range 3 {
		padded := append(make([]byte, offset), value...)
		first := (offset*8 + 5) / 6 // the first character that holds no bit of what stands before
		last := len(padded) * 8 / 6 // the characters that are full
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, encoding.EncodeToString(padded)[first:last])
		}
	}
	return forms
}

func alphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// bare keeps the letters and digits of a text.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if alphanumeric(r) {
			return r
		}
		return -1
	}, text)
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

func decimal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(s[i])))
	}
	return b.String()
}
