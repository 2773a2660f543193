package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// bundle is a parsed bundle: what it builds on, what it brings, and the pack.
type bundle struct {
	needs, brings []string
	pack          []byte
}

// parseBundles reads git bundles of version 2 or 3; empty ones are left out.
func parseBundles(raw [][]byte) ([]bundle, error) {
	var bundles []bundle
	for i, b := range raw {
		if len(b) == 0 {
			continue
		}
		parsed, err := parseBundle(b)
		if err != nil {
			return nil, fmt.Errorf("bundle %d: %w", i+1, err)
		}
		bundles = append(bundles, parsed)
	}
	return bundles, nil
}

func parseBundle(b []byte) (bundle, error) {
	first, rest, ok := bytes.Cut(b, []byte("\n"))
	if !ok || (string(first) != "# v2 git bundle" && string(first) != "# v3 git bundle") {
		return bundle{}, errors.New("does not start as a git bundle")
	}
	var parsed bundle
	for {
		line, next, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return bundle{}, errors.New("the header does not end")
		}
		if rest = next; len(line) == 0 {
			parsed.pack = rest
			return parsed, nil
		}
		text := string(line)
		id, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), " ")
		switch {
		case strings.HasPrefix(text, "@"): // a capability, as the object format
		case !isObjectID(id):
			return bundle{}, fmt.Errorf("the header holds %q", text)
		case strings.HasPrefix(text, "-"):
			parsed.needs = append(parsed.needs, id)
		default:
			parsed.brings = append(parsed.brings, id)
		}
	}
}

// unpack adds a bundle's objects to the clone's own.
func (c *clone) unpack(ctx context.Context, b bundle) error {
	in := c.call("index-pack", "--stdin", "--fix-thin", "--max-input-size="+strconv.FormatInt(c.w.config.MaxBundleBytes, 10))
	in.stdin = bytes.NewReader(b.pack)
	if _, err := c.w.git.run(ctx, in); err != nil {
		return fmt.Errorf("unpack a snapshot's bundle: %w", err)
	}
	return nil
}

// bundleRef is the name under which a bundle carries its commit.
const bundleRef = "refs/autocode/snapshot"

// Bundle packs the commits that lead to commit and that base lacks; nil where there are none.
func (c *clone) Bundle(ctx context.Context, base, commit string) ([]byte, error) {
	if err := errors.Join(checkCommit(base), checkCommit(commit)); err != nil {
		return nil, err
	}
	if base == commit {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.w.git.run(ctx, c.call("update-ref", "--no-deref", bundleRef, commit)); err != nil {
		return nil, fmt.Errorf("bundle %s: %w", commit, err)
	}
	in := c.call("bundle", "create", "--quiet", "-", bundleRef, "^"+base)
	in.limit = c.w.config.MaxBundleBytes
	out, err := c.w.git.run(ctx, in)
	switch {
	case errors.Is(err, errOutputTooLong):
		return nil, fmt.Errorf("bundle %s..%s is over %d bytes (was a build's output committed?): %w", base, commit, in.limit, ErrTooLarge)
	case strings.Contains(stderrOf(err), "empty bundle"):
		return nil, nil // base leads back to commit
	case err != nil:
		return nil, fmt.Errorf("bundle %s..%s: %w", base, commit, err)
	}
	return out, nil
}
