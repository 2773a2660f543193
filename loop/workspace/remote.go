package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// source is a repository whose place has been checked.
type source struct {
	repo loop.Repo
	key  string   // names its mirror and spares; a file name
	url  *url.URL // nil for a local repository
	// gitDir and common are a local repository's own git directory and the one that its worktrees
	// share.
	gitDir, common string
}

func (s source) local() bool { return s.url == nil }

// source checks where a repository is to be had from: below one of the configured servers, or,
// where that is allowed, an absolute local path.
func (w *Workspace) source(ctx context.Context, repo loop.Repo) (source, error) {
	raw := repo.CloneURL
	if p, ok := strings.CutPrefix(raw, "file://"); ok && filepath.IsAbs(p) {
		raw = p
	}
	if filepath.IsAbs(raw) {
		return w.localSource(ctx, repo, raw)
	}
	u, err := parseServerURL(raw)
	if err != nil {
		return source{}, fmt.Errorf("clone URL of %s: %w", repo.FullName(), err)
	}
	if path.Clean(u.Path) != u.Path || u.RawPath != "" || strings.ContainsFunc(u.Path, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) {
		return source{}, fmt.Errorf("clone URL %q is refused: its path is not plain", raw)
	}
	for _, base := range w.bases {
		if u.Scheme == base.Scheme && u.Host == base.Host && strings.HasPrefix(u.Path, strings.TrimSuffix(base.Path, "/")+"/") {
			return source{repo: repo, key: remoteKey(repo, u), url: u}, nil
		}
	}
	return source{}, fmt.Errorf("clone URL %q is refused: its server is not among the configured ones", raw)
}

func (w *Workspace) localSource(ctx context.Context, repo loop.Repo, dir string) (source, error) {
	if !w.config.AllowFile {
		return source{}, fmt.Errorf("clone URL %q is refused: local repositories are for the command line only", dir)
	}
	gitDir, err := localGitDir(ctx, w.git, dir)
	if err != nil {
		return source{}, err
	}
	common, err := w.git.line(ctx, localCall(gitDir, "rev-parse", "--path-format=absolute", "--git-common-dir"))
	if err != nil {
		return source{}, err
	}
	sum := sha256.Sum256([]byte(common))
	return source{repo: repo, key: "local-" + hex.EncodeToString(sum[:8]), gitDir: gitDir, common: common}, nil
}

// localCall is a call on a repository that somebody else made. Whose it is does not matter: it was
// named by the person who runs autocode.
func localCall(gitDir string, args ...string) call {
	return call{gitDir: gitDir, args: args, config: []setting{{"safe.directory", "*"}}}
}

// remoteKey names the mirror of a repository: by its id, which survives renames, and its server.
func remoteKey(repo loop.Repo, u *url.URL) string {
	if repo.ID > 0 {
		sum := sha256.Sum256([]byte(u.Scheme + "://" + u.Host))
		return strconv.FormatInt(repo.ID, 10) + "-" + hex.EncodeToString(sum[:4])
	}
	sum := sha256.Sum256([]byte(u.String()))
	return "url-" + hex.EncodeToString(sum[:8])
}

// lsRemote lists the branches and tags that match the patterns, all for none, by their full names.
func (w *Workspace) lsRemote(ctx context.Context, src source, patterns ...string) (map[string]string, error) {
	args := append([]string{"ls-remote", "--quiet", "--heads", "--tags", "--refs", "--end-of-options", src.url.String()}, patterns...)
	c, err := w.authorize(ctx, call{args: args, timeout: w.config.FetchTimeout}, src, loop.AccessRead)
	if err != nil {
		return nil, err
	}
	out, err := w.remote(ctx, c)
	if err != nil {
		return nil, explainRemote("read the branches of "+src.repo.FullName(), err)
	}
	return parseRefs(string(out))
}

// parseRefs reads lines "ID\tREF".
func parseRefs(out string) (map[string]string, error) {
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		id, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || !isObjectID(id) || !strings.HasPrefix(ref, "refs/") {
			return nil, fmt.Errorf("the remote's list of branches holds %q", line)
		}
		refs[ref] = id
	}
	return refs, nil
}

// remoteHeadBranch asks the remote which branch its HEAD is.
func (w *Workspace) remoteHeadBranch(ctx context.Context, src source) (string, error) {
	c, err := w.authorize(ctx, call{args: []string{"ls-remote", "--quiet", "--symref", "--end-of-options", src.url.String(), "HEAD"}, timeout: w.config.FetchTimeout}, src, loop.AccessRead)
	if err != nil {
		return "", err
	}
	out, err := w.remote(ctx, c)
	if err != nil {
		return "", explainRemote("read the default branch of "+src.repo.FullName(), err)
	}
	for line := range strings.Lines(string(out)) {
		if ref, ok := strings.CutPrefix(line, "ref: refs/heads/"); ok {
			branch, _, _ := strings.Cut(ref, "\t")
			return branch, nil
		}
	}
	return "", fmt.Errorf("%s has no default branch: %w", src.repo.FullName(), loop.ErrEmptyRepository)
}

// RemoteHead returns the commit that a branch has on the remote now, "" where there is none.
func (w *Workspace) RemoteHead(ctx context.Context, repo loop.Repo, branch string) (string, error) {
	if err := checkBranch(branch); err != nil {
		return "", err
	}
	src, err := w.source(ctx, repo)
	if err != nil {
		return "", err
	}
	return w.remoteHead(ctx, src, branch)
}

func (w *Workspace) remoteHead(ctx context.Context, src source, branch string) (string, error) {
	ref := "refs/heads/" + branch
	if !src.local() {
		// The pattern also matches longer names that end with it; only the full name counts.
		refs, err := w.lsRemote(ctx, src, ref)
		return refs[ref], err
	}
	id, err := w.git.line(ctx, localCall(src.gitDir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref))
	var failed *Error
	if errors.As(err, &failed) && failed.ExitCode == 1 {
		return "", nil
	}
	return id, err
}

// The refusals of GitHub and other servers, as git prints them.
var (
	noAccess = regexp.MustCompile(`(?i)authentication failed|could not read (?:username|password)|` +
		`repository '[^']*' not found|repository not found|returned error: (?:401|403|404|410|451)|` +
		`archived so it is read-only|permission to .* denied|write access .* not granted|` +
		`account (?:is )?suspended|access .* blocked|resource not accessible by integration`)
	moved = regexp.MustCompile(`(?i)unable to update url base from redirection|returned error: 30[1278]`)
)

// explainRemote says what a remote's refusal means and what to do.
func explainRemote(doing string, err error) error {
	said := stderrOf(err)
	switch {
	case moved.MatchString(said):
		return fmt.Errorf("%s: it was renamed or moved to another owner (the next event carries the new name): %w: %w", doing, loop.ErrNoAccess, err)
	case noAccess.MatchString(said):
		return fmt.Errorf("%s: it is gone, archived or suspended, or the app lacks the permission (check the app's installation and its repository access): %w: %w", doing, loop.ErrNoAccess, err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}
