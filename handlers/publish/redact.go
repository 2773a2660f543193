package publish

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// form is the shape of a credential.
type form struct {
	// needs lists texts of which one is in every credential of this shape: looking for them is a
	// hundred times faster than matching, and most texts hold none.
	needs []string
	shape *regexp.Regexp // keeps what its group holds, if it has one
}

// secretForms are the shapes of credentials that are known without the configuration (security.md,
// rule 5).
var secretForms = []form{
	// Private keys, whole or cut off.
	{[]string{"PRIVATE KEY"}, regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)},
	// GitHub: personal, OAuth, user, server and refresh tokens, fine-grained ones. Installation tokens
	// come short (ghs_ and 36 characters) and long (ghs_APP_JWT: some 500 characters with dots).
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9_.\-]{16,}`)},
	{[]string{"github_pat_"}, regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{16,}`)},
	{[]string{"v1."}, regexp.MustCompile(`\bv1\.[0-9a-f]{40}\b`)},                                         // installation tokens of old Enterprise Servers
	{[]string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)}, // JWT
	// Model endpoints: OpenAI and the many that copy its form, Google, Groq, Hugging Face, xAI, others.
	{[]string{"sk-", "rk-", "pk-", "xai-", "pplx-"}, regexp.MustCompile(`\b(?:c?sk|rk|pk|xai|pplx)-[A-Za-z0-9_-]{16,}`)},
	{[]string{"AIza"}, regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`)},
	{[]string{"gsk_", "hf_", "r8_", "fw_", "tgp_"}, regexp.MustCompile(`\b(?:gsk|hf|r8|fw|tgp)_[A-Za-z0-9_]{16,}`)},
	// Whatever is sent as a credential.
	{[]string{"uthorization", "UTHORIZATION"}, regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?(?:bearer|token|basic)\s+)[A-Za-z0-9+/=._~-]{6,}`)},
	{[]string{"@"}, regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://)[^\s/:@"'<>\[]*:[^\s/@"'<>\[]+@`)},
}

// in says whether a text may hold such a credential.
func (f form) in(text string) bool {
	return slices.ContainsFunc(f.needs, func(part string) bool { return strings.Contains(text, part) })
}

// shortestSecret is how long a configured value must be to be looked for: shorter ones are words
// that would be blotted out everywhere.
const shortestSecret = 8

// Redactor takes secrets out of text: credentials by their shape, and the configuration's own values
// as they are, in base64, hex, URL and JSON escapes, and backwards. It is safe for concurrent use.
type Redactor struct {
	values  []string
	longest int
}

// NewRedactor returns a Redactor that also knows these values; those under 8 characters are left out.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, secret := range secrets {
		secret = strings.TrimSpace(secret)
		r.add(secret)
		// A key of many lines may be shown line by line.
		if lines := strings.Split(secret, "\n"); len(lines) > 1 {
			for _, line := range lines {
				const keyLine = 32 // shorter lines are headings and remainders
				if line = strings.TrimSpace(line); len(line) >= keyLine && !strings.HasPrefix(line, "-----") {
					r.add(line)
				}
			}
		}
	}
	// Longer ones first, so that no part of a value is replaced before the whole.
	slices.SortFunc(r.values, func(a, b string) int { return len(b) - len(a) })
	r.values = slices.Compact(r.values)
	for _, v := range r.values {
		r.longest = max(r.longest, len(v))
	}
	return r
}

func (r *Redactor) add(secret string) {
	if len(secret) < shortestSecret {
		return
	}
	backwards := []rune(secret)
	slices.Reverse(backwards)
	r.values = append(r.values, secret, string(backwards), hex.EncodeToString([]byte(secret)),
		strings.ToUpper(hex.EncodeToString([]byte(secret))), url.QueryEscape(secret), url.PathEscape(secret))
	if quoted, err := json.Marshal(secret); err == nil {
		r.values = append(r.values, strings.Trim(string(quoted), `"`))
	}
	// A value in the middle of an encoded text may begin at any of three places of a group; the
	// characters that its neighbours share are left out.
	const group = 3
	for before := range group {
		padded := append(make([]byte, before), secret...)
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := encoding.EncodeToString(padded)
			from, to := 0, len(text)
			if before > 0 {
				from = before + 1
			}
			if len(padded)%group != 0 {
				to--
			}
			if to-from >= shortestSecret {
				r.values = append(r.values, text[from:to])
			}
		}
	}
}

// String returns the text without secrets. It is idempotent.
func (r *Redactor) String(text string) string {
	spans := r.spans(text)
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.from])
		b.WriteString(redacted)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// Bytes takes the configuration's own values out of text and leaves everything else as it is: what only
// has the shape of a credential may be a test's own.
func (r *Redactor) Bytes(text []byte) []byte {
	for _, v := range r.values {
		text = bytes.ReplaceAll(text, []byte(v), []byte(redacted))
	}
	return text
}

// span is where a secret lies in a text.
type span struct{ from, to int }

// spans finds the secrets in order, overlapping ones as one.
func (r *Redactor) spans(text string) []span {
	var all []span
	for _, v := range r.values {
		for at := 0; ; {
			i := strings.Index(text[at:], v)
			if i < 0 {
				break
			}
			all = append(all, span{at + i, at + i + len(v)})
			at += i + len(v)
		}
	}
	for _, form := range secretForms {
		if !form.in(text) {
			continue
		}
		for _, m := range form.shape.FindAllStringSubmatchIndex(text, -1) {
			s := span{m[0], m[1]}
			if len(m) > 2 && m[3] >= 0 {
				s.from = m[3]
			}
			if text[s.to-1] == '@' {
				s.to-- // it belongs to the address
			}
			if !strings.HasPrefix(text[s.from:s.to], redacted) {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
	var merged []span
	for _, s := range all {
		if n := len(merged); n > 0 && s.from < merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// Writer returns a writer that passes on to w what is written, without secrets, also those that are
// split across writes: it passes on whole lines. What stands behind the last line break is passed on
// by Close, which does not close w.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &redactingWriter{redactor: r, to: w} }

// redactingWriter holds back the line that is not finished yet.
type redactingWriter struct {
	redactor *Redactor
	to       io.Writer

	mutex sync.Mutex
	held  []byte
}

const (
	// mostHeld bounds what is held back of a line, or of a private key that does not end.
	mostHeld = 256 << 10
	// longestToken is beyond any credential known by its shape, private keys apart.
	longestToken = 4 << 10
)

var (
	keyBegin = []byte("-----BEGIN ")
	keyEnd   = []byte("-----END ")
)

// Write implements io.Writer. An error of the writer behind it is returned as it is.
func (w *redactingWriter) Write(p []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.held = append(w.held, p...)
	return len(p), w.pass(w.ready())
}

// Close passes on the rest.
func (w *redactingWriter) Close() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.pass(len(w.held))
}

// ready is how much of what is held may be passed on.
func (w *redactingWriter) ready() int {
	n := bytes.LastIndexByte(w.held, '\n') + 1
	if begin := bytes.LastIndex(w.held[:n], keyBegin); begin >= 0 && !bytes.Contains(w.held[begin:n], keyEnd) {
		n = begin // a key goes on over lines
	}
	if n > 0 || len(w.held) < mostHeld {
		return n
	}
	// A line without end: the cut must not go through a secret.
	n = len(w.held) - max(longestToken, w.redactor.longest)
	for _, s := range w.redactor.spans(string(w.held)) {
		if s.from < n && n < s.to {
			n = s.to
		}
	}
	return max(n, 0)
}

// pass passes on the first n bytes.
func (w *redactingWriter) pass(n int) error {
	if n == 0 {
		return nil
	}
	text := w.redactor.String(string(w.held[:n]))
	w.held = append(w.held[:0], w.held[n:]...)
	_, err := io.WriteString(w.to, text)
	return err
}
