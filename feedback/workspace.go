package feedback

import (
	"path"
	"strings"
)

// pnpmStream is a stream's name as pnpm makes it: the package's directory and the script.
var pnpmStream = newPattern(`^((?:[\w.-]+/)+[\w.-]+) [\w:-]+$`)

// npmPlace says in which directory the script ran whose failure npm tells at a line of the log.
var npmPlace = newPattern(`^npm (?:error|ERR!) location (/.+|[A-Za-z]:\\.+)$`)

// packagePlace is a package of a workspace whose script failed: the output above the line was printed there.
type packagePlace struct {
	line int
	dir  string // relative to the root
}

// place notes the directory that npm names behind a failed script's output.
func (n *npm) place(l line) {
	m := npmPlace.FindStringSubmatch(l.text)
	if m == nil || len(n.places) >= maxMatches {
		return
	}
	if dir := n.s.file(m[1]); dir != "" && dir != "." && !absolute(dir) && !strings.HasPrefix(dir, "..") {
		n.places = append(n.places, packagePlace{line: l.n, dir: strings.Clone(dir)})
	}
}

// placePackages puts the package's directory in front of the relative paths that its script printed.
func (s *stream) placePackages() {
	var places []packagePlace
	for _, k := range s.slots {
		if k == nil {
			continue
		}
		if n, ok := k.reader.(*npm); ok {
			places = n.places
		}
	}
	if len(places) == 0 {
		return
	}
	for _, k := range s.slots {
		if k == nil {
			continue
		}
		for i := range k.sink.failures {
			placeIn(&k.sink.failures[i], places)
		}
	}
}

// placeIn finds the package whose output a failure was read in: the first one that npm names behind it.
func placeIn(f *Failure, places []packagePlace) {
	if f.File == "" || absolute(f.File) {
		return
	}
	for _, p := range places {
		if p.line < f.Log {
			continue
		}
		if !strings.HasPrefix(f.File, p.dir+"/") {
			f.File = path.Join(p.dir, f.File)
		}
		return
	}
}
