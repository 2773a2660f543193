package feedback

import "strings"

// frame is one frame of a stack trace.
type frame struct {
	function string
	file     string
	line     int
}

// traceStyle is how a language prints an uncaught error and its frames.
type traceStyle struct {
	name  string
	head  *pattern // first line; group m is the message
	frame *pattern // groups f, l and optionally fn
	more  *pattern // lines that neither are frames nor end the trace
}

var traceStyles = []traceStyle{
	{"java", newPattern(`^(?:Exception in thread "[^"]*" )(?P<m>.+)$|^(?P<m2>(?:[a-z]\w*\.)+[A-Z][\w$]*(?:Exception|Error|Throwable)\b.*)$`),
		newPattern(`^\s+at (?:[\w.@-]*/)*(?P<fn>[\w.$<>]+)\((?P<f>[\w$-]+\.(?:java|kt|scala|groovy|clj)):(?P<l>\d+)\)`),
		newPattern(`^\s+(?:at |\.\.\. \d+ (?:more|common)|Suppressed:)|^Caused by: `)},
	{"dotnet", newPattern(`^Unhandled exception\. (?P<m>.+)$|^(?P<m2>(?:[A-Z]\w*\.)+\w*(?:Exception|Error)\b: .*)$`),
		newPattern(`^\s+at (?P<fn>.+?) in (?P<f>.+?):line (?P<l>\d+)`), newPattern(`^\s+at |^\s+--- End of|^\s*---> `)},
	{"go", newPattern(`^(?P<m>(?:panic: |fatal error: ).+)$`), newPattern(`^\s+(?P<f>\S.*\.(?:go|s|c)):(?P<l>\d+)(?: \+0x[0-9a-f]+)?(?: fp=.*)?$`),
		newPattern(`^$|^goroutine \d+|^[\w./*()\[\]{}-]+\(.*\)$|^created by |^\[signal |^\tpanic: |^runtime: |^exit status`)},
	{"rust", newPattern(`^thread '.*' (?:\(\d+\) )?panicked at (?P<at>.+)$`), newPattern(`^\s+at (?P<f>\S+?):(?P<l>\d+)(?::\d+)?$`),
		newPattern(`^\s+\d+: |^note: |^stack backtrace:|^\s+(?:left|right): |^$`)},
	{"php", newPattern(`^(?:PHP )?Fatal error: +Uncaught (?P<m>.+) in (?P<f>[^:\s]+)(?: on line |:)(?P<l>\d+)$`), newPattern(`^#\d+ (?P<f>[^(]+)\((?P<l>\d+)\)`), newPattern(`^Stack trace:|^  thrown in|^#\d+ \{main\}`)},
	{"ruby", newPattern("^(?:<internal:[^>]*>|(?P<f>[^\\s:]+)):(?P<l>\\d+):in [`'][^']*': (?P<m>.+)$"), newPattern("^\\s+from (?:<internal:[^>]*>|(?P<f>[^\\s:]+)):(?P<l>\\d+):in "), nil},
	{"elixir", newPattern(`^\*\* \((?P<m>[\w.]+\) .+)$`), newPattern(`^\s+(?:\([^)]*\) )?(?P<f>[\w./-]+\.exs?):(?P<l>\d+): (?P<fn>.+)$`), newPattern(`^\s+\(|^$|^\s+(?:The following|Attempted|\#)`)},
	{"haskell", newPattern(`^(?P<m>[\w-]+: (?:Prelude\.|Map\.|.*(?:exception|Exception|error)).*)$`), newPattern(`^\s+\w+, called at (?P<f>\S+\.hs):(?P<l>\d+):\d+ in `), newPattern(`^CallStack`)},
	{"dart", newPattern(`^Unhandled exception:(?P<m>)$`), newPattern(`^#\d+ +(?P<fn>.+?) \((?P<f>[^()]+?):(?P<l>\d+)(?::\d+)?\)$`), newPattern(`^[A-Z].*$|^<asynchronous`)},
	{"lua", newPattern(`^(?:lua\S*|luajit): (?P<m>(?P<f>[^\s:]+):(?P<l>\d+): .+)$`), newPattern(`^\s+(?P<f>[^\s:\[]+):(?P<l>\d+): in `), newPattern(`^stack traceback|^\s+\[C\]`)},
	{"r", newPattern(`^(?P<m>Error in .+)$`), newPattern(`^\s*\d+: .*\((?P<f>\S+\.R)#(?P<l>\d+)\)`), newPattern(`^  \S|^Calls: |^Execution halted`)},
	{"julia", newPattern(`^(?P<m>ERROR: (?:LoadError: )?.+)$`), newPattern(`^\s+@ (?:\S+ )?(?P<f>\S+\.jl):(?P<l>\d+)|in expression starting at (?P<f2>\S+\.jl):(?P<l2>\d+)`), newPattern(`^Stacktrace:|^\s+\[\d+\] |^$`)},
}

// traceReader collects uncaught errors with their frames.
type traceReader struct {
	sink   *sink
	style  *traceStyle
	head   []string
	frames []frame
	at     int // log line of the head
	found  []Failure
}

// line tells whether the line belongs to a trace.
func (t *traceReader) line(l line) bool {
	if t.style != nil {
		if t.follow(l.text) {
			return true
		}
		t.close()
	}
	return t.start(l)
}

func (t *traceReader) start(l line) bool {
	s := l.text
	if len(s) < 8 || len(s) > 4000 || s[0] == '\t' || len(t.found) >= maxMatches {
		return false
	}
	if l.words == 0 {
		l.words = lookForWords(s)
	}
	if !l.words.has(wordTrace) && !strings.HasPrefix(s, "** (") {
		return false
	}
	for i := range traceStyles {
		st := &traceStyles[i]
		m := st.head.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		t.style, t.at, t.head, t.frames = st, l.n, []string{}, nil
		f := frame{}
		for j, name := range st.head.SubexpNames() {
			switch {
			case m[j] == "":
			case name == "m" || name == "m2":
				t.head = append(t.head, strings.Clone(m[j]))
			case name == "f":
				f.file = m[j]
			case name == "l":
				f.line = atoi(m[j])
			case name == "at":
				// src/main.rs:2:5: (the message follows) or, before Rust 1.73, 'message', src/main.rs:2:5
				f, t.head = rustPlace(m[j])
			}
		}
		if f.file != "" {
			t.frames = append(t.frames, f)
		}
		return true
	}
	return false
}

var (
	rustNew = newPattern(`^(\S+):(\d+):\d+:$`)
	rustOld = newPattern(`^'(.*)', (\S+):(\d+):\d+$`)
)

func rustPlace(s string) (frame, []string) {
	if m := rustNew.FindStringSubmatch(s); m != nil {
		return frame{file: m[1], line: atoi(m[2])}, []string{}
	}
	if m := rustOld.FindStringSubmatch(s); m != nil {
		return frame{file: m[2], line: atoi(m[3])}, []string{m[1]}
	}
	return frame{}, []string{s}
}

func (t *traceReader) follow(s string) bool {
	if m := t.style.frame.FindStringSubmatch(s); m != nil {
		f := frame{}
		for j, name := range t.style.frame.SubexpNames() {
			switch {
			case m[j] == "":
			case strings.HasPrefix(name, "fn"):
				f.function = m[j]
			case strings.HasPrefix(name, "f"):
				f.file = m[j]
			case strings.HasPrefix(name, "l"):
				f.line = atoi(m[j])
			}
		}
		if len(t.frames) < traceFrames {
			t.frames = append(t.frames, f)
		}
		return true
	}
	if t.style.name == "rust" && len(t.head) == 0 && s != "" {
		t.head = append(t.head, strings.Clone(s))
		return true
	}
	if t.style.more != nil && t.style.more.MatchString(s) {
		const most = 8 // lines of text of an error
		if text := strings.TrimSpace(s); len(t.head) < most && (strings.HasPrefix(s, "Caused by: ") || strings.HasPrefix(text, "left:") || strings.HasPrefix(text, "right:") || strings.HasPrefix(text, "---> ") || t.style.name == "dart" && len(t.frames) == 0 || t.style.name == "r") {
			t.head = append(t.head, strings.Clone(text))
		}
		return true
	}
	return false
}

// close ends the trace that is being read.
func (t *traceReader) close() {
	if t.style == nil {
		return
	}
	st := t.style
	t.style = nil
	needsFrames := st.name == "java" && len(t.head) > 0 && !strings.Contains(t.head[0], " ") || st.name == "dotnet" || st.name == "haskell" || st.name == "r"
	if len(t.head) == 0 || len(t.frames) == 0 && needsFrames {
		return
	}
	f := Failure{Message: strings.Join(t.head, "\n"), Kind: KindCrash, Log: t.at}
	if top, ok := t.sink.topFrame(t.frames); ok {
		f.File, f.Line = javaFile(top), top.line
		if top.function != "" {
			f.Message += "\nat " + top.function
		}
	}
	t.found = append(t.found, f)
}

// topFrame is the first frame in the project's own files, else the first with a file at all.
func (s *sink) topFrame(frames []frame) (frame, bool) {
	for _, f := range frames {
		if f.file != "" && s.own(f.file) && !libraryFunction(f.function) {
			return f, true
		}
	}
	return frame{}, false
}

// libraryFunction tells functions of runtimes and test libraries whose frames have no telling path.
func libraryFunction(fn string) bool {
	for _, p := range []string{"java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "scala.", "groovy.", "org.junit.", "junit.", "org.opentest4j.", "org.hamcrest.", "org.assertj.", "org.testng.", "org.mockito.", "org.gradle.", "org.apache.maven.", "org.springframework.", "com.google.common.", "io.kotest.", "System.", "Microsoft.", "Xunit.", "NUnit.", "testing.", "runtime.", "reflect.", "clojure."} {
		if strings.HasPrefix(fn, p) {
			return true
		}
	}
	return false
}

// javaFile gives a Java frame's file with the directories that its package stands for: traces have the bare name.
func javaFile(f frame) string {
	if strings.Contains(f.file, "/") || !strings.HasSuffix(f.file, ".java") && !strings.HasSuffix(f.file, ".kt") && !strings.HasSuffix(f.file, ".scala") && !strings.HasSuffix(f.file, ".groovy") {
		return f.file
	}
	parts := strings.Split(f.function, ".")
	var dir []string
	for _, p := range parts {
		if p == "" || p[0] >= 'A' && p[0] <= 'Z' || len(dir) >= len(parts)-2 {
			break
		}
		dir = append(dir, p)
	}
	return strings.Join(append(dir, f.file), "/")
}
