package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Version is the release of @octokit/openapi that the checks were written for.
const Version = "23.0.2"

// ErrAbsent says that the description has not been fetched.
var ErrAbsent = errors.New("GitHub's OpenAPI description is absent")

// File is where the description lies below the directory given to npm's --prefix:
//
//	npm install --no-save --prefix DIR @octokit/openapi@23.0.2
func File(dir string) string {
	return filepath.Join(dir, "node_modules", "@octokit", "openapi", "generated", "api.github.com.json")
}

// DefaultDir is the directory in the user's cache where tests look for the description.
func DefaultDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory for GitHub's OpenAPI description: %w", err)
	}
	return filepath.Join(cache, "autocode", "openapi-"+Version), nil
}

// inUse are the paths that an App of this project may call. The whole description takes many times
// longer to load.
var inUse = regexp.MustCompile(`^/(app|apps/\{app_slug\}|app-manifests|installation|rate_limit|meta$|users/\{username\}$|user$|users/\{username\}/installation|orgs/\{org\}/installation|` +
	`repos/\{owner\}/\{repo\}($|/(installation|contents|collaborators|branches|commits|compare|git|issues|labels|pulls|check-runs|check-suites|statuses|actions/jobs|actions/runs/\{run_id\}/jobs)(/|$)))`)

// sent are the webhooks that such an App gets.
var sent = regexp.MustCompile(`^(issues|issue-comment|pull-request|pull-request-review|pull-request-review-comment|check-run|check-suite|installation|installation-repositories|repository|label)-` +
	`|^(push|create|delete|status)$`)

// webhookPath is where the webhooks are put among the paths.
const webhookPath = "/webhook/"

// load reads the description, keeps the paths in use and what they refer to.
func load(file string) (*openapi3.T, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrAbsent, file)
	}
	if err != nil {
		return nil, fmt.Errorf("read GitHub's OpenAPI description: %w", err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read GitHub's OpenAPI description %s: %w", file, err)
	}
	paths, _ := doc["paths"].(map[string]any)
	kept := map[string]any{}
	for path, item := range paths {
		if inUse.MatchString(path) {
			kept[path] = item
		}
	}
	// The webhooks are described beside the paths, in a key that the library would not load.
	webhooks, _ := doc["x-webhooks"].(map[string]any)
	for name, item := range webhooks {
		if sent.MatchString(name) {
			kept[webhookPath+name] = item
		}
	}
	components, _ := doc["components"].(map[string]any)
	trimmed, err := json.Marshal(map[string]any{
		"openapi": doc["openapi"], "info": doc["info"], "paths": kept, "components": reachable(components, kept),
	})
	if err != nil {
		return nil, fmt.Errorf("trim GitHub's OpenAPI description: %w", err)
	}
	out, err := openapi3.NewLoader().LoadFromData(trimmed)
	if err != nil {
		return nil, fmt.Errorf("load GitHub's OpenAPI description: %w", err)
	}
	return out, nil
}

// reachable keeps the components that the paths refer to, directly or through others.
func reachable(components map[string]any, from any) map[string]any {
	kept := map[string]any{}
	var visit func(v any)
	visit = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			if ref, isRef := x["$ref"].(string); isRef {
				parts := strings.Split(strings.TrimPrefix(ref, "#/components/"), "/")
				if len(parts) == 2 && keep(components, kept, parts[0], parts[1]) {
					section, _ := components[parts[0]].(map[string]any)
					visit(section[parts[1]])
				}
			}
			// The examples are large, refer to nothing that is checked, and break their own schemas.
			delete(x, "examples")
			for _, one := range x {
				visit(one)
			}
		case []any:
			for _, one := range x {
				visit(one)
			}
		}
	}
	visit(from)
	return kept
}

// keep copies one component and reports whether it is new.
func keep(components, kept map[string]any, kind, name string) bool {
	section, _ := components[kind].(map[string]any)
	if section[name] == nil {
		return false
	}
	to, _ := kept[kind].(map[string]any)
	if to == nil {
		to = map[string]any{}
		kept[kind] = to
	}
	if _, have := to[name]; have {
		return false
	}
	to[name] = section[name]
	return true
}

// template is one path of the description as a pattern.
type template struct {
	path    string
	pattern *regexp.Regexp
	names   []string
}

// slashed are the parameters whose values may contain slashes.
var slashed = []string{"path", "ref", "basehead", "branch", "commit_sha"}

// parameter finds the parameters of a path whose special characters are quoted.
var parameter = regexp.MustCompile(`\\\{([^}]+)\\\}`)

// compile makes the patterns, those with fewer parameters and longer texts first.
func compile(doc *openapi3.T) []template {
	var out []template
	for path := range doc.Paths.Map() {
		if strings.HasPrefix(path, webhookPath) {
			continue
		}
		t := template{path: path}
		pattern := parameter.ReplaceAllStringFunc(regexp.QuoteMeta(path), func(s string) string {
			name := strings.Trim(s, `\{}`)
			t.names = append(t.names, name)
			if slices.Contains(slashed, name) {
				return "(.+)"
			}
			return "([^/]+)"
		})
		t.pattern = regexp.MustCompile("^" + pattern + "$")
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b template) int {
		if d := len(a.names) - len(b.names); d != 0 {
			return d
		}
		if d := len(b.path) - len(a.path); d != 0 {
			return d
		}
		return strings.Compare(a.path, b.path)
	})
	return out
}
