package coverage

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// decoder reads XML without following anything that it refers to; a document type is passed over.
func decoder(in io.Reader) *xml.Decoder {
	d := xml.NewDecoder(in)
	d.Strict = true
	// Names are compared and numbers read; how other letters are encoded does not matter.
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	return d
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// cobertura reads classes with a filename and lines with number and hits. Names are relative to the
// source directory, where one is named; several leave them as they are.
func (r *Report) cobertura(in io.Reader) error {
	d := decoder(in)
	var file string
	var sources []string
	inSource, root := false, false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "coverage":
				root = true
			case "source":
				inSource = true
			case "class":
				file = strings.ReplaceAll(attribute(t, "filename"), `\`, "/")
			case "line":
				line, err := strconv.Atoi(attribute(t, "number"))
				if err != nil || file == "" {
					return fmt.Errorf("a line %q belongs to no file", attribute(t, "number"))
				}
				hits, err := strconv.ParseFloat(attribute(t, "hits"), 64)
				if err != nil {
					return fmt.Errorf("line %d of %s has no hits", line, file)
				}
				if err := r.mark(file, line, hits > 0); err != nil {
					return err
				}
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "source":
				inSource = false
			case "class":
				file = ""
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(t)); inSource && text != "" {
				sources = append(sources, text)
			}
		}
	}
	if !root {
		return errors.New("it has no element coverage")
	}
	if len(sources) == 1 {
		r.Rename(func(name string) string {
			if path.IsAbs(name) {
				return name
			}
			return path.Join(sources[0], name)
		})
	}
	return nil
}

// jacoco reads source files within packages; ci counts the instructions of a line that were run.
// Names are PACKAGE/File.java, without the directory of the sources.
func (r *Report) jacoco(in io.Reader) error {
	d := decoder(in)
	var dir, file string
	root := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		start, is := token.(xml.StartElement)
		if !is {
			continue
		}
		switch start.Name.Local {
		case "report":
			root = true
		case "package":
			dir = attribute(start, "name")
		case "sourcefile":
			file = path.Join(dir, attribute(start, "name"))
		case "line":
			line, err := strconv.Atoi(attribute(start, "nr"))
			if err != nil || file == "" {
				return fmt.Errorf("a line %q belongs to no file", attribute(start, "nr"))
			}
			run, err := strconv.Atoi(attribute(start, "ci"))
			if err != nil {
				return fmt.Errorf("line %d of %s has no count", line, file)
			}
			if err := r.mark(file, line, run > 0); err != nil {
				return err
			}
		}
	}
	if !root {
		return errors.New("it has no element report")
	}
	return nil
}
