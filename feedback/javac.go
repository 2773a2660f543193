package feedback

import (
	"os"
	"path/filepath"
	"strings"
)

func javacTool() *tool {
	return &tool{
		name: "javac", what: "errors of javac, alone and as Ant, Gradle and others run it", role: roleBuild,
		invocations: []string{"javac -d out src/*.java", "ant", "gradle compileJava"},
		markers:     []string{".java:", "error: release version", "error: invalid target", "error: file not found: "},
		runs:        named("javac", "ant", "java"),
		make:        func(s *sink) reader { return &javac{s: s} },
	}
}

// javac reads the Java compiler's messages: a head, the source line, a caret, details.
type javac struct {
	s    *sink
	open *Failure
	left int // lines that still belong to the open error
}

var (
	javacHead = newPattern(`^(?:\s*\[javac\] )?(\S.*?\.java):(\d+): error: (.+)$`)
	javacBare = newPattern(`^(?:\s*\[javac\] )?error: (release version .* not supported|invalid (?:source|target) release: .*|file not found: .*|warnings found and -Werror specified|no source files|module not found.*|Source option .* is no longer supported.*)$`)
	javacMore = newPattern(`^(?:\s*\[javac\])?\s+(symbol|location|required|found|reason|where): .*$|^(?:\s*\[javac\])?\s{2,}\S`)
	javacEnd  = newPattern(`^(?:\s*\[javac\] )?\d+ (?:error|warning)s?$`)
)

// line implements reader.
func (j *javac) line(l line) claim {
	t := l.text
	if m := javacHead.FindStringSubmatch(t); m != nil {
		j.close()
		const most = 12 // lines of one error
		j.open, j.left = &Failure{File: m[1], Line: atoi(m[2]), Message: "error: " + m[3], Kind: KindCompile, Log: l.n}, most
		return mine
	}
	if m := javacBare.FindStringSubmatch(t); m != nil {
		j.close()
		kind := KindConfig
		if strings.Contains(m[1], "release") {
			kind = KindEnvironment
		}
		j.s.fail(Failure{Message: "error: " + m[1], Kind: kind, weak: strings.HasPrefix(m[1], "warnings found")})
		return mine
	}
	if j.open == nil {
		return pass
	}
	if javacEnd.MatchString(t) || t == "" || j.left == 0 || t[0] != ' ' {
		j.close()
		if javacEnd.MatchString(t) {
			return mine
		}
		return pass
	}
	j.left--
	if text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(t), "[javac]")); text != "^" && javacMore.MatchString(t) {
		j.open.Message += "\n" + text
	}
	return mine
}

// close implements reader.
func (j *javac) close() {
	if j.open != nil {
		j.s.red = true
		j.s.fail(*j.open)
	}
	j.open = nil
}

// javaSource finds the source file of a stack frame, which has the bare name: below the root where it is there,
// else where Maven's and Gradle's layout puts it. test is the class of the failed test.
func (s *sink) javaSource(f frame, test string) string {
	name := javaFile(f)
	if name == "" || strings.HasPrefix(name, "src/") {
		return name
	}
	lang := "java"
	switch {
	case strings.HasSuffix(name, ".kt"):
		lang = "kotlin"
	case strings.HasSuffix(name, ".scala"):
		lang = "scala"
	case strings.HasSuffix(name, ".groovy"):
		lang = "groovy"
	}
	set := "main"
	base := strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], filepath.Ext(name))
	if test != "" && strings.HasPrefix(f.function, test) || javaTestName.MatchString(base) {
		set = "test"
	}
	first := "src/" + set + "/" + lang + "/" + name
	if s.paths.exists {
		for _, dir := range []string{"src/test/", "src/main/", "src/it/", "src/integrationTest/"} {
			p := dir + lang + "/" + name
			if fi, err := os.Lstat(filepath.Join(s.paths.root, filepath.FromSlash(s.file(p)))); err == nil && fi.Mode().IsRegular() {
				return p
			}
		}
	}
	return first
}

var javaTestName = newPattern(`(?:Tests?|IT|TestCase|Spec|ITCase)$|^Test`)

// javaTrace reads an exception with its frames.
func javaTrace(s *sink, lines []string, test string) Failure {
	f := Failure{Kind: KindTest}
	var message []string
	var frames []frame
	style := &traceStyles[0]
	for _, l := range lines {
		if m := style.frame.FindStringSubmatch(l); m != nil {
			frames = append(frames, frame{function: m[1], file: m[2], line: atoi(m[3])})
			continue
		}
		t := strings.TrimSpace(l)
		if strings.HasPrefix(t, "at ") || strings.HasPrefix(t, "...") || t == "" {
			continue
		}
		const most = 14 // lines of text of one failure
		if len(message) < most && (len(frames) == 0 || strings.HasPrefix(t, "Caused by:")) {
			message = append(message, l)
		}
	}
	f.Message = strings.Join(message, "\n")
	if top, ok := s.topFrame(frames); ok {
		f.File, f.Line = s.javaSource(top, test), top.line
	}
	return f
}
