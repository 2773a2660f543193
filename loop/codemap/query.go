package codemap

import (
	"cmp"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxQuery is how much of a text is read, in bytes: an issue of GitHub holds at most 65,536 characters.
	maxQuery = 64 << 10
	// maxTerms bounds the terms that are looked for: logs pasted into an issue have thousands.
	maxTerms = 384
	// maxMentions bounds the paths and frames that are resolved.
	maxMentions = 64
	// titleWeight is how much more a word of the first line says than one of the rest.
	titleWeight = 2
	// codeWeight is the same for words in code spans and quotes.
	codeWeight = 1.5
	// joinedWeight is the weight of joined words against that of a plain word: their parts are looked for as well.
	joinedWeight = 0.5
)

// query is what was understood of an issue's text.
type query struct {
	weights  map[string]float64   // of terms
	order    []string             // the terms, heaviest first
	joined   map[string]bool      // those that join several words
	pairs    map[[2]string]string // words that stand side by side in the text, and the term that they make
	mentions []mention
	names    map[string]bool // identifiers that the text spells out: of several words, or called
	about    [classes]bool   // which classes of files besides sources the text is about
}

// mention is a file that a text names.
type mention struct {
	path   string // as far as it is given, with slashes
	line   int    // 0 if not given
	frame  bool   // of a stack trace
	module bool   // a dotted or doubly-coloned name, which may be a file or not
}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
	blobURL     = regexp.MustCompile(`https?://[^\s/]+/[^\s/]+/[^\s/]+/(?:blob|tree|raw|blame)/[^\s/]+/([^\s#?)\]>]+)(?:#L(\d+))?`)
	anyURL      = regexp.MustCompile(`https?://[^\s)\]>"']+`)
	fence       = regexp.MustCompile("(?s)(?:```|~~~)[^\n]*\n(.*?)(?:```|~~~|$)")
	quoted      = regexp.MustCompile("`([^`\n]{2,120})`|\"([^\"\n]{2,120})\"|'([A-Za-z_][^'\n]{1,80})'|\u201c([^\u201d\n]{2,120})\u201d")
	trailer     = regexp.MustCompile(`(?mi)^(signed-off-by|co-authored-by|reviewed-by|acked-by|cc|change-id|reviewed-on):.*$`)

	// What issue templates add: their headings and check lists say nothing of the fault.
	template = regexp.MustCompile(`(?mi)^\s*(?:#{1,6}|\*\*)\s*(?:describe the (?:bug|problem|feature)|description|summary|bug report|(?:steps )?to reproduce|steps|reproduction|how to reproduce|expected (?:behaviou?r|results?)|actual (?:behaviou?r|results?)|current behaviou?r|environment|additional (?:context|information)|screenshots?|system info(?:rmation)?|versions?|possible solution|what happened|what did you (?:do|expect|see)[^\n]*|relevant log output|logs?|output|checklist|context|is there an existing issue[^\n]*)\s*[:?]?\s*(?:\*\*)?:?\s*$|^\s*[-*] \[[ xX]\] .*$`)

	pythonFrame = regexp.MustCompile(`File "([^"\n]+)", line (\d+)`)
	jvmFrame    = regexp.MustCompile(`\bat ([\w$.]+)\.[\w$<>]+\(([\w$]+\.(?:java|kt|scala|groovy)):(\d+)\)`)
	dotnetFrame = regexp.MustCompile(` in ([^\n:]*?[\w.\-/\\: ]+\.(?:cs|fs|vb)):line (\d+)`)
	jsFrame     = regexp.MustCompile(`\bat (?:[\w$.<>\[\] ]+ )?\(?(?:file://)?((?:[A-Za-z]:)?[^\s()]+\.[cm]?[jt]sx?):(\d+)(?::\d+)?\)?`)
	phpFrame    = regexp.MustCompile(`(?:#\d+ |in )((?:[A-Za-z]:)?[^\s()]+\.php)[(:](?:line )?(\d+)\)?`)
	placed      = regexp.MustCompile(`((?:[A-Za-z]:)?[\w.@~+\-/\\]*[\w+\-]\.[A-Za-z][A-Za-z0-9+]{0,9})(?::|\(| line |#L)(\d+)`)
	named       = regexp.MustCompile(`(?:[\w.@~+\-]+[/\\])*[\w+\-.]*\w\.[A-Za-z][A-Za-z0-9+]{0,9}\b`)
	directories = regexp.MustCompile(`(?:[\w.@~+\-]+/)+[\w.@+\-]+`)
	identifier  = regexp.MustCompile(`[A-Za-z_$][\w$]*\(?`)
	dotted      = regexp.MustCompile(`\b[A-Za-z_]\w*(?:(?:\.|::|\\)[A-Za-z_]\w*)+\b`)

	aboutTests = regexp.MustCompile(`(?i)\b(flaky|(unit|integration|e2e|regression|failing|missing|broken|add|more|new|skip(ped)?) tests?|tests? (suite|case|cases|fail|fails|failing|failure|coverage|helper|fixture)s?|test[(:]|spec[(:])`)
	aboutDocs  = regexp.MustCompile(`(?i)\b(documentation|docs?|readme|changelog|typos?|docstrings?|tutorial|man ?page)\b`)
	aboutBuild = regexp.MustCompile(`(?i)\b(makefile|cmake|dockerfile|github actions?|workflow file|ci|build (script|system|file)|pyproject|package\.json|dependabot|bump|gradle|pom\.xml|packaging)\b`)
	aboutShown = regexp.MustCompile(`(?i)\b(examples?|samples?|demos?|benchmarks?)\b`)
)

// parseQuery reads an issue's text. It accepts any bytes.
func parseQuery(text string) *query {
	text = strings.ToValidUTF8(text[:min(len(text), maxQuery)], " ")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = htmlComment.ReplaceAllString(text, " ")
	text = trailer.ReplaceAllString(text, " ")
	text = template.ReplaceAllString(text, " ")
	q := &query{weights: map[string]float64{}, joined: map[string]bool{}, pairs: map[[2]string]string{}}
	q.readMentions(text)
	q.readNames(text)
	text = blobURL.ReplaceAllString(text, " ")
	text = anyURL.ReplaceAllString(text, " ")
	title, _, _ := strings.Cut(strings.TrimLeft(text, " \n\t#"), "\n")
	q.about[classTest] = aboutTests.MatchString(title)
	q.about[classDocs] = aboutDocs.MatchString(title)
	q.about[classBuild] = aboutBuild.MatchString(title)
	q.about[classExample] = aboutShown.MatchString(title)
	q.readWords(text, title)
	return q
}

// readWords weighs the terms of a text: how often they occur, damped, and more in the title and in code.
func (q *query) readWords(text, title string) {
	count := map[string]float64{}
	boost := map[string]float64{}
	x := lexer{dict: newDictionary()}
	each := func(s string, see func(term string, whole bool)) {
		x.words([]byte(s))
		var before []string // words of the identifier before, if nothing but white space lies between
		end := int32(0)
		for _, w := range x.line {
			name := x.dict.names[w.id]
			if stopWords[strings.ToLower(name)] {
				before = nil
				continue
			}
			words := split(name)
			list, plain := terms(name)
			for i, t := range list {
				see(t, i >= plain)
			}
			if len(before) > 0 && len(words) > 0 && strings.Trim(s[end:w.start], " \t\n-_/.") == "" {
				t := pair(before[len(before)-1], words[0])
				see(t, true)
				q.pairs[[2]string{stem(before[len(before)-1]), stem(words[0])}] = t
			}
			before, end = words, w.end
		}
	}
	each(text, func(t string, whole bool) {
		count[t]++
		if whole {
			q.joined[t] = true
		}
	})
	raise := func(by float64) func(string, bool) {
		return func(t string, _ bool) { boost[t] = max(boost[t], by) }
	}
	each(title, raise(titleWeight))
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		each(m[1], raise(1))
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		each(strings.Join(m[1:], " "), raise(codeWeight))
	}
	for t, n := range count {
		if len(t) < 2 || stopWords[t] || number(t) {
			continue
		}
		q.weights[t] = (1 + math.Log(n)) * max(boost[t], 1)
		if q.joined[t] {
			q.weights[t] *= joinedWeight
		}
		q.order = append(q.order, t)
	}
	slices.SortFunc(q.order, func(a, b string) int {
		return cmp.Or(cmp.Compare(q.weights[b], q.weights[a]), cmp.Compare(a, b))
	})
	for len(q.order) > maxTerms {
		delete(q.weights, q.order[len(q.order)-1])
		q.order = q.order[:len(q.order)-1]
	}
}

// readNames finds the identifiers that can be nothing but a name of the program: findPath, find_path, find().
func (q *query) readNames(text string) {
	q.names = map[string]bool{}
	for _, m := range identifier.FindAllString(anyURL.ReplaceAllString(text, " "), maxTerms) {
		name, called := strings.CutSuffix(m, "(")
		if len(name) > 2 && (called || len(split(name)) > 1) && !stopWords[strings.ToLower(name)] {
			q.names[name] = true
		}
	}
}

// number tells whether a term is a number that names nothing: a count, a year, an issue. Status codes and
// ports, of three to five digits, are kept.
func number(t string) bool {
	for i := range len(t) {
		if t[i] < '0' || t[i] > '9' {
			return false
		}
	}
	return len(t) < 3 || len(t) > 5
}

// readMentions finds the stack frames, paths and modules that a text names, frames first.
func (q *query) readMentions(text string) {
	add := func(m mention) {
		m.path = strings.Trim(strings.ReplaceAll(m.path, `\`, "/"), "/")
		m.path = strings.TrimPrefix(path.Clean("/"+m.path), "/")
		if m.path == "" || len(q.mentions) >= maxMentions || slices.ContainsFunc(q.mentions, func(o mention) bool { return o.path == m.path && o.line == m.line }) {
			return
		}
		q.mentions = append(q.mentions, m)
	}
	for _, m := range pythonFrame.FindAllStringSubmatch(text, -1) {
		add(mention{path: m[1], line: atoi(m[2]), frame: true})
	}
	for _, m := range jvmFrame.FindAllStringSubmatch(text, -1) {
		dir := ""
		if i := strings.LastIndexByte(m[1], '.'); i >= 0 {
			dir = strings.ReplaceAll(m[1][:i], ".", "/") + "/"
		}
		add(mention{path: dir + m[2], line: atoi(m[3]), frame: true})
	}
	for _, m := range dotnetFrame.FindAllStringSubmatch(text, -1) {
		add(mention{path: m[1], line: atoi(m[2]), frame: true})
	}
	for _, m := range jsFrame.FindAllStringSubmatch(text, -1) {
		add(mention{path: m[1], line: atoi(m[2]), frame: true})
	}
	for _, m := range phpFrame.FindAllStringSubmatch(text, -1) {
		add(mention{path: m[1], line: atoi(m[2]), frame: true})
	}
	for _, m := range blobURL.FindAllStringSubmatch(text, -1) {
		add(mention{path: m[1], line: atoi(m[2])})
	}
	text = anyURL.ReplaceAllString(text, " ")
	for _, m := range placed.FindAllStringSubmatch(text, -1) {
		add(mention{path: m[1], line: atoi(m[2])})
	}
	for _, m := range named.FindAllString(text, -1) {
		add(mention{path: m})
	}
	for _, m := range directories.FindAllString(text, -1) {
		add(mention{path: m})
	}
	files := len(q.mentions)
	for _, m := range dotted.FindAllString(text, -1) {
		if slices.ContainsFunc(q.mentions[:files], func(o mention) bool { return strings.HasSuffix(o.path, "/"+m) }) {
			continue // the name of a file, seen above; were it no file of the tree, its stem would mislead
		}
		add(mention{path: strings.NewReplacer(".", "/", "::", "/", `\`, "/").Replace(m), module: true})
	}
}

// atoi reads a line number; 0 if it is none or beyond any file.
func atoi(s string) int {
	n := 0
	for i := range len(s) {
		if n = n*10 + int(s[i]-'0'); n > 1<<30 {
			return 0
		}
	}
	return n
}
