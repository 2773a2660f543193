package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/verify"
)

// secretConfig is one secret for installations as written: where its value is, and which repositories
// may ask for it.
type secretConfig struct {
	Env          string   `yaml:"env"`
	File         string   `yaml:"file"`
	Repositories []string `yaml:"repositories"`
}

// setupSecret is a secret that was read.
type setupSecret struct {
	verify.Secret
	// values are what must not be seen anywhere: the whole, and the words of a file that may be tokens.
	values []string
}

var (
	variableName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/(?:\*|[A-Za-z0-9._-]+)$`)
	// ownVariables steer the sandbox and what runs in it; a secret of such a name would be a mistake.
	ownVariables = regexp.MustCompile(`(?i)^(?:LD_.*|PATH|HOME|TMPDIR|SHELL|IFS|ENV|BASH_ENV|HTTPS?_PROXY|ALL_PROXY|NO_PROXY)$`)
)

const (
	// shortestSecret is the shortest value that can be kept out of logs: shorter ones are words that
	// stand everywhere.
	shortestSecret = 8
	// mostSecret bounds a file, in bytes; settings of package managers are below 4 kB.
	mostSecret = 64 << 10
)

// readSecrets reads the values of the configured secrets, grants them in the ceiling, and reports what is
// wrong with them.
func (s *settings) readSecrets(getenv func(string) string) []error {
	var faults []error
	s.SetupSecrets = map[string]setupSecret{}
	for _, name := range slices.Sorted(maps.Keys(s.Secrets)) {
		c := s.Secrets[name]
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf("secrets."+name+": "+format, args...))
		}
		switch {
		case !variableName.MatchString(name):
			fault("is not the name of a variable")
			continue
		case ownVariables.MatchString(name):
			fault("this variable is the sandbox's own; choose another name")
			continue
		case (c.Env == "") == (c.File == ""):
			fault("needs either env, a variable of the server, or file")
			continue
		case len(c.Repositories) == 0:
			fault("needs repositories, a list of OWNER/NAME or OWNER/*")
		}
		for _, r := range c.Repositories {
			if !repositoryName.MatchString(r) {
				fault("%q is not OWNER/NAME or OWNER/*", r)
			}
		}
		secret, err := readSecret(c, getenv)
		if err != nil {
			fault("%w", err)
			continue
		}
		s.SetupSecrets[name] = secret
		s.Ceiling.Grants = append(s.Ceiling.Grants, loop.SecretGrant{Name: name, Repositories: c.Repositories})
	}
	if len(s.Secrets) > 0 && s.Sandbox.Runner == runnerDocker {
		faults = append(faults, errors.New("secrets: are of no use with sandbox.runner: docker, which reaches nothing"))
	}
	return faults
}

// readSecret reads a value from where the configuration says. Its errors never tell it.
func readSecret(c secretConfig, getenv func(string) string) (setupSecret, error) {
	if c.Env != "" {
		value := strings.TrimSpace(getenv(c.Env))
		if len(value) < shortestSecret {
			return setupSecret{}, fmt.Errorf("the variable %s is not set, or shorter than the %d characters that can be kept out of logs", c.Env, shortestSecret)
		}
		return setupSecret{verify.Secret{Value: value}, []string{value}}, nil
	}
	path, err := filepath.Abs(c.File)
	if err != nil {
		return setupSecret{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return setupSecret{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostSecret {
		return setupSecret{}, fmt.Errorf("%s is not a file of at most %d bytes", c.File, mostSecret)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return setupSecret{}, err
	}
	return setupSecret{verify.Secret{File: path}, append(tokens(string(content)), string(content))}, nil
}

// tokens are the words of a settings file that may be credentials: those that follow a name of one
// (password, token, auth …), and long ones of letters and digits. Addresses are none; the password in
// one is known by its shape.
func tokens(content string) []string {
	const long = 20 // letters and digits together; host names with digits are rarely that long
	var found []string
	words := strings.FieldsFunc(content, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`="'<>,`, r) })
	for i, w := range words {
		named := i > 0 && credentialName.MatchString(words[i-1])
		mixed := strings.ContainsFunc(w, unicode.IsDigit) && strings.ContainsFunc(w, unicode.IsLetter)
		if strings.Contains(w, "://") || len(w) < shortestSecret {
			continue
		}
		if named || mixed && len(w) >= long && !strings.HasPrefix(w, "//") {
			found = append(found, w)
		}
	}
	return found
}

// credentialName matches the name before a credential in settings files: npm's _authToken, netrc's
// password, pip's and cargo's token.
var credentialName = regexp.MustCompile(`(?i)(?:passw(?:or)?d|token|secret|auth|apikey|api_key|credential)s?:?$`)

// setupValues are the values of the secrets for installations.
func (s settings) setupValues() []string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(s.SetupSecrets)) {
		values = append(values, s.SetupSecrets[name].values...)
	}
	return values
}

// installSecrets are the secrets as the verifier takes them.
func (s settings) installSecrets() map[string]verify.Secret {
	secrets := map[string]verify.Secret{}
	for name, secret := range s.SetupSecrets {
		secrets[name] = secret.Secret
	}
	return secrets
}
