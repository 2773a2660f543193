package feedback

import (
	"strings"
	"unicode/utf8"
)

// cleanLine takes terminal escapes out of a line and applies what overwrites: of a line that a progress display
// rewrote with carriage returns, the last state is what a person saw.
func cleanLine(s string) string {
	if n := len(s); n > 0 && s[n-1] == '\r' {
		s = strings.TrimRight(s, "\r")
	}
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = stripEscapes(s)
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = lastOverwrite(s)
	}
	if strings.IndexByte(s, '\b') >= 0 {
		s = backspace(s)
	}
	if n := len(s); n > 0 && (s[n-1] == ' ' || s[n-1] == '\t') {
		s = strings.TrimRight(s, " \t")
	}
	return strings.TrimPrefix(s, "\ufeff")
}

// stripEscapes removes CSI, OSC, APC, DCS and two-character escapes. An erase of the whole line and a jump to its
// first column become a carriage return.
func stripEscapes(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		c := s[i]
		if c != 0x1b {
			j := strings.IndexByte(s[i:], 0x1b)
			if j < 0 {
				b.WriteString(s[i:])
				break
			}
			b.WriteString(s[i : i+j])
			i += j
			continue
		}
		if i+1 >= len(s) {
			break
		}
		switch s[i+1] {
		case '[': // CSI: parameters, intermediates, one final byte
			j := i + 2
			for j < len(s) && s[j] >= 0x20 && s[j] <= 0x3f {
				j++
			}
			if j < len(s) {
				if p := s[i+2 : j]; s[j] == 'G' && (p == "" || p == "1") || s[j] == 'K' && p == "2" {
					b.WriteByte('\r')
				}
				if s[j] >= 0x40 && s[j] <= 0x7e {
					j++
				}
			}
			i = j
		case ']', '_', 'P', '^', 'X': // OSC, APC, DCS, PM, SOS: until BEL or ST
			j := i + 2
			for j < len(s) && s[j] != 0x07 && s[j] != 0x1b {
				j++
			}
			if j < len(s) && s[j] == 0x07 {
				j++
			} else if j+1 < len(s) && s[j+1] == '\\' {
				j += 2
			}
			i = j
		case '(', ')', '*', '+', '#', '%', ' ': // character sets
			i += min(3, len(s)-i)
		default:
			i += 2
		}
	}
	return b.String()
}

// lastOverwrite is the last part between carriage returns that is not blank.
func lastOverwrite(s string) string {
	for rest := s; ; {
		i := strings.LastIndexByte(rest, '\r')
		if part := rest[i+1:]; strings.TrimSpace(part) != "" || i < 0 {
			return part
		}
		rest = rest[:i]
	}
}

func backspace(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\b' {
			out = append(out, s[i])
			continue
		}
		_, n := utf8.DecodeLastRune(out)
		out = out[:len(out)-n]
	}
	return string(out)
}
