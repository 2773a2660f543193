package feedback

import "strings"

func bundlerTool() *tool {
	return &tool{
		name: "bundler", what: "gems that are missing, unreachable, in conflict or fail to build; Gemfile errors; RubyGems", role: roleInstall,
		invocations: []string{"bundle install", "bundle exec …", "gem install x"},
		markers:     []string{"bundler: ", "Could not find gem ", "Bundler ", "Could not find ", "ERROR:  ", "Gem::Ext::BuildError", "[!] There was an error parsing"},
		runs:        named("bundle", "bundler", "gem"),
		family:      []string{"rspec", "minitest"},
		make:        func(s *sink) reader { return &bundler{s: s} },
	}
}

// bundler reads what Bundler and RubyGems say when a gem cannot be had.
type bundler struct {
	s    *sink
	open *Failure
	more int // lines that still belong to the open failure
}

var (
	bundlerStart = newPattern(`^(?:Could not (?:find (?:gem |compatible versions|\S+(?:-\d\S*)? in )|fetch specs|reach host|verify the SSL)|Bundler could not find|Bundler::\w+:|Gem::Ext::BuildError|An error occurred while installing|\[!\] There was an error parsing|ERROR:  (?:Could not find|Error installing|While executing|Failed to build)|You must use Bundler|Your (?:Ruby version is|bundle only supports|lockfile)|The (?:gemspec|Gemfile|lockfile|dependencies in your gemfile)|Network error while fetching|Unable to (?:find|download)|Could not locate Gemfile|Because .* depends on|The bundle is (?:currently )?(?:locked|frozen)|rake aborted!)`)
	bundlerAt    = newPattern(`^ #  from (\S+?):(\d+)$`)
	bundlerRaise = newPattern(`: (Could not find .*|.* \(Bundler::\w+\))$`)
)

// line implements reader.
func (b *bundler) line(l line) claim {
	t := l.text
	if b.open != nil {
		if m := bundlerAt.FindStringSubmatch(t); m != nil {
			b.open.File, b.open.Line = m[1], atoi(m[2])
		}
		if t != "" && b.more > 0 && !strings.HasPrefix(t, "Retrying fetcher") && !bundlerStart.MatchString(t) {
			b.more--
			b.open.Message += "\n" + t
			return mine
		}
		if t == "" && b.more > 0 && strings.Contains(b.open.Message, "[!]") {
			return mine
		}
		b.close()
	}
	if len(t) < 10 || strings.HasPrefix(t, "Retrying fetcher") {
		return pass
	}
	kind := KindInstall
	text := t
	if !bundlerStart.MatchString(t) {
		m := bundlerRaise.FindStringSubmatch(t)
		if m == nil || !strings.Contains(t, "(Bundler::") {
			return pass
		}
		text = m[1]
	}
	if strings.HasPrefix(t, "rake aborted!") {
		kind = KindCrash
	} else if strings.Contains(t, "error parsing") || strings.HasPrefix(t, "Could not locate Gemfile") {
		kind = KindConfig
	}
	const most = 8 // lines that explain a failure
	b.open, b.more = &Failure{Message: text, Kind: kind, Log: l.n}, most
	if kind == KindCrash {
		b.open.weak = true
	}
	return mine
}

// close implements reader.
func (b *bundler) close() {
	if b.open != nil {
		b.s.fail(*b.open)
	}
	b.open = nil
}
