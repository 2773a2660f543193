package feedback

// DefaultBudget is the size of a report's failures in characters, about 25,000 tokens: it holds two hundred
// failures at full length and five hundred shortened ones.
const DefaultBudget = 100_000

// Options are the caller's facts about the run. The zero value reads a log about which nothing is known.
type Options struct {
	Tool     string // name of a tool of Tools; "" or "auto" finds out by command and content
	ExitCode *int   // of the whole command, 128+N for signal N; nil when not known
	Command  string // the command line that ran, shell syntax
	Root     string // absolute path of the project's root; paths below it are made relative

	TimedOut  bool // the caller killed it for its time: outranks what the log says
	OOMKilled bool // the system killed it for its memory: outranks what the log says

	Manifest Manifest // nil: read from Root where that exists, else judged by wording
	Cases    bool     // fill Report.Cases
	Budget   int      // characters of all failures together; 0 means DefaultBudget
}

// Ownership says whose a module is.
type Ownership string

const (
	OwnershipOwn      Ownership = "own"      // the repository's own code
	OwnershipDeclared Ownership = "declared" // a third party's that a manifest declares
	OwnershipUnknown  Ownership = "unknown"  // neither
)

// Manifest answers from the repository's files whose a module or package is. name is as the tool prints it:
// `shop.cart`, `@scope/pkg/sub`, `../src/a`, `github.com/x/y/z`, `serde::de`.
type Manifest interface {
	Owner(name string) Ownership
}
