package coverage

import (
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// v8Coverage is what Node writes for each process into the directory that NODE_V8_COVERAGE names.
type v8Coverage struct {
	Result []struct {
		URL       string `json:"url"`
		Functions []struct {
			Ranges []v8Range `json:"ranges"`
		} `json:"functions"`
	} `json:"result"`
	// SourceMaps names the scripts that were made from other files: their offsets are not those of
	// the file of their name.
	SourceMaps map[string]json.RawMessage `json:"source-map-cache"`
}

// v8Range says how often a range of a script's UTF-16 code units was run.
type v8Range struct {
	Start int `json:"startOffset"`
	End   int `json:"endOffset"`
	Count int `json:"count"`
}

// ReadV8 reads one process's coverage as V8 gives it. V8 speaks in offsets, so source returns the
// text of a file by its absolute path, "" for one that does not count. Every line with more than
// white space is executable, as c8 has it; whoever asks for changed lines leaves comments out.
func ReadV8(r io.Reader, source func(file string) string) (*Report, error) {
	var v8 v8Coverage
	if err := json.NewDecoder(r).Decode(&v8); err != nil {
		return nil, err
	}
	report := &Report{Files: map[string]map[int]bool{}}
	for _, script := range v8.Result {
		at, err := url.Parse(script.URL)
		if err != nil || at.Scheme != "file" {
			continue // Node's own
		}
		if _, mapped := v8.SourceMaps[script.URL]; mapped {
			continue
		}
		text := source(at.Path)
		if text == "" {
			continue
		}
		var ranges []v8Range
		for _, f := range script.Functions {
			ranges = append(ranges, f.Ranges...)
		}
		if err := report.v8Lines(at.Path, text, ranges); err != nil {
			return nil, err
		}
	}
	report.Recount()
	return report, nil
}

// v8Lines marks the lines of one script. Ranges nest: the innermost one that holds a whole line says
// whether it was run.
func (r *Report) v8Lines(file, text string, ranges []v8Range) error {
	// Outer ranges first; of two that are the same the later one is a block of the function.
	slices.SortStableFunc(ranges, func(a, b v8Range) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	offset, number, next := 0, 0, 0
	var open []v8Range // those that have begun, by their beginning
	for line := range strings.Lines(text) {
		number++
		begin := offset
		offset += utf16Length(line)
		code := strings.TrimSpace(line)
		if code == "" {
			continue
		}
		first := begin + utf16Length(line[:strings.Index(line, code)])
		last := first + utf16Length(code)
		for next < len(ranges) && ranges[next].Start <= first {
			open = append(open, ranges[next])
			next++
		}
		open = slices.DeleteFunc(open, func(o v8Range) bool { return o.End <= first })
		run, smallest := true, 0
		for _, o := range open {
			if size := o.End - o.Start; o.End >= last && (smallest == 0 || size <= smallest) {
				run, smallest = o.Count > 0, size
			}
		}
		if err := r.mark(file, number, run); err != nil {
			return err
		}
	}
	return nil
}

// utf16Length is the length of a text in JavaScript's eyes.
func utf16Length(text string) int {
	n := 0
	for _, c := range text {
		n += utf16.RuneLen(c)
	}
	return n
}
