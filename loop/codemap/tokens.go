package codemap

import (
	"hash/maphash"
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

const (
	// exactBytes is the longest text whose tokens are counted one by one; the tokenizer does about 1 MB/s.
	exactBytes = 192 << 10
	// sampleBytes is what is counted of a longer text, in equal pieces spread over it.
	sampleBytes, samplePieces = 64 << 10, 8
	// bytesPerToken is a low guess for code, used only if the tokenizer refuses a text.
	bytesPerToken = 3
	// maxCounts bounds the remembered counts; at 24 bytes each the memory is small.
	maxCounts = 1 << 14
)

// counter counts tokens and remembers the counts. It loads its vocabulary, some 20 MB, at the first use.
type counter struct {
	once   sync.Once
	codec  tokenizer.Codec
	seed   maphash.Seed
	mu     sync.Mutex
	counts map[uint64]int32
}

func (c *counter) load() {
	// The vocabulary of the newer models; the others differ from it by a few per cent on code.
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err == nil {
		c.codec = codec
	}
	c.seed = maphash.MakeSeed()
	c.counts = map[uint64]int32{}
}

// count returns the number of tokens of text, exact up to 192 KiB and estimated from samples beyond.
func (c *counter) count(text string) int {
	if text == "" {
		return 0
	}
	c.once.Do(c.load)
	key := maphash.String(c.seed, text)
	c.mu.Lock()
	n, ok := c.counts[key]
	c.mu.Unlock()
	if ok {
		return int(n)
	}
	total := c.measure(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.counts) >= maxCounts {
		clear(c.counts)
	}
	c.counts[key] = int32(total)
	return total
}

func (c *counter) measure(text string) int {
	if len(text) <= exactBytes {
		return c.exact(text)
	}
	const piece = sampleBytes / samplePieces
	tokens := 0
	for i := range samplePieces {
		at := (len(text) - piece) / (samplePieces - 1) * i
		tokens += c.exact(text[at : at+piece])
	}
	return int(float64(tokens) / sampleBytes * float64(len(text)))
}

func (c *counter) exact(text string) int {
	if c.codec != nil {
		if n, err := c.codec.Count(text); err == nil {
			return n
		}
	}
	return len(text)/bytesPerToken + 1
}

// Tokens counts tokens as the packing does: exactly up to 192 KiB, by samples beyond. Safe for concurrent use.
func (x *Index) Tokens(text string) int { return x.count.count(text) }
