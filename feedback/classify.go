package feedback

import (
	"slices"
	"strings"
)

// rule is one named reason for a class. Rules are tried in order; the first that holds decides.
type classRule struct {
	name  string
	class Class
	kinds []Kind   // kinds it applies to; empty means all
	text  *pattern // what the failure's own message must hold; nil means always
}

// classRules judge a single failure by its kind and by the words of its own message, never by the whole log:
// passing programs print these words too.
var classRules = []classRule{
	{"kind-oom", ClassOOM, []Kind{KindOOM}, nil},
	{"kind-timeout", ClassTimeout, []Kind{KindTimeout}, nil},
	{"out-of-memory", ClassOOM, []Kind{KindTest, KindSetup, KindCrash, KindCompile, KindInstall, KindLink, KindEnvironment, KindConfig}, newPattern(
		`(?m)\bKilled(?: \(core dumped\))?$|\bKilled {2,}|JavaScript heap out of memory|java\.lang\.OutOfMemoryError|\bOutOfMemoryError\b|fatal error: (?:runtime: )?(?:out of memory|cannot allocate memory)|^MemoryError|\bE\s+MemoryError|Killed signal terminated program|\bstd::bad_alloc\b|Allowed memory size of \d+ bytes exhausted|memory allocation of \d+ bytes failed|virtual memory exhausted|Cannot allocate memory|NoMemoryError|OOMKilled|signal: 9, SIGKILL: kill|LLVM ERROR: out of memory|exited with code 137|\bexit(?: code| status)?:? 137\b|System\.OutOfMemoryException`)},
	{"disk-full", ClassInfrastructure, nil, newPattern(`\bENOSPC\b|[Nn]o space left on device|Disk quota exceeded|\bEDQUOT\b|Read-only file system|\bEROFS\b`)},
	{"runner-lost", ClassInfrastructure, nil, newPattern(`The runner has received a shutdown signal|lost communication with the server|The hosted runner|The operation was canceled|The self-hosted runner lost|Job was cancell?ed|Input/output error|\bEIO\b`)},
	{"rate-limit", ClassInfrastructure, []Kind{KindInstall, KindEnvironment, KindCrash}, newPattern(`\b429\b|toomanyrequests|[Rr]ate limit|\b50[0234] (?:Service|Bad Gateway|Internal|Gateway)|\bE50[0234]\b`)},
	{"test-time-limit", ClassTimeout, []Kind{KindTest, KindSetup, KindCrash}, newPattern(
		`Exceeded timeout of [\d.]+ ?m?s|Timeout of [\d.]+ms exceeded|Test timed out in [\d.]+ms|Hook timed out in [\d.]+ms|test timed out after|panic: test timed out|Test timeout of \d+ms exceeded|Failed: Timeout [>(]|Timeout >[\d.]+s|timed out after [\d.]+ ?(?:ms|s|sec|seconds|milliseconds|minutes)\b|TestTimedOutException|execution timed out|TimeoutException: \S+ (?:timed out|did not complete)|Terminated due to timeout|Timeout method|exceeded (?:the )?(?:time ?out|time limit)|cancelledByTimeout|testTimeoutFailure|test timed out`)},
	{"lockfile-outdated", ClassCode, []Kind{KindInstall, KindConfig}, newPattern(
		`(?i)lock ?file\b[^\n]{0,200}\b(?:needs to be updated|is not up[ -]to[ -]date|out of date)|poetry\.lock was last generated|can only install packages when your package\.json and package-lock\.json`)},
	{"kind-install", ClassEnvironment, []Kind{KindInstall, KindEnvironment}, nil},
	{"service-down", ClassEnvironment, nil, newPattern(
		`(?i)\bconnection refused\b|\bECONNREFUSED\b|could not connect to (?:server|redis|mysql|database|postgres)|can't connect to (?:local )?(?:mysql|mariadb|server)|Connection to \S+ refused|actively refused it|is the server running|Cannot connect to the Docker daemon|could not find a valid Docker environment|No connection could be made|ServerSelectionTimeoutError|NoBrokersAvailable`)},
	{"no-network", ClassEnvironment, nil, newPattern(
		`\bENOTFOUND\b|\bEAI_AGAIN\b|Could not resolve host|Temporary failure in name resolution|Name or service not known|no such host|Network is unreachable|\bENETUNREACH\b|\bEHOSTUNREACH\b|UnknownHostException|getaddrinfo failed|nodename nor servname|NameResolutionError|dial tcp: lookup|:nxdomain\b|failed to lookup address|No route to host|Could not transfer artifact|\bETIMEDOUT\b|\bECONNRESET\b`)},
	{"module-unreachable", ClassEnvironment, []Kind{KindCompile, KindInstall, KindEnvironment, KindCrash, KindConfig}, newPattern(
		`(?m)^(?:go: )?\S+@v\S+: (?:reading \S+: |Get "|module lookup disabled|git (?:fetch|ls-remote|init)|unrecognized import path|dial )`)},
	{"package-missing", ClassEnvironment, []Kind{KindCrash, KindInstall, KindEnvironment, KindConfig}, newPattern(`Unable to locate package|has no installation candidate|No package \S+ available|Failed to fetch http|Unable to fetch some archives|dpkg was interrupted|Could not get lock|unable to select packages|No matching packages? to|externally-managed-environment`)},
	{"repository-unreachable", ClassEnvironment, []Kind{KindCrash, KindInstall, KindEnvironment, KindSetup, KindConfig}, newPattern(`Couldn't connect to server|Failed to connect to \S+ port|unable to access '|Could not read from remote repository|Repository not found|remote: Not Found`)},
	{"certificate", ClassEnvironment, nil, newPattern(`SELF_SIGNED_CERT|self[- ]signed certificate|CERTIFICATE_VERIFY_FAILED|certificate signed by unknown authority|SSL certificate problem|unable to get local issuer certificate|PKIX path building failed|certificate has expired`)},
	{"program-missing", ClassEnvironment, nil, newPattern(
		`: command not found\b|^command not found|: not found$|^make(?:\[\d+\])?: \S+: No such file or directory|JAVA_HOME is not set|(?i)executable file not found in|is not recognized as an internal or external command|spawn \S+ ENOENT|FileNotFoundError: \[Errno 2\] No such file or directory: '[\w-]+'$|Executable doesn't exist at|browserType\.launch|\bNo such file or directory \(os error 2\)|Cannot run program|Could not find (?:Chrome|Firefox|browser)|error while loading shared libraries|cannot open shared object file|cannot execute: required file not found|bad interpreter|Exec format error|DSO support routines|GLIBC_[\d.]+' not found`)},
	{"permission", ClassEnvironment, []Kind{KindCrash, KindSetup, KindConfig, KindTest}, newPattern(`\bEACCES\b|Permission denied|permission denied|Operation not permitted|\bEPERM\b`)},
	{"machine-limit", ClassEnvironment, nil, newPattern(`[Tt]oo many open files|\bEMFILE\b|\bENFILE\b|Resource temporarily unavailable|can't start new thread|unable to create (?:native )?thread|System limit for number of file watchers|address already in use|\bEADDRINUSE\b`)},
	{"runtime-version", ClassEnvironment, nil, newPattern(
		`requires go >= |go\.mod requires go|unsupported engine|EBADENGINE|requires a different Python|Requires-Python|UnsupportedClassVersionError|class file (?:has wrong )?version|invalid target release|release version \d+ not supported|requires rustc [\d.]+|package .* cannot be built because it requires rustc|A compatible \.NET SDK was not found|NETSDK1045|requires a newer version of|Unsupported class file major version|Your Ruby version is|requires php [^\n]+ -> your php version|requires Node(?:\.js)?|cannot find a Java installation|No compatible toolchains|version "[^"\n]*" is not yet installed`)},
	{"credentials", ClassEnvironment, []Kind{KindInstall, KindEnvironment, KindCrash, KindConfig, KindSetup}, newPattern(`\bE40[13]\b|could not read Username|Authentication failed|Permission denied \(publickey\)|\b40[13] (?:Unauthorized|Forbidden)|unauthorized: authentication required|terminal prompts disabled`)},
	{"variable-missing", ClassEnvironment, []Kind{KindCrash, KindSetup, KindConfig}, newPattern(`(?i)environment variable \S+ (?:is )?(?:not set|required|missing|must be set)|(?:required|missing) environment variable|KeyError: '[A-Z][A-Z0-9_]{3,}'`)},
	{"plugin-missing", ClassEnvironment, []Kind{KindConfig}, newPattern(`unrecognized arguments|Failed to load (?:plugin|config)|Error importing plugin|[Pp]lugin .* not found|Cannot find (?:module|package|plugin)|couldn't find the (?:plugin|config)|unknown hook|Preset .* not found`)},
}

// missing finds the name of a module that is not there, in the words of the common runtimes.
var missing = []*pattern{
	newPattern(`No module named '?([\w.]+)'?`),
	newPattern(`Cannot find (?:module|package) '([^']+)'`),
	newPattern(`Cannot find module "([^"]+)"`),
	newPattern(`Failed to resolve import "([^"]+)"`),
	newPattern(`Could not resolve "([^"]+)"`),
	newPattern(`Can't resolve '([^']+)'`),
	newPattern(`Failed to load url (\S+)`),
	newPattern(`cannot load such file -- (\S+)`),
	newPattern(`Can't locate ([\w/]+)\.pm in @INC`),
	newPattern(`(?m)(?:^|fatal error: )'?([\w./+-]+\.(?:h|hpp|hh|hxx))'?(?: file not found|: No such file)`),
	newPattern(`(?:library not found for|unable to find library) -l(\S+)`),
	newPattern(`cannot find -l(\S+?):?(?: |$)`),
	newPattern(`Class "([\w\\]+)" not found`),
	newPattern(`package ([\w.]+) does not exist`),
	newPattern(`can't find crate for .([\w-]+)`),
	newPattern(`module '([\w.]+)' not found`),
}

// missingModule is the name of the module that a message says is not there.
func missingModule(message string) (string, bool) {
	for _, p := range missing {
		if m := p.FindStringSubmatch(message); m != nil {
			return m[1], true
		}
	}
	return "", false
}

// classifyFailure decides a failure's class and the rule that decided it.
func classifyFailure(s *session, f *Failure) {
	if f.rule != "" {
		return
	}
	if name, ok := missingModule(f.Message); ok && f.Kind != KindLint {
		f.Class, f.rule = missingClass(s, f, name)
		return
	}
	for _, r := range classRules {
		if len(r.kinds) > 0 && !slices.Contains(r.kinds, f.Kind) {
			continue
		}
		if r.text != nil && (f.Kind == KindLint || f.Kind == KindType || f.Kind == KindGate || !r.text.MatchString(f.Message)) {
			continue
		}
		f.Class, f.rule = r.class, r.name
		return
	}
	f.Class, f.rule = ClassCode, "kind-"+string(f.Kind)
}

// missingClass tells the project's own missing module (code) from a third party's that is not installed
// (environment). The manifest decides where there is one; else the name does.
func missingClass(s *session, f *Failure, name string) (Class, string) {
	if s.opts.Manifest != nil {
		switch s.opts.Manifest.Owner(name) {
		case OwnershipOwn:
			return ClassCode, "own-module-missing"
		case OwnershipDeclared:
			return ClassEnvironment, "declared-module-missing"
		case OwnershipUnknown:
		}
	}
	switch {
	case strings.Contains(f.Message, `#include "`+name+`"`):
		return ClassCode, "own-module-missing" // between quotes stands a header of one's own, between <> a library's
	case strings.HasPrefix(name, "."), strings.HasPrefix(name, "/"), strings.HasPrefix(name, "#"), strings.HasPrefix(name, "@/"), strings.HasPrefix(name, "~/"), strings.HasPrefix(name, "src/"):
		return ClassCode, "own-module-missing"
	case strings.HasPrefix(name, "node:"):
		return ClassEnvironment, "runtime-version"
	}
	top, rest, dotted := strings.Cut(name, ".")
	if !strings.Contains(name, "/") && dotted && rest != "h" && rest != "hpp" && strings.Contains(f.Message, "No module named") {
		// Python names the first part that is missing: the parent package is there, so it is not a package that
		// nobody installed.
		return ClassCode, "own-module-missing"
	}
	if s.isProjectName(top) || f.File != "" && strings.Contains("/"+f.File, "/"+top+"/") {
		return ClassCode, "own-module-missing"
	}
	return ClassEnvironment, "third-party-module-missing"
}

// isProjectName tells whether name is the project's directory name.
func (s *session) isProjectName(name string) bool {
	i := strings.LastIndexByte(s.paths.root, '/')
	return name != "" && i >= 0 && strings.EqualFold(strings.ReplaceAll(s.paths.root[i+1:], "-", "_"), name)
}

// overallClass decides the run's class: the runner's facts first, then what the failures say.
func overallClass(s *session, r *Report, all []Failure) (Class, string) {
	switch {
	case s.opts.OOMKilled:
		return ClassOOM, "runner-oom-kill"
	case s.opts.TimedOut:
		return ClassTimeout, "runner-time-limit"
	case len(all) == 0 && r.Status == StatusPass && len(r.Flaky) > 0:
		return ClassFlaky, "failed-then-passed"
	case len(all) == 0 && r.Status == StatusPass:
		return ClassNone, "all-green"
	case len(all) == 0:
		return ClassCode, "nothing-found"
	}
	shaky := map[string]bool{}
	for _, id := range r.Flaky {
		shaky[id] = true
	}
	flaky := true
	count := map[Class]int{}
	for i := range all {
		count[all[i].Class]++
		if shaky[all[i].ID] {
			all[i].Class, all[i].rule = ClassFlaky, "failed-then-passed"
		} else {
			flaky = false
		}
	}
	switch first := all[0]; {
	case flaky:
		return ClassFlaky, "failed-then-passed"
	case first.Kind == KindOOM, first.Kind == KindTimeout && first.ID == "", len(count) == 1:
		return first.Class, first.rule
	case rank(first.Kind) <= rank(KindEnvironment) && first.Class != ClassCode:
		return first.Class, first.rule
	case count[ClassCode] > 0:
		for _, f := range all {
			if f.Class == ClassCode {
				return ClassCode, f.rule
			}
		}
	}
	return all[0].Class, all[0].rule
}
