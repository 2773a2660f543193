package prompts

// Turn is what the coder is told about a reply that leads nowhere by itself.
type Turn string

// The corrections of the coder's replies.
const (
	TurnNothing      Turn = "nothing"       // neither blocks nor actions
	TurnHeader       Turn = "header"        // blocks without ROOT CAUSE and FILES; they are kept
	TurnOutside      Turn = "outside"       // files that FILES does not name
	TurnProtected    Turn = "protected"     // protected paths
	TurnNoEdits      Turn = "no-edits"      // this strategy must not edit
	TurnBlocks       Turn = "blocks"        // blocks with errors
	TurnUnchanged    Turn = "unchanged"     // blocks that change nothing
	TurnTwice        Turn = "twice"         // the same action with the same result
	TurnFewLeft      Turn = "few-left"      // the steps are nearly used up
	TurnUnknown      Turn = "unknown"       // an action that does not exist
	TurnAfterActions Turn = "after-actions" // edits are in place, and these are the results
	TurnDiff         Turn = "diff"          // a unified diff or a whole file instead of blocks
)

// TurnData fills a correction.
type TurnData struct {
	Files  []string
	Errors string
	Left   int
	Action string
	Known  []string
}

// Correct is the text of a correction.
func Correct(turn Turn, data TurnData) (string, error) { return render("turn."+string(turn), data) }
