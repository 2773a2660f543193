package feedback

import (
	"encoding/xml"
	"strings"
)

func checkstyleTool() *tool {
	return &tool{
		name: "checkstyle", what: "the Checkstyle XML format of any producer, and PMD's", role: roleLint, document: true,
		invocations: []string{"checkstyle -f xml", "phpcs --report=checkstyle", "eslint -f checkstyle", "any Checkstyle XML report"},
		markers:     []string{"<checkstyle", "<pmd "},
		make:        func(s *sink) reader { return &checkstyle{s: s} },
	}
}

// checkstyle reads Checkstyle XML element by element.
type checkstyle struct {
	s    *sink
	open bool
	buf  strings.Builder
	file string
	errs int
}

const checkstyleLimit = 1 << 20 // bytes of one unfinished element

// line implements reader.
func (c *checkstyle) line(l line) claim {
	if !c.open {
		if !strings.Contains(l.text, "<checkstyle") && !strings.Contains(l.text, "<pmd ") {
			return pass
		}
		c.open, c.s.ran = true, true
	}
	c.buf.WriteString(l.text)
	c.buf.WriteByte('\n')
	c.scan()
	if !c.open {
		return mine
	}
	return hold
}

// scan takes finished tags out of the buffer.
func (c *checkstyle) scan() {
	s := c.buf.String()
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			s = ""
			break
		}
		s = s[i:]
		name := strings.TrimLeft(s, "<")
		body := strings.HasPrefix(s, "<violation")
		end := tagEnd(s)
		if body && end > 0 && s[end-2] != '/' {
			end = elementEnd(s, "violation")
		}
		if end < 0 {
			if len(s) > checkstyleLimit {
				s = ""
			}
			break
		}
		c.tag(name, s[:end])
		s = s[end:]
	}
	rest := strings.Clone(s)
	c.buf.Reset()
	c.buf.WriteString(rest)
}

// tagEnd is the index behind the tag that s begins with, -1 when it is not complete.
func tagEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '\'':
			k := strings.IndexByte(s[i+1:], s[i])
			if k < 0 {
				return -1
			}
			i += k + 1
		case '>':
			return i + 1
		}
	}
	return -1
}

func (c *checkstyle) tag(name, text string) {
	switch {
	case strings.HasPrefix(name, "/checkstyle"), strings.HasPrefix(name, "/pmd"):
		c.open = false
		c.s.ended = true
		c.s.green = c.errs == 0
	case strings.HasPrefix(name, "file"):
		c.file = ""
		for k, v := range xmlAttrs(text) {
			if k == "name" {
				c.file = strings.Clone(xmlAttr(v))
			}
		}
	case strings.HasPrefix(name, "error") || strings.HasPrefix(name, "violation"):
		c.report(text)
	}
}

func (c *checkstyle) report(text string) {
	at := map[string]string{}
	for k, v := range xmlAttrs(text) {
		at[k] = xmlAttr(v)
	}
	message := at["message"]
	if strings.HasPrefix(text, "<violation") {
		at["line"], at["source"] = at["beginline"], at["rule"]
		var v struct {
			Text string `xml:",chardata"`
		}
		if xml.Unmarshal([]byte(text), &v) == nil {
			message = strings.TrimSpace(v.Text)
		}
	}
	c.errs++
	rule := at["source"]
	short := rule[strings.LastIndexByte(rule, '.')+1:]
	if strings.HasPrefix(short, "SC") && strings.HasPrefix(rule, "ShellCheck.") {
		rule = short
	}
	f := Failure{ID: rule, File: c.file, Line: atoi(at["line"]), Message: message, Kind: KindLint}
	if short != "" && !strings.Contains(message, short) {
		f.Message += " (" + short + ")"
	}
	c.s.red = true
	c.s.fail(f)
}

// xmlAttr undoes all entities of an attribute's value.
func xmlAttr(v string) string {
	if !strings.Contains(v, "&") {
		return v
	}
	var out struct {
		V string `xml:"v,attr"`
	}
	if err := xml.Unmarshal([]byte(`<x v="`+strings.ReplaceAll(v, `"`, "&quot;")+`"/>`), &out); err != nil {
		return xmlText(v)
	}
	return out.V
}

// close implements reader.
func (c *checkstyle) close() {}
