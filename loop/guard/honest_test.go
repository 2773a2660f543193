package guard

import "testing"

// What commits of well-known projects did in good faith.
func TestHonestChanges(t *testing.T) {
	js := lines("describe('location', () => {", "  it('encodes one', () => {", "    expect(encode('a b', {strict: true})).toBe('a%20b');", "  });", "",
		"  it('encodes two', () => {", "    expect(encode('a b', {strict: true})).toBe('a%20b');", "  });", "});")
	apart := lines("describe('strict', () => {", "  beforeEach(() => { mode = 'strict'; });", "  it('encodes', () => {",
		"    expect(encode('a b', {mode: mode})).toBe('a%20b');", "  });", "});", "describe('loose', () => {", "  beforeEach(() => { mode = 'loose'; });",
		"  it('encodes loosely', () => {", "    expect(encode('a b', {mode: mode})).toBe('a%20b');", "  });", "});")
	loose := apart[indexOf(apart, "  it('encodes loosely'") : len(apart)-len("});\n")]
	one := lines("test('reloads when a file comes back', async () => {", "  expect(await text('.a')).toBe('one');", "});")
	broken := lines("test.skipIf(isBundled)(", "  'reloads when a file comes back',", "  async () => {", "    expect(await text('.a')).toBe('one');", "  },", ")")
	runSamples(t, "test-deleted", []sample{
		{name: "a duplicate goes", base: files{"a.test.js": js}, change: files{"a.test.js": replaceOnce(js, js[indexOf(js, "  it('encodes two'"):len(js)-len("});\n")], "")}, want: note},
		{name: "the same words under another heading", base: files{"a.test.js": apart}, change: files{"a.test.js": replaceOnce(apart, loose, "")}, want: block},
		{name: "broken over lines by the formatter", base: files{"a.spec.ts": one}, change: files{"a.spec.ts": broken}, want: nothing},
		{name: "one broken over lines is deleted", base: files{"a.spec.ts": broken + "\ntest('b', () => {});\n"}, change: files{"a.spec.ts": "test('b', () => {});\n"}, want: block},
	})
	runSamples(t, "test-skipped", []sample{
		{name: "skipped under a condition, broken over lines", base: files{"a.spec.ts": one}, change: files{"a.spec.ts": broken}, want: note},
		{name: "skipped always, broken over lines", base: files{"a.spec.ts": one}, change: files{"a.spec.ts": replaceOnce(broken, "isBundled", "true")}, want: block},
	})
	runSamples(t, "swallowed-error", []sample{
		{name: "skipped tests by another switch", base: files{"build.sh": "mvn install -DskipTests\n"}, change: files{"build.sh": "mvn install -Dmaven.test.skip\n"}, want: note},
		{name: "one more of them", base: files{"build.sh": "mvn install -DskipTests\nmvn verify\n"}, change: files{"build.sh": "mvn install -Dmaven.test.skip\nmvn verify -DskipTests\n"}, want: block},
		{name: "another tool in its place", base: files{"build.sh": "mvn install -DskipTests\npytest\n"}, change: files{"build.sh": "mvn install\npytest || true\n"}, want: block},
	})
}

func TestSourceThatKnowsItIsTested(t *testing.T) {
	added := func(p, line string) sample {
		return sample{name: p + ": " + line, base: files{p: "start\n"}, change: files{p: "start\n" + line + "\n"}, file: p, line: 2}
	}
	var samples []sample
	for _, s := range [][2]string{
		{"a.py", "    if 'PYTEST_CURRENT_TEST' in os.environ:"}, {"a.py", "if \"pytest\" in sys.modules:"}, {"a.js", "if (process.env.JEST_WORKER_ID) return 3;"},
		{"a.ts", "const n = typeof jest !== 'undefined' ? 3 : 4;"}, {"a.go", "\tif testing.Testing() {"}, {"a.rs", "    if cfg!(test) {"},
	} {
		c := added(s[0], s[1])
		c.want = approve
		samples = append(samples, c)
	}
	mode := added("a.js", "const quiet = process.env.NODE_ENV === 'test';")
	mode.want = note
	production := added("a.js", "const quiet = process.env.NODE_ENV === 'production';")
	inTest := added("a.test.js", "const id = process.env.JEST_WORKER_ID;")
	production.file, production.line, inTest.file, inTest.line = "", 0, "", 0
	runSamples(t, "hard-coded", append(samples, mode, production, inTest))
}

func TestChecksSwitchedOff(t *testing.T) {
	var samples []sample
	for _, s := range [][2]string{
		{"a.ts", "// @ts-nocheck"}, {"a.js", "/* eslint-disable */"}, {"a.py", "x = f()  # type: ignore"}, {"a.py", "import os  # noqa: F401"},
		{"a.go", "\tx() //nolint:errcheck"}, {"a.rb", "# rubocop:disable Metrics/AbcSize"}, {"a.py", "    raise X  # pragma: no cover"},
	} {
		samples = append(samples, sample{name: s[1], base: files{s[0]: "start\n"}, change: files{s[0]: "start\n" + s[1] + "\n"}, want: note, line: 2})
	}
	kept := lines("import os  # noqa", "x = 1")
	samples = append(samples, sample{name: "one that moved", base: files{"a.py": kept}, change: files{"a.py": lines("x = 1", "import os  # noqa")}, want: nothing},
		sample{name: "a page about it", base: files{"a.md": "x\n"}, change: files{"a.md": "x\nwrite # noqa\n"}, want: nothing})
	runSamples(t, "swallowed-error", samples)
}
