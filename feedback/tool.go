package feedback

// tool describes one tool or format and makes its reader.
//
// A reader wakes in two ways: the command line names the tool (runs), or a line holds one of the markers. Markers
// are literal texts, found anywhere in a line, all tools' at once in one pass; choose ones that occur early in the
// tool's output and hardly anywhere else. When a marker wakes a reader, it is first given the last lookback lines
// that no other reader took, so a marker may come a little after the first interesting line.
type tool struct {
	name        string   // printed as Report.Tool and accepted by Options.Tool
	what        string   // for the README's table: what is recognised
	invocations []string // for the README's table: the commands that are meant
	markers     []string
	// runs tells whether a simple command (environment, wrappers such as npx, sudo, `python -m` and the
	// directory of the program are already taken off: args[0] is the bare name) runs this tool. May be nil.
	runs func(args []string) bool
	// family names further tools that this tool's command may bring to speech: `go test` also compiles and vets.
	family []string
	// wrapper tools (make, npm, CI runners) are offered every line, also while another reader holds the stream,
	// and their own failure counts only where no tool that they ran tells a better one.
	wrapper bool
	// role says what the tool does; counts of test runners outrank those of the others.
	role role
	// document marks a format that may appear whole in any log (JUnit XML, SARIF): it is always looked for.
	document bool
	make     func(*sink) reader
}

// role is what a tool does.
type role int

const (
	roleTest    role = iota // runs tests
	roleLint                // reads sources and finds fault: linters, formatters, type checkers
	roleBuild               // compiles and links
	roleInstall             // fetches dependencies
	roleRun                 // runs a program: its crash, its stack trace
)

// reader understands the lines of one tool in one stream.
type reader interface {
	// line is offered each line in order and says whose it is.
	line(l line) claim
	// close is called once after the last line; the reader hands in what is still open.
	close()
}

// claim is a reader's answer to a line.
type claim int

const (
	// pass: the line is not this tool's; the next reader is asked.
	pass claim = iota
	// mine: the line is this tool's, nobody else needs to see it.
	mine
	// hold: like mine, and the following lines go to this reader alone until it answers pass (that line is then
	// offered to the others) or mine. A test runner holds its stream from its header to its final summary, so
	// that what tests print is not believed. Do not hold without an end that the tool really prints.
	hold
)

// line is one cleaned line of the log.
type line struct {
	n    int    // number in the log, from 1
	text string // without escapes, CI prefixes, trailing blanks and line end; clone what you keep for long

	words words // set for lines that the generic reader is offered
}
