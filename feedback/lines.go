package feedback

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	chunkSize = 64 << 10 // bytes per read: large enough to make the call free, small enough that a kept line pins little
	// longLine bounds a line of text; of a longer one the head and the tail are kept, which is where tools put
	// what counts.
	longLine     = 64 << 10
	longLineTail = 16 << 10
	// longDocument bounds a line that begins like a JSON or XML document, which linters print whole on one line.
	longDocument = 24 << 20
)

// lineSource splits a stream into lines without a limit of length and in bounded memory. Lines are substrings of
// immutable chunks, so that a line kept by mistake costs memory and never turns into another.
type lineSource struct {
	in      io.Reader
	buf     []byte
	chunk   string
	partial []byte // beginning of a line that goes on in the next chunk
	cut     int    // bytes dropped from the middle of the partial line
	err     error
	clipped bool // some line was shortened
	size    int64
}

func newLineSource(in io.Reader) *lineSource {
	return &lineSource{in: in, buf: make([]byte, chunkSize)}
}

// next returns the next line without its newline; false at the end or on error.
func (s *lineSource) next(ctx context.Context) (string, bool) {
	for {
		if i := strings.IndexByte(s.chunk, '\n'); i >= 0 {
			l := s.chunk[:i]
			s.chunk = s.chunk[i+1:]
			if len(s.partial) > 0 {
				s.keep(l)
				l = s.flush()
			}
			return l, true
		}
		if len(s.chunk) > 0 {
			s.keep(s.chunk)
			s.chunk = ""
		}
		if s.err != nil {
			if len(s.partial) > 0 {
				return s.flush(), true
			}
			return "", false
		}
		if err := ctx.Err(); err != nil {
			s.err = err
			return "", false
		}
		n, err := s.in.Read(s.buf)
		s.size += int64(n)
		s.chunk = string(s.buf[:n])
		if err != nil {
			s.err = err
		}
	}
}

// keep appends to the partial line, dropping from its middle what is beyond the bound.
func (s *lineSource) keep(text string) {
	s.partial = append(s.partial, text...)
	limit := longLine
	if len(s.partial) > limit && documentStart(s.partial) {
		limit = longDocument
	}
	if over := len(s.partial) - limit; over > 0 {
		head := limit - longLineTail
		s.cut += over
		s.partial = append(s.partial[:head], s.partial[len(s.partial)-longLineTail:]...)
		s.clipped = true
	}
}

func (s *lineSource) flush() string {
	l := string(s.partial)
	if cap(s.partial) > 4*longLine {
		s.partial = nil // do not hold a document's memory for the rest of the log
	} else {
		s.partial = s.partial[:0]
	}
	s.cut = 0
	return l
}

// failure is the error that ended the stream, nil at its regular end.
func (s *lineSource) failure() error {
	if s.err == nil || errors.Is(s.err, io.EOF) {
		return nil
	}
	return fmt.Errorf("read log after %d bytes: %w", s.size, s.err)
}

// documentStart tells whether a line begins like JSON or XML, behind any timestamps.
func documentStart(b []byte) bool {
	b = b[:min(len(b), 64)]
	i := bytes.IndexAny(b, "{[<")
	return i >= 0 && (i == 0 || i < 48 && !bytes.ContainsAny(b[:i], "=(\""))
}
