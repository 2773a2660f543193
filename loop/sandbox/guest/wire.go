package guest

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// Reason says how a command came to its end.
type Reason string

// The ends of a command; package sandbox documents them.
const (
	Exited      Reason = "exited"
	Timeout     Reason = "timeout"
	OOM         Reason = "oom"
	OutputLimit Reason = "output-limit"
	Signal      Reason = "signal"
)

// Spec is what the server tells the guest. No string holds a NUL byte.
type Spec struct {
	Args      []string
	Dir       string // where the command starts
	Env       []string
	HasStdin  bool
	Output    int64 // bytes per stream
	Timeout   time.Duration
	Workspace string
	Scratch   []string // tmpfs mounts that count towards Disk
	Disk      int64    // bytes
	Memory    int64    // bytes, watched by the guest; 0: the cgroup sees to it
	PIDs      int      // watched by the guest; 0: the cgroup sees to it
	Egress    string   // path of the proxy's socket inside; empty: none
	OOMFile   string   // where the cgroup counts oom_kill, inside; empty: it has no memory limit
}

// Report is what the guest tells the server at the end.
type Report struct {
	ExitCode  int
	Reason    Reason
	Signal    int
	Wall      time.Duration
	CPU       time.Duration
	MaxRSS    int64 // bytes
	Truncated bool
	Notes     []string
}

// The wire format is a decimal length, a line feed, and that many bytes of strings that each end
// in NUL; a list is preceded by its length. encoding/json would cost more than the rest of a start.

// maxMessage bounds what is read from the other side; the arguments and the environment of a
// process together are not larger (execve(2)).
const maxMessage = 8 << 20

var errMessage = errors.New("malformed message")

type encoder struct{ strings.Builder }

func (e *encoder) text(s string) {
	e.WriteString(s)
	e.WriteByte(0)
}

func (e *encoder) number(n int64) { e.text(strconv.FormatInt(n, 10)) }

func (e *encoder) flag(b bool) { e.text(strconv.FormatBool(b)) }

func (e *encoder) list(items []string) {
	e.number(int64(len(items)))
	for _, item := range items {
		e.text(item)
	}
}

func (e *encoder) frame() []byte {
	return []byte(strconv.Itoa(e.Len()) + "\n" + e.String())
}

// decoder takes strings off the front; the first failure sticks.
type decoder struct {
	rest string
	err  error
}

func (d *decoder) text() string {
	item, rest, found := strings.Cut(d.rest, "\x00")
	if !found {
		d.err = errMessage
		return ""
	}
	d.rest = rest
	return item
}

func (d *decoder) number() int64 {
	n, err := strconv.ParseInt(d.text(), 10, 64)
	if err != nil {
		d.err = errMessage
	}
	return n
}

func (d *decoder) flag() bool { return d.text() == "true" }

func (d *decoder) list() []string {
	count := d.number()
	var items []string
	for i := int64(0); i < count && d.err == nil; i++ {
		items = append(items, d.text())
	}
	return items
}

// readFrame reads one message, byte by byte up to its length: nothing behind it is taken.
func readFrame(from io.Reader) (string, error) {
	var length string
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(from, one); err != nil {
			return "", err
		}
		if one[0] == '\n' {
			break
		}
		length += string(one)
	}
	size, err := strconv.Atoi(length)
	if err != nil || size < 0 || size > maxMessage {
		return "", errMessage
	}
	content := make([]byte, size)
	_, err = io.ReadFull(from, content)
	return string(content), err
}

// Encode is the message for the guest.
func (s Spec) Encode() []byte {
	var e encoder
	e.list(s.Args)
	e.text(s.Dir)
	e.list(s.Env)
	e.flag(s.HasStdin)
	e.number(s.Output)
	e.number(int64(s.Timeout))
	e.text(s.Workspace)
	e.list(s.Scratch)
	e.number(s.Disk)
	e.number(s.Memory)
	e.number(int64(s.PIDs))
	e.text(s.Egress)
	e.text(s.OOMFile)
	return e.frame()
}

func readSpec(from io.Reader) (Spec, error) {
	content, err := readFrame(from)
	if err != nil {
		return Spec{}, err
	}
	d := &decoder{rest: content}
	s := Spec{
		Args: d.list(), Dir: d.text(), Env: d.list(), HasStdin: d.flag(), Output: d.number(), Timeout: time.Duration(d.number()),
		Workspace: d.text(), Scratch: d.list(), Disk: d.number(), Memory: d.number(), PIDs: int(d.number()), Egress: d.text(),
		OOMFile: d.text(),
	}
	return s, d.err
}

func (r Report) encode() []byte {
	var e encoder
	e.number(int64(r.ExitCode))
	e.text(string(r.Reason))
	e.number(int64(r.Signal))
	e.number(int64(r.Wall))
	e.number(int64(r.CPU))
	e.number(r.MaxRSS)
	e.flag(r.Truncated)
	e.list(r.Notes)
	return e.frame()
}

// ReadReport reads the guest's message.
func ReadReport(from io.Reader) (Report, error) {
	content, err := readFrame(from)
	if err != nil {
		return Report{}, err
	}
	d := &decoder{rest: content}
	r := Report{
		ExitCode: int(d.number()), Reason: Reason(d.text()), Signal: int(d.number()), Wall: time.Duration(d.number()),
		CPU: time.Duration(d.number()), MaxRSS: d.number(), Truncated: d.flag(), Notes: d.list(),
	}
	return r, d.err
}
