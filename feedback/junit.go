package feedback

import (
	"encoding/xml"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

func junitTool() *tool {
	return &tool{
		name: "junit-xml", what: "JUnit XML of any producer (Surefire, Gradle, pytest, jest-junit, gotestsum, PHPUnit, rspec …), nested suites, reruns, root-level cases", document: true,
		invocations: []string{"any JUnit XML report, alone or within a log"},
		markers:     []string{"<testsuite", "<testcase"},
		make:        func(s *sink) reader { return &junit{s: s} },
	}
}

// junit reads JUnit XML case by case, so that a report of any size, cut or mixed with other lines, is read in
// bounded memory.
type junit struct {
	s       *sink
	open    bool
	head    string          // how the buffer begins
	buf     strings.Builder // text since the beginning of an unfinished element
	suites  []junitSuite
	passed  int
	failed  int
	skipped int
	first   int
	done    bool
	cut     bool
}

type junitSuite struct{ name, file string }

type junitCase struct {
	Name      string         `xml:"name,attr"`
	Class     string         `xml:"classname,attr"`
	PHPClass  string         `xml:"class,attr"` // as PHPUnit prints it, with backslashes
	File      string         `xml:"file,attr"`
	Line      string         `xml:"line,attr"`
	Time      string         `xml:"time,attr"`
	Status    string         `xml:"status,attr"`
	Result    string         `xml:"result,attr"`
	Failures  []junitProblem `xml:"failure"`
	Errors    []junitProblem `xml:"error"`
	Skipped   *junitProblem  `xml:"skipped"`
	Flaky     []junitProblem `xml:"flakyFailure"`
	FlakyErr  []junitProblem `xml:"flakyError"`
	Rerun     []junitProblem `xml:"rerunFailure"`
	RerunErr  []junitProblem `xml:"rerunError"`
	SystemOut string         `xml:"system-out"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
	Stack   string `xml:"stackTrace"`
}

const (
	junitLimit = 1 << 20 // bytes of one test case that are read: a case with more output is cut
)

// xmlAttrs gives the attributes of a start tag, values as they stand.
func xmlAttrs(tag string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for {
			i := strings.IndexAny(tag, `"'`)
			if i < 0 {
				return
			}
			j := strings.IndexByte(tag[i+1:], tag[i])
			if j < 0 {
				return
			}
			name := strings.TrimRight(tag[:i], " \t\n=")
			if k := strings.LastIndexAny(name, " \t\n"); k >= 0 {
				name = name[k+1:]
			}
			if !yield(name, tag[i+1:i+1+j]) {
				return
			}
			tag = tag[i+j+2:]
		}
	}
}

// line implements reader.
func (j *junit) line(l line) claim {
	t := l.text
	if !j.open {
		if !strings.Contains(t, "<testsuite") && !strings.Contains(t, "<testcase") {
			return pass
		}
		j.open, j.first = true, l.n
	}
	j.buf.WriteString(t)
	j.buf.WriteByte('\n')
	if strings.HasPrefix(j.head, "<testcase") && !strings.Contains(t, "</testcase>") && !strings.Contains(t, "/>") && !strings.Contains(t, "]]>") && j.buf.Len() < junitLimit {
		return hold // an unfinished case does not end in this line
	}
	j.scan()
	if j.done && strings.TrimSpace(j.buf.String()) == "" {
		j.open, j.done = false, false
		return mine
	}
	return hold
}

// scan takes finished elements out of the buffer.
func (j *junit) scan() {
	s := j.buf.String()
	at := 0
	for {
		i := strings.IndexByte(s[at:], '<')
		if i < 0 {
			at = len(s)
			break
		}
		at += i
		rest := s[at:]
		switch {
		case strings.HasPrefix(rest, "<testcase") && len(rest) > 9 && !isNameByte(rest[9]):
			end := elementEnd(rest, "testcase")
			if end < 0 {
				if len(rest) > junitLimit {
					j.cut = true
					cut := rest[:junitLimit]
					if k := strings.LastIndexByte(cut, '<'); k > 0 {
						cut = cut[:k]
					}
					rest = cut
				}
				j.keep(rest)
				return
			}
			j.testcase(rest[:end])
			at += end
			continue
		case strings.HasPrefix(rest, "<testsuite") && len(rest) > 10 && !isNameByte(rest[10]):
			end := strings.IndexByte(rest, '>')
			if end < 0 {
				j.keep(rest)
				return
			}
			j.done = false
			x := junitSuite{}
			for name, raw := range xmlAttrs(rest[:end]) {
				switch v := xmlText(raw); name {
				case "name":
					x.name = v
				case "file", "filepath":
					x.file = v
				}
			}
			if rest[end-1] != '/' {
				j.suites = append(j.suites, x)
			}
			at += end + 1
			continue
		case strings.HasPrefix(rest, "</testsuites>"):
			j.done, j.suites = true, nil
			at += len("</testsuites>")
			continue
		case strings.HasPrefix(rest, "</testsuite>"):
			if len(j.suites) > 0 {
				j.suites = j.suites[:len(j.suites)-1]
			}
			j.done = len(j.suites) == 0
			at += len("</testsuite>")
			continue
		case strings.HasPrefix(rest, "<![CDATA["):
			if k := strings.Index(rest, "]]>"); k >= 0 {
				at += k + 3
				continue
			}
			at = len(s)
		default:
			const longestTag = 16 // "</testsuites>" and its kin may be cut at the buffer's end
			if !strings.Contains(rest, ">") && len(rest) < longestTag {
				j.keep(rest)
				return
			}
			at++
			continue
		}
		break
	}
	j.keep(s[min(at, len(s)):])
}

func (j *junit) keep(rest string) {
	rest = strings.Clone(rest)
	j.head = rest[:min(len(rest), len("<testcase"))]
	j.buf.Reset()
	j.buf.WriteString(rest)
}

func isNameByte(c byte) bool {
	return c == '-' || c == '_' || c == ':' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// elementEnd is the index behind the element that s begins with, -1 when it is not complete. Text in CDATA sections
// and attribute values is not taken for markup.
func elementEnd(s, name string) int {
	i := len(name) + 1
	for i < len(s) { // end of the start tag
		switch s[i] {
		case '"', '\'':
			k := strings.IndexByte(s[i+1:], s[i])
			if k < 0 {
				return -1
			}
			i += k + 2
			continue
		case '/':
			if i+1 < len(s) && s[i+1] == '>' {
				return i + 2
			}
		case '>':
			goto body
		}
		i++
	}
	return -1
body:
	closing := "</" + name + ">"
	for {
		c, d := strings.Index(s[i:], closing), strings.Index(s[i:], "<![CDATA[")
		if c < 0 {
			return -1
		}
		if d < 0 || c < d {
			return i + c + len(closing)
		}
		e := strings.Index(s[i+d:], "]]>")
		if e < 0 {
			return -1
		}
		i += d + e + len("]]>")
	}
}

// xmlText undoes entities.
func xmlText(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#10;", "\n", "&#13;", "", "&#9;", "\t", "&#xA;", "\n", "&#xa;", "\n", "&amp;", "&").Replace(s)
}

// testcase reads one complete element.
func (j *junit) testcase(text string) {
	var c junitCase
	if tag, ok := passingCase(text); ok {
		for name, raw := range xmlAttrs(tag) {
			switch v := xmlText(raw); name {
			case "name":
				c.Name = v
			case "classname":
				c.Class = v
			case "class":
				c.PHPClass = v
			case "file":
				c.File = v
			case "time":
				c.Time = v
			case "status":
				c.Status = v
			case "result":
				c.Result = v
			}
		}
		j.settle(&c)
		return
	}
	d := xml.NewDecoder(strings.NewReader(strings.ToValidUTF8(text, "\uFFFD")))
	d.Strict = false
	if d.Decode(&c) != nil {
		return
	}
	j.settle(&c)
}

// passingCase gives the start tag of a case without any child but output: nearly all are, and need no decoder.
func passingCase(text string) (string, bool) {
	for _, child := range []string{"<failure", "<error", "<skipped", "<flaky", "<rerun", "<disabled"} {
		if strings.Contains(text, child) {
			return "", false
		}
	}
	i := strings.IndexByte(text, '>')
	if i < 0 || strings.Count(text[:i], `"`)%2 != 0 {
		return "", false
	}
	return text[:i], true
}

// settle hands in what a case says.
func (j *junit) settle(c *junitCase) {
	name, class := strings.TrimSpace(c.Name), strings.TrimSpace(c.Class)
	if strings.Contains(name, "&quot;") { // Node's reporter escapes attributes twice
		name = xmlText(name)
	}
	suite := ""
	if n := len(j.suites); n > 0 {
		suite = j.suites[n-1].name
	}
	id := name
	switch {
	case c.PHPClass != "" && strings.HasSuffix(c.File, ".php"):
		id = c.PHPClass + "::" + name
	case class == "" || class == "test" || class == name || strings.HasPrefix(name, class) || strings.HasSuffix(class, name):
		if strings.HasSuffix(class, name) && class != name {
			id = class
		}
	case strings.HasSuffix(class, ".py") || strings.Contains(class, "::"):
		id = class + "::" + name
	case strings.Contains(class, "/"):
	case strings.Contains(class, " "):
		id = class + " " + name
	default:
		id = class + "." + name
	}
	took := time.Duration(0)
	if f, err := strconv.ParseFloat(strings.ReplaceAll(c.Time, ",", ""), 64); err == nil {
		took = time.Duration(f * float64(time.Second))
	}
	problems := append(append([]junitProblem{}, c.Errors...), c.Failures...)
	file := c.File
	if file == "" && len(j.suites) > 0 {
		file = j.suites[len(j.suites)-1].file
	}
	if ext := path.Ext(class); file == "" && (ext == ".cpp" || ext == ".cc" || ext == ".cxx") {
		file = class // doctest's class is the source file
	}
	status := CasePassed
	switch {
	case len(problems) > 0 && c.Skipped != nil: // a todo test that fails, as Node writes it
		status, problems = CaseSkipped, nil
		j.skipped++
	case len(problems) > 0:
		status = CaseFailed
		j.failed++
	case c.Skipped != nil || c.Status == "skipped" || c.Status == "notrun" || c.Result == "skipped" || c.Status == "disabled":
		status = CaseSkipped
		j.skipped++
	default:
		j.passed++
		if len(c.Flaky)+len(c.FlakyErr) > 0 {
			j.s.flaky(id)
		}
	}
	key := suite
	if class != "" {
		key = class
	}
	if problem := slices.ContainsFunc(problems, func(p junitProblem) bool { return strings.Contains(p.Type, "RiskyTest") }); problem { // PHPUnit's word for a test without assertions, which fails nothing
		status, problems = CasePassed, nil
		j.failed--
		j.passed++
	}
	j.s.suiteTest(key, id, j.s.file(file), status, took)
	if len(problems) == 0 {
		return
	}
	if rule, ok := strings.CutPrefix(name, "org.eslint."); ok {
		j.eslint(rule, suite, problems[0])
		return
	}
	f := j.failure(c, problems[0], file)
	f.ID, f.Suite = id, key
	if len(c.Errors) > 0 && len(c.Failures) == 0 && (name == "" || class == "" && strings.HasSuffix(name, ".py")) {
		f.Kind = KindSetup
	}
	if name == "" || f.ID == "" {
		f.ID = class
	}
	if id := pytestID(c); id != "" {
		f.ID = id
	}
	j.s.fail(f)
}

func firstMatching(lines []string, part string) string {
	for _, l := range lines {
		if strings.Contains(l, part) {
			return l
		}
	}
	return ""
}

// messageAboveTrace is the text before the first frame of a stack trace.
func messageAboveTrace(lines []string) string {
	var out []string
	for _, l := range lines {
		if isStackLine(l) || strings.HasPrefix(l, " ❯ ") && jsFrame.MatchString(l) || strings.HasPrefix(strings.TrimSpace(l), "#") && traceFrame(l) {
			break
		}
		out = append(out, l)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

func traceFrame(l string) bool {
	for i := range traceStyles {
		if traceStyles[i].frame.MatchString(l) {
			return true
		}
	}
	return false
}

// placeInTrace finds the top project frame of a stack trace of any language, or a file:line on a line of its own.
func (s *sink) placeInTrace(lines []string) (string, int) {
	var frames []frame
	for _, l := range lines {
		for i := range traceStyles {
			st := &traceStyles[i]
			m := st.frame.FindStringSubmatch(l)
			if m == nil {
				continue
			}
			f := frame{}
			for k, name := range st.frame.SubexpNames() {
				switch {
				case m[k] == "":
				case name == "fn":
					f.function = m[k]
				case strings.HasPrefix(name, "f"):
					f.file = m[k]
				case strings.HasPrefix(name, "l"):
					f.line = atoi(m[k])
				}
			}
			if f.file != "" {
				f.file = javaFile(f)
				frames = append(frames, f)
				break
			}
		}
		if m := barePlace.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			frames = append(frames, frame{file: m[1], line: atoi(m[2])})
		}
	}
	if top, ok := s.topFrame(frames); ok {
		return top.file, top.line
	}
	return "", 0
}

var barePlace = newPattern(`^(?:# |at |Failure/Error at )?((?:[A-Za-z]:)?[^\s:()]+\.\w+):(\d+)(?::in .*|:\d+)?$`)

// close implements reader.
func (j *junit) close() {
	if j.first == 0 {
		return
	}
	if j.open && j.buf.Len() > 0 && strings.HasPrefix(j.buf.String(), "<testcase") {
		j.testcase(j.buf.String()) // cut in the middle: what there is of it
	}
	j.s.ran = true
	j.s.add(j.passed, j.failed, j.skipped)
	if j.failed > 0 {
		j.s.red = true
	} else {
		j.s.green = true
	}
	j.s.ended = !j.open
}
