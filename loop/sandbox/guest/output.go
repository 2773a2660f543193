package guest

import (
	"io"
	"strconv"
)

// copyBuffer is as large as a pipe, so that one read takes what one holds.
const copyBuffer = 64 << 10

// Cutter passes bytes on up to a limit. What it writes is never longer than the limit: the last
// bytes before it are held back until it is known whether the marker has to take their place.
type Cutter struct {
	Sink   io.Writer
	Limit  int64
	passed int64
	held   []byte
	cut    bool
}

// Write takes p and says whether the limit still holds.
func (c *Cutter) Write(p []byte) bool {
	if c.cut {
		return false
	}
	marker := cutMarker(c.Limit)
	pending := append(c.held, p...)
	if free := c.Limit - int64(len(marker)) - c.passed; free > 0 {
		n := min(free, int64(len(pending)))
		c.pass(pending[:n])
		pending = pending[n:]
	}
	if c.passed+int64(len(pending)) <= c.Limit {
		c.held = append([]byte(nil), pending...)
		return true
	}
	c.cut, c.held = true, nil
	c.pass([]byte(marker))
	return false
}

// Finish passes on what was held back.
func (c *Cutter) Finish() {
	if !c.cut {
		c.pass(c.held)
	}
}

func (c *Cutter) pass(p []byte) {
	// A server that has gone is noticed on the control pipe; until then there is nobody to tell.
	n, _ := c.Sink.Write(p)
	c.passed += int64(n)
}

// cutMarker is the line that ends a cut stream; empty where the limit is too small to give up
// room for it.
func cutMarker(limit int64) string {
	marker := "\n[autocode: output cut here, the limit is " + strconv.FormatInt(limit, 10) + " bytes]\n"
	if int64(len(marker))*2 > limit {
		return ""
	}
	return marker
}
