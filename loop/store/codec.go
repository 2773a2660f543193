package store

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// maxBlob bounds one stored value before compression, in bytes: SQLite holds a value in memory as a
// whole, and nothing that a run keeps (logs are cut, bundles are thin) comes near it.
const maxBlob = 256 << 20

// codec turns values into compact blobs and back. Both halves may be used concurrently.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCodec() (codec, error) {
	// The fastest level: 12 KB of a webhook take some 50 µs and shrink to a fifth; a small window
	// keeps an idle process small.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithEncoderConcurrency(2))
	if err != nil {
		return codec{}, fmt.Errorf("make compressor: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBlob), zstd.WithDecoderConcurrency(2))
	if err != nil {
		return codec{}, fmt.Errorf("make decompressor: %w", err)
	}
	return codec{encoder: encoder, decoder: decoder}, nil
}

func (c codec) pack(data []byte) ([]byte, error) {
	if len(data) > maxBlob {
		return nil, fmt.Errorf("value of %d bytes is larger than the store's bound of %d", len(data), maxBlob)
	}
	return c.encoder.EncodeAll(data, nil), nil
}

func (c codec) unpack(blob []byte) ([]byte, error) {
	data, err := c.decoder.DecodeAll(blob, nil)
	if err != nil {
		return nil, fmt.Errorf("decompress stored value: %w", err)
	}
	return data, nil
}

func (c codec) encode(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", value, err)
	}
	return c.pack(data)
}

func (c codec) decode(blob []byte, value any) error {
	data, err := c.unpack(blob)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("decode %T: %w", value, err)
	}
	return nil
}

// micros is how times are stored; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// clean makes a text fit for PostgreSQL, which refuses NUL and invalid UTF-8.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// idAlphabet is Crockford's base 32 in lower case: no letter is taken for another when a person
// types an id, and ids fit into branch names.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// newID returns 16 characters that sort by time: 50 bits of milliseconds and 30 random ones.
func newID(now time.Time) string {
	var id [16]byte
	ms := now.UnixMilli()
	for i := 9; i >= 0; i-- {
		id[i] = idAlphabet[ms&31]
		ms >>= 5
	}
	var random [6]byte
	rand.Read(random[:]) // never fails: crypto/rand ends the program rather than be weak
	for i, b := range random {
		id[10+i] = idAlphabet[b&31]
	}
	return string(id[:])
}
