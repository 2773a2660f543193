package prompts

// RankData is what a model is shown to order files that were found by words.
type RankData struct {
	Issue string
	// Files has a line "number path: names" for each.
	Files string
}

// Rank is the call that orders located files.
func Rank(data RankData) (Prompt, error) { return prompt("rank", data) }
