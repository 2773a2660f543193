package feedback

import "sync"

// words says which kinds of telling words a line holds. 0 means that nobody has looked.
type words uint8

const (
	wordsLooked words = 1 << iota
	wordError         // a word without which errorStart cannot match
	wordTrace         // a word without which no trace begins, but Elixir's
)

func (w words) has(kind words) bool { return w&kind != 0 }

// telling are the words of each kind. They are found together with the tools' markers, in one pass over a line.
var telling = []struct {
	kind  words
	texts []string
}{
	{wordError, []string{"rror", "RROR", "ailed", "FAIL", "ailure", "atal", "FATAL", "xception", "E:", "panic", "not ", "nable", "annot", "can't", "***", "✖", "×", "✗", "❌", "Killed", "fault", "borted", "exit", "denied", "refused", "timed out", "must", "required", "nvalid", "nexpected", "nsupported", "mismatch", "curl:", "CRITICAL", "raceback", "No such"}},
	{wordTrace, []string{"rror", "xception", "panic", ":in ", "lua", "Throwable"}},
}

// tellingTexts are all telling words, with the kind of each.
func tellingTexts() (texts []string, kinds []words) {
	for _, t := range telling {
		for _, text := range t.texts {
			texts = append(texts, text)
			kinds = append(kinds, t.kind)
		}
	}
	return texts, kinds
}

// lookForWords looks for telling words in a line that did not come by the tools' markers.
func lookForWords(s string) words {
	t := wordTable()
	found := wordsLooked
	t.matcher.find(s, func(i int) { found |= t.kinds[i] })
	return found
}

type wordMatcher struct {
	matcher *matcher
	kinds   []words
}

var wordTable = sync.OnceValue(func() wordMatcher {
	texts, kinds := tellingTexts()
	return wordMatcher{newMatcher(texts), kinds}
})
