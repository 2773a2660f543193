package feedback

import "strings"

// valuePatterns find the expected and the actual value in assertion messages of any tool. The names of the groups
// say which is which (e expected, a actual). They are tried in order; the first that matches one line, or two
// neighbouring ones for those with \n, wins.
var valuePatterns = []*pattern{
	// Expected: 3 / Received: 4 (jest, vitest, chai, playwright); Expected/Actual (many)
	newPattern(`(?mi)^\s*expected(?: (?:value|string|substring|pattern|number of calls))?\s*: {0,9}(?P<e>\S.*)\n(?:\s*\n)?\s*(?:received|actual|got|but was)(?: (?:value|string|number of calls))?\s*: {0,9}(?P<a>\S.*)$`),
	newPattern(`(?mi)^\s*(?:actual|received|got)\s*: {0,9}(?P<a>\S.*)\n\s*(?:expected|want)\s*: {0,9}(?P<e>\S.*)$`),
	newPattern(`(?mi)^\s*got\s*[:=]\s*(?P<a>\S.*)\n\s*want(?:ed)?\s*[:=]\s*(?P<e>\S.*)$`),
	newPattern(`(?mi)^\s*want(?:ed)?\s*[:=]\s*(?P<e>\S.*)\n\s*got\s*[:=]\s*(?P<a>\S.*)$`),
	// left/right of Rust's assert_eq!
	newPattern(`(?m)^\s*left: (?P<a>.*?),?\n\s*right: (?P<e>.*?),?$`),
	// expected: <5> but was: <4> (JUnit, TestNG)
	newPattern(`(?s)expected: ?<(?P<e>.*?)> but was: ?<(?P<a>.*?)>`),
	// PHPUnit's mocks, JUnit 4's assertThrows
	newPattern(`expected to be called (?P<e>\d+ times?), actually called (?P<a>\d+ times?)`),
	newPattern(`(?m)\bexpected (?P<e>.+ to be thrown), but (?P<a>nothing was thrown)`),
	newPattern(`expected \[(?P<e>.*?)\] but found \[(?P<a>.*?)\]`),
	// Python: assert a == b, unittest: 4 != 5
	newPattern(`(?m)^(?:E\s+)?(?:AssertionError: )?assert (?P<a>[^\n]+?) == (?P<e>[^\n]+)$`),
	newPattern(`(?m)^(?:E\s+)?AssertionError: (?:(?:Lists|Tuples|Sequences) differ: )?(?P<a>.+?) != (?P<e>.+?)(?: : .*)?$`),
	// got X, want Y
	newPattern(`(?i)\bgot(?: ?[:=])? (?P<a>[^\n]+?)[,;:.]? (?:but )?(?:want|wanted|expected|expecting)(?: (?:to be|to equal))?[:=]? ?(?P<e>[^\n]+?)\.?$`),
	newPattern(`(?i)\bobtenu:? (?P<a>[^\n]+?)[,;] attendu:? ?(?P<e>[^\n]+?)$`),
	newPattern(`(?i)\bwant(?:ed)?:? (?P<e>[^\n]+?)[,;:]? (?:but )?(?:got|have)[:=]? ?(?P<a>[^\n]+?)\.?$`),
	newPattern(`(?i)\bexpected:? (?P<e>[^\n]+?)[,;.]? (?:but )?(?:got|actual|received|was|found)(?: (?:was|is))?[:=]? ?(?P<a>[^\n]+?)\.?$`),
	newPattern(`^[^\n=]*= (?P<a>[^\n]+?)[,;] (?:want|expected|expecting|should be) (?P<e>[^\n]+?)\.?$`),
	// chai, vitest: expected 1 to equal 2
	newPattern(`(?m)expected (?P<a>.+?) to (?:deeply |strictly |loosely )?(?:be|equal|eql|deep equal|have (?:a )?length(?: of)?) (?P<e>.+?)(?: // .*)?$`),
	// node:assert
	newPattern(`(?m)^\s*(?P<a>.+?) !== (?P<e>.+)$`),
	newPattern(`(?m)\A(?:AssertionError \[ERR_ASSERTION\]: )?(?P<a>[^\s=]+|'[^'\n]*') == (?P<e>[^\s=]+|'[^'\n]*')$`),
	newPattern(`to be loosely equal:\n+\s*(?P<a>.+?) != (?P<e>.+)(?:\n|$)`),
}

// nodeEqual begins node:assert's messages; reporters that drop line ends put the values right behind it.
var nodeEqual = newPattern(`^Expected values to be (?:strictly |loosely )?(?:deep-)?equal:(?:\+ actual - expected)?`)

// chaiWords begin what is a condition and not a value in "expected x to be …".
var chaiWords = newPattern(`^(?:greater|less|at least|at most|above|below|within|called|a |an |close|one of|defined|undefined\b.+|truthy|falsy|instance|visible|enabled|checked|empty|rejected|resolved|been )`)

// expectedActual looks for the two values that an assertion compared.
func expectedActual(message string) (expected, actual *string) {
	message = nodeEqual.ReplaceAllString(message, "")
	for _, p := range valuePatterns {
		m := p.FindStringSubmatchIndex(message)
		if m == nil {
			continue
		}
		group := func(name string) *string {
			i := p.SubexpIndex(name)
			if i < 0 || m[2*i] < 0 {
				return nil
			}
			v := unquote(strings.TrimSpace(message[m[2*i]:m[2*i+1]]))
			return &v
		}
		e := group("e")
		if e != nil && strings.HasPrefix(*e, "but ") {
			continue // "ArgumentError expected but nothing was raised" names no two values
		}
		if e != nil && chaiWords.MatchString(*e) && strings.Contains(message, " to be ") {
			continue
		}
		return e, group("a")
	}
	return nil, nil
}

// unquote takes off a pair of quotes around a whole value.
func unquote(v string) string {
	if len(v) >= 2 {
		q := v[0]
		if (q == '"' || q == '\'' || q == '`') && v[len(v)-1] == q && strings.Count(v, string(q)) == 2 {
			return v[1 : len(v)-1]
		}
	}
	return v
}
