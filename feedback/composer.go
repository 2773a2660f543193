package feedback

import "strings"

func composerTool() *tool {
	return &tool{
		name: "composer", what: "requirements that cannot be resolved, versions of PHP and extensions, unreachable repositories, invalid composer.json, failing scripts", role: roleInstall,
		invocations: []string{"composer install", "composer update", "composer validate"},
		markers:     []string{"Your requirements could not be resolved", "Your lock file does not contain", "Composer\\", "returned with error code"},
		runs:        named("composer"),
		make:        func(s *sink) reader { return &composer{s: s} },
	}
}

// composer reads Composer's complaints.
type composer struct {
	s    *sink
	open *Failure
	gap  int
}

var (
	composerScript = newPattern(`^Script .* (?:returned with error code \d+|handling the .* event returned)`)
	composerBox    = newPattern(`^\s*\[(?:\w+\\)*(\w+(?:Exception|Error))\]$`)
	composerStart  = newPattern(`^(?:Your requirements could not be resolved|Your lock file does not contain a compatible|In \w+\.php line \d+:|The following exception probably|curl error \d+|.*could not be downloaded)`)
)

// line implements reader.
func (c *composer) line(l line) claim {
	t := l.text
	if composerScript.MatchString(t) {
		c.close()
		c.s.fail(Failure{Message: t, Kind: KindCrash, weak: true})
		return mine
	}
	if composerStart.MatchString(t) || composerBox.MatchString(t) {
		c.close()
		c.gap = 0
		c.open = &Failure{Message: strings.TrimSpace(t), Kind: KindInstall, Log: l.n}
		return mine
	}
	if c.open == nil {
		return pass
	}
	const most = 14 // lines of an explanation
	if t == "" {
		c.gap++
		if c.gap > 2 {
			c.close()
		}
		return mine
	}
	if strings.HasPrefix(t, "Use the option ") || strings.HasPrefix(t, "To enable extensions") || strings.Count(c.open.Message, "\n") > most || t[0] != ' ' && c.gap > 0 {
		c.close()
		return pass
	}
	c.gap = 0
	c.open.Message += "\n" + strings.TrimSpace(t)
	return mine
}

// close implements reader.
func (c *composer) close() {
	f := c.open
	c.open = nil
	if f == nil {
		return
	}
	if strings.Contains(f.Message, "does not contain valid JSON") || strings.Contains(f.Message, "does not match the expected JSON schema") {
		f.Kind, f.File = KindConfig, "composer.json"
	}
	c.s.fail(*f)
}
