package guard

import "github.com/seed-7a986423/autocode/loop"

// Rule is one kind of finding.
type Rule struct {
	Name string
	// Severity is the rule's usual one; where the text shows less or more harm, a finding carries its own.
	Severity loop.Severity
	Doc      string
	check    func(*change) ([]loop.Finding, error)
}

// Names of rules that other rules speak of.
const (
	ruleSecret = "secret"
)

// Rules lists what the guard looks for; README's table is made from it.
func Rules() []Rule {
	return []Rule{
		{"protected-path", loop.SeverityBlock, "a file is changed, moved or deleted that only a person may change: CI, hooks, owners, package manager settings, instructions for agents, and what the repository protects", checkProtected},
		{"path-spelling", loop.SeverityBlock, "a new path is spelled so that some file system takes it for another one", checkSpelling},
		{"undeclared-file", loop.SeverityBlock, "a file is changed that the coder did not declare", checkDeclared},
		{"size-files", loop.SeverityBlock, "more files are changed than the budget allows", checkFiles},
		{"size-lines", loop.SeverityBlock, "more lines are changed than the budget allows; lockfiles do not count", checkLines},
		{"mode", loop.SeverityBlock, "a symbolic link or a submodule is new or points elsewhere; a new executable bit is noted", checkModes},
		{"opaque", loop.SeverityBlock, "a file is added or changed that nobody can read in a diff: binary, or above 2 MiB", checkOpaque},
		{"junk", loop.SeverityBlock, "a file is added that a tool or an editor left behind", checkJunk},
		{ruleSecret, loop.SeverityBlock, "a secret is added: a key, a token, or a value of this server in any encoding", checkSecrets},
		{"test-deleted", loop.SeverityBlock, "a test is deleted; noted where it moved, was renamed or merged, or what it tests is gone too", checkDeletedTests},
		{"test-skipped", loop.SeverityBlock, "a test is switched off or hidden by a focused one; noted where a condition on the platform decides, or the test is new", checkSkips},
		{"test-exit", loop.SeverityBlock, "the test program ends with success before its tests, or a hook chooses which tests run", checkExits},
		{"tests-lost", loop.SeverityBlock, "tests that passed on the base do not run any more; noted where as many took their place under the same name", checkLost},
		{"test-weakened", loop.SeverityNote, "a test asserts less: assertions gone, expected values changed, tolerances widened, failures caught; blocked where nothing is asserted any more", checkWeakened},
		{"swallowed-error", loop.SeverityNote, "a failure is made to look like success; blocked where the command is a test, a lint or a build; noted where a comment switches a check off", checkSwallowed},
		{"hard-coded", loop.SeverityNote, "new source returns a literal that a test of the same change expects, or asks whether it is being tested", checkHardCoded},
		{"approval-path", loop.SeverityApprove, "a file is changed that the repository wants a person's approval for", checkApproval},
		{"migration", loop.SeverityApprove, "a database migration is added or changed", checkMigrations},
		{"dependency", loop.SeverityNote, "dependencies change; a new one, a new major version, or one from outside a registry needs approval", checkDependencies},
		{"install-script", loop.SeverityApprove, "a package script is added that runs by itself at installation", checkInstallScripts},
		{"lockfile-host", loop.SeverityApprove, "a lockfile names a host that it did not name before", checkLockHosts},
		{"api-removed", loop.SeverityNote, "an exported name is gone", checkAPI},
		{"sensitive-path", loop.SeverityNote, "code for authentication, permissions, payment or cryptography is changed", checkSensitive},
	}
}

// Explain implements loop.Explainer.
func (*Guard) Explain(rule string) string { return docOf(rule) }

// docOf returns a rule's sentence.
func docOf(name string) string {
	for _, r := range Rules() {
		if r.Name == name {
			return r.Doc
		}
	}
	return ""
}
