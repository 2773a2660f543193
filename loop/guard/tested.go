package guard

import (
	"regexp"

	"github.com/seed-7a986423/autocode/loop"
)

var (
	// underTest matches what only code asks that behaves otherwise while it is tested.
	underTest = regexp.MustCompile(`\bPYTEST_CURRENT_TEST\b|['"]pytest['"]\s+in\s+sys\.modules|\b(?:JEST|VITEST)_WORKER_ID\b|\bprocess\.env\.VITEST\b|` +
		`\btypeof\s+(?:jest|vi|describe|it)\b|\btesting\.Testing\(\)|\bflag\.Lookup\("test\.|\bcfg!\(\s*test\s*\)|\bPHPUNIT_COMPOSER_INSTALL\b|` +
		`\bdefined\?\(\s*(?:RSpec|Minitest)\b|\bdefined\(\s*['"]PHPUNIT`)
	// testMode matches the modes that frameworks have for tests; projects use them for good reasons, too.
	testMode = regexp.MustCompile(`\b(?:NODE_ENV|RAILS_ENV|RACK_ENV|APP_ENV|MIX_ENV|GO_ENV)\b.*['"]test['"]|\bRails\.env\.test\?`)
)

// askingForTests finds new source that asks whether it is being tested: it can give tests what they want, and nobody else.
func askingForTests(c *change) []loop.Finding {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		if f.Op == loop.OpDelete || isTest(f.Path) || !knowsTests(f.Path) || runnerConfig.MatchString(f.Path) {
			continue
		}
		for _, l := range added(f) {
			if !isCode(f.Path, l.Text) || moved(f, l.Text) {
				continue
			}
			finding := loop.Finding{File: f.Path, Line: l.New, Message: "asks whether it is being tested: " + quote(l.Text)}
			switch {
			case underTest.MatchString(l.Text):
				finding.Severity = loop.SeverityApprove
			case !testMode.MatchString(l.Text):
				continue
			}
			findings = append(findings, finding)
		}
	}
	return findings
}
