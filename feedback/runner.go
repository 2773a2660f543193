package feedback

import (
	"fmt"
	"strings"
)

// Exit codes that say how a command ended rather than what it found. 128+N is the shell's for signal N.
const (
	exitTimeout      = 124 // timeout(1), and our own sandbox
	exitOutputLimit  = 125 // our own sandbox; docker's own failures as well
	exitNotRunnable  = 126
	exitNotFound     = 127
	exitKilled       = 137
	exitSignal       = 128
	highestSignal    = 64
	windowsCrash     = 0xC0000005 // access violation
	windowsCrashSign = windowsCrash - 1<<32
)

// signals names the signals that end programs.
var signals = map[int]string{
	1: "SIGHUP (hang-up)", 2: "SIGINT (interrupted)", 3: "SIGQUIT (quit)", 4: "SIGILL (illegal instruction)", 5: "SIGTRAP (trace trap)",
	6: "SIGABRT (aborted)", 7: "SIGBUS (bus error)", 8: "SIGFPE (arithmetic error)", 9: "SIGKILL (killed)", 11: "SIGSEGV (segmentation fault)",
	13: "SIGPIPE (broken pipe)", 15: "SIGTERM (terminated)", 24: "SIGXCPU (processor time limit)", 25: "SIGXFSZ (file size limit)",
}

// signalOf tells which signal an exit code means.
func signalOf(code int) (string, bool) {
	if code == windowsCrash || code == windowsCrashSign {
		return "access violation", true
	}
	if code <= exitSignal || code > exitSignal+highestSignal {
		return "", false
	}
	name, ok := signals[code-exitSignal]
	return name, ok
}

// withRunner adds what only the runner knows: a kill, a time-out, an exit code without any word in the log.
func withRunner(s *session, all []Failure, open string, in *sink, generics []*generic, gate bool) []Failure {
	code, _ := s.exitCode()
	name, signalled := signalOf(code)
	last := ""
	n := 0
	for _, g := range generics {
		if l, at := g.last(); at > n {
			last, n = l, at
		}
	}
	file := ""
	if open != "" && in != nil {
		file = in.file(testFile(open))
	}
	say := func(kind Kind, message string) []Failure {
		f := Failure{ID: open, File: file, Message: message, Kind: kind, Class: ClassCode, Log: n}
		if open != "" {
			f.Message += "\nwhile running " + open
		}
		if last != "" {
			f.Message += "\nlast line: " + clipMiddle(last, minMessage)
		}
		f.Message = tidyMessage(f.Message)
		f.ID, f.File = tidyLine(f.ID, maxID), tidyLine(f.File, maxPath)
		return append(all, f)
	}
	told := func(kinds ...Kind) bool {
		for _, f := range all {
			for _, k := range kinds {
				if f.Kind == k {
					return true
				}
			}
		}
		return false
	}
	switch {
	case s.opts.OOMKilled && !told(KindOOM):
		return say(KindOOM, "Killed: the system ended the command because its memory limit was reached")
	case s.opts.TimedOut && !told(KindTimeout):
		return say(KindTimeout, "the command was ended because its time limit was reached")
	case code == exitTimeout && !told(KindTimeout) && (len(all) == 0 || open != ""):
		return say(KindTimeout, "exit code 124: the command was ended because its time limit was reached")
	case code == exitKilled && !told(KindOOM, KindTimeout) && (len(all) == 0 || open != ""):
		return say(KindOOM, "Killed: exit code 137, SIGKILL (as the system does when memory runs out)")
	case signalled && (len(all) == 0 || open != "" && !told(KindCrash)):
		return say(KindCrash, fmt.Sprintf("exit code %d: the program ended by signal %s", code, name))
	case len(all) > 0:
		return all
	case gate:
		return say(KindGate, fmt.Sprintf("all that ran is green, and the command still ended with exit code %d", code))
	case code == exitNotFound:
		return say(KindEnvironment, "exit code 127: command not found")
	case code == exitNotRunnable:
		return say(KindEnvironment, "exit code 126: the command cannot be executed")
	case code != 0:
		return say(KindCrash, fmt.Sprintf("exit code %d", code))
	}
	return all
}

// testFile is the file in a test's id of the form file::name, empty for other forms.
func testFile(id string) string {
	if file, _, ok := strings.Cut(id, "::"); ok && strings.Contains(file, ".") {
		return file
	}
	return ""
}
