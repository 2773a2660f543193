package model

import "sync"

// formatMode is how an endpoint is asked for JSON.
type formatMode int

// The ways to ask for JSON, best first.
const (
	formatSchema formatMode = iota // response_format json_schema
	formatObject                   // response_format json_object, the schema in the prompt
	formatPlain                    // the schema in the prompt, nothing else
)

// limitField is the parameter that bounds a reply.
type limitField int

// The parameters, in the order in which they are tried.
const (
	limitOld  limitField = iota // max_tokens, understood by nearly all
	limitNew                    // max_completion_tokens, the only one that reasoning models take
	limitNone                   // neither
)

// ability is a feature of an endpoint that may turn out to be missing.
type ability int

// The abilities. none says that a failure has nothing to do with them.
const (
	abilityNone ability = iota
	abilityFormat
	abilityTools
	abilityTemperature
	abilityLimit
	abilitySystem
	abilityWhole // answers in one piece
)

// skills is what an endpoint is believed to take; the zero value believes in everything.
type skills struct {
	format        formatMode
	limit         limitField
	noTools       bool
	noTemperature bool
	noWhole       bool // answers in streams only
	noSystem      bool // no system role: its text goes before the first user message
}

// without returns s with one ability less; ok is false where nothing was left to take away.
func (s skills) without(a ability) (less skills, ok bool) {
	switch a {
	case abilityFormat:
		if s.format == formatPlain {
			return s, false
		}
		s.format++
	case abilityTools:
		if s.noTools {
			return s, false
		}
		s.noTools = true
	case abilityTemperature:
		if s.noTemperature {
			return s, false
		}
		s.noTemperature = true
	case abilityLimit:
		if s.limit == limitNone {
			return s, false
		}
		s.limit++
	case abilitySystem:
		if s.noSystem {
			return s, false
		}
		s.noSystem = true
	case abilityWhole:
		if s.noWhole {
			return s, false
		}
		s.noWhole = true
	case abilityNone:
		return s, false
	}
	return s, true
}

// abilities remembers what was learnt about an endpoint, for the life of the process.
type abilities struct {
	mu     sync.Mutex
	skills skills
}

func (a *abilities) get() skills {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.skills
}

func (a *abilities) learn(s skills) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.skills = s
}
