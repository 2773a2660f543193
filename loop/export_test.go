package loop

// Best is the index of the best round.
func Best(rounds []Round) int { return best(rounds) }

// What candidates are counted and compared by.
var (
	CandidatesWanted = candidatesWanted
	Affordable       = affordable
	Complexity       = complexity
)
