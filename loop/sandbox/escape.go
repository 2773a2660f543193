package sandbox

import "fmt"

// Escape makes output safe to show to a person or on a terminal: control characters other than
// tab, line feed and carriage return before a line feed become \xNN. Bytes from 0x80 on are left
// alone, since UTF-8 needs them.
func Escape(output []byte) []byte {
	out := make([]byte, 0, len(output))
	for i, c := range output {
		endsLine := c == '\r' && i+1 < len(output) && output[i+1] == '\n'
		if (c < ' ' && c != '\n' && c != '\t' && !endsLine) || c == 0x7f {
			out = fmt.Appendf(out, `\x%02x`, c)
			continue
		}
		out = append(out, c)
	}
	return out
}
