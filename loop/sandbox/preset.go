package sandbox

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop/sandbox/guest"
)

// Ecosystem is a kind of dependencies whose hosts can be found out.
type Ecosystem string

// The ecosystems with presets.
const (
	GoModules Ecosystem = "go"
	NPM       Ecosystem = "npm"
	PyPI      Ecosystem = "pypi"
	Crates    Ecosystem = "crates"
	Maven     Ecosystem = "maven"
	Debian    Ecosystem = "debian"
)

// Ecosystems are all of them.
var Ecosystems = []Ecosystem{GoModules, NPM, PyPI, Crates, Maven, Debian}

// PresetEnv is what the tools are asked with: their own environment on this host, since a
// company's mirror is configured there. They run outside the sandbox, in an empty directory, so
// that no repository's settings are read.
type PresetEnv struct {
	Env  []string // the server's environment, as in os.Environ
	Home string   // the server's home directory
}

// presetTimeout bounds one tool; npm and pip take a second to start on a busy machine.
const presetTimeout = 20 * time.Second

// PresetHosts finds the hosts that an ecosystem's tool downloads from, by asking the tool itself
// and reading its own settings. It is an error when the tool is missing or names no host. Hosts
// that a registry refers to later (download mirrors) are not known to the tool; they have to be
// allowed by name.
func PresetHosts(ctx context.Context, ecosystem Ecosystem, env PresetEnv) ([]string, error) {
	ask := func(name string, args ...string) (string, error) { return askTool(ctx, env, name, args...) }
	var urls []string
	var err error
	switch ecosystem {
	case GoModules:
		urls, err = goURLs(ask)
	case NPM:
		urls, err = npmURLs(ask)
	case PyPI:
		urls, err = pipURLs(ask)
	case Crates:
		urls, err = cargoURLs(ask, env)
	case Maven:
		urls, err = mavenURLs(ask, env)
	case Debian:
		urls, err = aptURLs(ask)
	default:
		return nil, &Invalid{"network", fmt.Sprintf("there is no preset %q; known are %v", ecosystem, Ecosystems)}
	}
	if err != nil {
		return nil, fmt.Errorf("finding the hosts of %s: %w", ecosystem, err)
	}
	hosts := hostsOf(urls)
	if len(hosts) == 0 {
		return nil, fmt.Errorf("finding the hosts of %s: its tool is configured to download from nowhere; name hosts in sandbox.network", ecosystem)
	}
	return hosts, nil
}

// hostsOf are the distinct hosts of web URLs, in order.
func hostsOf(urls []string) []string {
	var hosts []string
	for _, text := range urls {
		text = strings.TrimPrefix(strings.TrimSpace(text), "sparse+")
		parsed, err := url.Parse(text)
		if err != nil || (parsed.Scheme != "https" && parsed.Scheme != "http") {
			continue
		}
		host := strings.ToLower(parsed.Hostname())
		if validHost(host) == nil && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// askTool runs a tool of the host's and returns what it prints.
func askTool(ctx context.Context, env PresetEnv, name string, args ...string) (string, error) {
	path, err := guest.LookPath(name, env.Env, "/")
	if err != nil {
		return "", fmt.Errorf("%s is not installed on this host", name)
	}
	dir, err := os.MkdirTemp("", "autocode-preset-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, presetTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, args...)
	command.Dir, command.Env = dir, env.Env
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, first)
	}
	return string(out), nil
}

type asker func(name string, args ...string) (string, error)

// goURLs reads the module proxies and the checksum database. "direct" means any version-control
// host, which no list can hold; it is left out.
func goURLs(ask asker) ([]string, error) {
	out, err := ask("go", "env", "-json", "GOPROXY", "GOSUMDB")
	if err != nil {
		return nil, err
	}
	var env struct{ GOPROXY, GOSUMDB string }
	if err := json.Unmarshal([]byte(out), &env); err != nil {
		return nil, fmt.Errorf("reading go env: %w", err)
	}
	urls := strings.FieldsFunc(env.GOPROXY, func(r rune) bool { return r == ',' || r == '|' })
	// GOSUMDB is "off", a name, "name+key" or "name+key url" (go help module-auth).
	if fields := strings.Fields(env.GOSUMDB); len(fields) > 0 && fields[0] != "off" {
		name, _, _ := strings.Cut(fields[0], "+")
		urls = append(urls, "https://"+name)
		urls = append(urls, fields[1:]...)
	}
	return urls, nil
}

// npmURLs reads the registry and those of scopes.
func npmURLs(ask asker) ([]string, error) {
	out, err := ask("npm", "config", "list", "--long", "--json")
	if err != nil {
		return nil, err
	}
	var settings map[string]any
	if err := json.Unmarshal([]byte(out), &settings); err != nil {
		return nil, fmt.Errorf("reading npm's settings: %w", err)
	}
	var urls []string
	for key, value := range settings {
		if text, is := value.(string); is && (key == "registry" || strings.HasSuffix(key, ":registry")) {
			urls = append(urls, text)
		}
	}
	slices.Sort(urls)
	return urls, nil
}

// anyURL finds URLs in texts of tools.
var anyURL = regexp.MustCompile(`https?://[^\s'"<>)\]]+`)

// pipURLs reads the configured indexes, or the default that pip's help names.
func pipURLs(ask asker) ([]string, error) {
	pip := []string{"python3", "-m", "pip", "--disable-pip-version-check"}
	out, err := ask(pip[0], append(pip[1:], "config", "list")...)
	if err != nil {
		return nil, err
	}
	var urls []string
	replaced := false
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(line, "=")
		option := key[strings.LastIndexByte(key, '.')+1:]
		switch option {
		case "index-url", "extra-index-url", "find-links":
			urls = append(urls, anyURL.FindAllString(value, -1)...)
			replaced = replaced || option == "index-url"
		}
	}
	if replaced {
		return urls, nil
	}
	out, err = ask(pip[0], append(pip[1:], "download", "--help")...)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(out, "--index-url")
	rest, _, _ = strings.Cut(rest, "--extra-index-url")
	return append(urls, anyURL.FindAllString(strings.Join(strings.Fields(rest), " "), -1)...), nil
}

// cargoURLs reads the registries and mirrors of cargo's settings. Cargo tells its default index
// nowhere but in its own program, where it is found as the one sparse index.
func cargoURLs(ask asker, env PresetEnv) ([]string, error) {
	var urls []string
	for _, entry := range env.Env {
		if key, value, _ := strings.Cut(entry, "="); strings.HasPrefix(key, "CARGO_REGISTRIES_") && strings.HasSuffix(key, "_INDEX") {
			urls = append(urls, value)
		}
	}
	replaced := false
	for _, name := range []string{"config.toml", "config"} {
		content, err := os.ReadFile(filepath.Join(env.Home, ".cargo", name))
		if err != nil {
			continue
		}
		urls = append(urls, configured(string(content), "registry", "index")...)
		replaced = replaced || strings.Contains(string(content), "replace-with")
	}
	if replaced {
		return urls, nil
	}
	program, err := ask("rustup", "which", "cargo")
	if program = strings.TrimSpace(program); err != nil {
		if program, err = guest.LookPath("cargo", env.Env, "/"); err != nil {
			return nil, errors.New("cargo is not installed on this host")
		}
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("reading cargo: %w", err)
	}
	return append(urls, sparseIndex.FindString(string(content))), nil
}

// sparseIndex is the form of a registry's index over HTTP, as it stands in cargo's program.
var sparseIndex = regexp.MustCompile(`sparse\+https://[a-z0-9.-]+/`)

// configured finds the URLs of `key = "value"` lines.
func configured(content string, keys ...string) []string {
	var urls []string
	for line := range strings.Lines(content) {
		key, value, found := strings.Cut(line, "=")
		if found && slices.Contains(keys, strings.TrimSpace(key)) {
			urls = append(urls, strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	return urls
}

// mavenURLs reads the mirrors and repositories of the settings, and the repository that Maven's
// own model (the "super POM" in its library) names.
func mavenURLs(ask asker, env PresetEnv) ([]string, error) {
	out, err := ask("mvn", "--batch-mode", "--version")
	if err != nil {
		return nil, err
	}
	home := ""
	for line := range strings.Lines(out) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "Maven home: "); found {
			home = value
		}
	}
	var urls []string
	mirrored := false
	for _, path := range []string{filepath.Join(env.Home, ".m2", "settings.xml"), filepath.Join(home, "conf", "settings.xml")} {
		content, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		text := xmlComment.ReplaceAllString(string(content), "")
		for _, match := range xmlURL.FindAllStringSubmatch(text, -1) {
			urls = append(urls, match[1])
		}
		for _, match := range xmlMirrorOf.FindAllStringSubmatch(text, -1) {
			mirrored = mirrored || strings.HasPrefix(match[1], "*") || strings.Contains(match[1], "central")
		}
	}
	if mirrored {
		return urls, nil
	}
	models, err := filepath.Glob(filepath.Join(home, "lib", "maven-model-builder*.jar"))
	if err != nil || len(models) == 0 {
		return urls, err
	}
	content, err := zipped(models[0], "org/apache/maven/model/pom-4.0.0.xml")
	if err != nil {
		return nil, fmt.Errorf("reading Maven's own model: %w", err)
	}
	for _, match := range xmlURL.FindAllStringSubmatch(content, -1) {
		urls = append(urls, match[1])
	}
	return urls, nil
}

var (
	xmlComment  = regexp.MustCompile(`(?s)<!--.*?-->`)
	xmlURL      = regexp.MustCompile(`<url>\s*(https?://[^<\s]+)\s*</url>`)
	xmlMirrorOf = regexp.MustCompile(`<mirrorOf>\s*([^<]+?)\s*</mirrorOf>`)
)

// maxModel is far above the size of Maven's own model.
const maxModel = 1 << 20

// zipped reads one file of an archive.
func zipped(archive, name string) (string, error) {
	reader, err := zip.OpenReader(archive)
	if err != nil {
		return "", err
	}
	defer reader.Close()
	file, err := reader.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxModel))
	return string(content), err
}

// aptURLs reads the sites of the configured package lists.
func aptURLs(ask asker) ([]string, error) {
	out, err := ask("apt-get", "indextargets", "--format", "$(SITE)")
	if err != nil {
		return nil, err
	}
	return strings.Split(out, "\n"), nil
}

// ExpandHosts makes a Network of an allow-list's entries: names as they are, and in place of those
// that name a preset, such as @go or @npm, the mirrors that it finds now.
func ExpandHosts(ctx context.Context, entries []string, env PresetEnv) (Network, error) {
	var network Network
	for _, entry := range entries {
		name, isPreset := strings.CutPrefix(entry, "@")
		if !isPreset {
			network.Allow = append(network.Allow, entry)
			continue
		}
		found, err := PresetHosts(ctx, Ecosystem(name), env)
		if err != nil {
			return Network{}, err
		}
		network.Mirrors = append(network.Mirrors, found...)
	}
	return network, nil
}
