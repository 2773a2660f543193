package githubtest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commitInfo is one commit as git tells it.
type commitInfo struct {
	sha, tree                string
	parents                  []string
	authorName, authorEmail  string
	authorDate               time.Time
	committer, committerMail string
	commitDate               time.Time
	message                  string
}

// logFormat separates fields by NUL and commits by the record separator.
const logFormat = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B%x1e"

// log reads commits, newest first.
func (r *repository) log(args ...string) ([]commitInfo, error) {
	out, err := r.git(append([]string{"log", logFormat}, args...)...)
	if err != nil {
		return nil, err
	}
	var infos []commitInfo
	for rec := range strings.SplitSeq(out, "\x1e") {
		f := strings.Split(strings.TrimPrefix(rec, "\n"), "\x00")
		if len(f) != 10 {
			continue
		}
		infos = append(infos, commitInfo{
			sha: f[0], tree: f[1], parents: strings.Fields(f[2]),
			authorName: f[3], authorEmail: f[4], authorDate: unix(f[5]),
			committer: f[6], committerMail: f[7], commitDate: unix(f[8]), message: strings.TrimRight(f[9], "\n"),
		})
	}
	return infos, nil
}

func unix(s string) time.Time {
	n, _ := strconv.ParseInt(s, 10, 64) // git prints digits
	return time.Unix(n, 0).UTC()
}

func (r *repository) readCommit(sha string) (commitInfo, error) {
	infos, err := r.log("-1", sha, "--")
	if err != nil || len(infos) != 1 {
		return commitInfo{}, notFound()
	}
	return infos[0], nil
}

// signature finds name, address, seconds and zone of a tagger line.
var signature = regexp.MustCompile(`^(.*) <(.*)> (\d+) [+-]\d{4}$`)

func parseSignature(s string) (name, email, date string) {
	m := signature.FindStringSubmatch(s)
	if m == nil {
		return "", "", stamp(time.Unix(0, 0))
	}
	return m[1], m[2], stamp(unix(m[3]))
}

func (c *call) jsonGitCommit(i commitInfo) obj { return c.gitCommit(c.repo, i) }

// gitCommit is the "git commit" object: what git knows and nothing else.
func (s *Server) gitCommit(r *repository, i commitInfo) obj {
	api := s.api(r)
	return obj{
		"sha": i.sha, "node_id": commitNode(i.sha), "url": api + "/git/commits/" + i.sha, "html_url": s.html(r) + "/commit/" + i.sha,
		"author":    obj{"name": i.authorName, "email": i.authorEmail, "date": stamp(i.authorDate)},
		"committer": obj{"name": i.committer, "email": i.committerMail, "date": stamp(i.commitDate)},
		"tree":      obj{"sha": i.tree, "url": api + "/git/trees/" + i.tree}, "message": i.message,
		"parents": mapAll(i.parents, func(p string) obj {
			return obj{"sha": p, "url": api + "/git/commits/" + p, "html_url": s.html(r) + "/commit/" + p}
		}),
		"verification": unverified(),
	}
}

func commitNode(sha string) string {
	return "C_kwDO" + base64.RawURLEncoding.EncodeToString([]byte(sha[:min(len(sha), 12)]))
}

// userByMail finds the account behind a noreply address.
func (s *Server) userByMail(mail string) *user {
	local, _, _ := strings.Cut(mail, "@")
	if _, login, found := strings.Cut(local, "+"); found {
		return s.users[strings.ToLower(login)]
	}
	return nil
}

// repoCommit is the "commit" object of lists and comparisons.
func (s *Server) repoCommit(r *repository, i commitInfo) obj {
	api := s.api(r)
	inner := s.gitCommit(r, i)
	for _, k := range []string{"sha", "node_id", "parents", "html_url"} {
		delete(inner, k)
	}
	inner["comment_count"] = 0
	return obj{
		"sha": i.sha, "node_id": commitNode(i.sha), "commit": inner, "url": api + "/commits/" + i.sha,
		"html_url": s.html(r) + "/commit/" + i.sha, "comments_url": api + "/commits/" + i.sha + "/comments",
		"author": s.jsonUser(s.userByMail(i.authorEmail)), "committer": s.jsonUser(s.userByMail(i.committerMail)),
		"parents": mapAll(i.parents, func(p string) obj {
			return obj{"sha": p, "url": api + "/commits/" + p, "html_url": s.html(r) + "/commit/" + p}
		}),
	}
}

func (c *call) jsonCommit(i commitInfo) obj { return c.repoCommit(c.repo, i) }

func (c *call) getCommit() (reply, error) {
	ref := c.r.PathValue("ref")
	sha := c.repo.resolve(ref)
	if sha == "" {
		return reply{}, fail(http.StatusUnprocessableEntity, "No commit found for SHA: %s", ref)
	}
	accept := c.r.Header.Get("Accept")
	if strings.Contains(accept, ".sha") {
		c.header.Set("Content-Type", "application/vnd.github.sha; charset=utf-8")
		return ok([]byte(sha))
	}
	info, err := c.repo.readCommit(sha)
	if err != nil {
		return reply{}, err
	}
	base := emptyTree
	if len(info.parents) > 0 {
		base = info.parents[0]
	}
	if strings.Contains(accept, "diff") || strings.Contains(accept, "patch") {
		return c.rawDiff(base, sha)
	}
	files, err := c.repo.diff(base, sha)
	if err != nil {
		return reply{}, err
	}
	out := c.jsonCommit(info)
	added, deleted := totals(files)
	out["stats"] = obj{"additions": added, "deletions": deleted, "total": added + deleted}
	out["files"] = mapAll(page(c, files), func(f diffFile) obj { return c.jsonFile(f, sha) })
	return ok(out)
}

// emptyTree is git's name for a tree without entries: what a first commit is compared with.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

func (c *call) rawDiff(base, head string) (reply, error) {
	out, err := c.repo.tool.run(c.repo.dir, nil, nil, "diff", "-M", base, head)
	if err != nil {
		return reply{}, err
	}
	c.header.Set("Content-Type", "application/vnd.github.diff; charset=utf-8")
	return ok([]byte(out))
}

func (c *call) listCommits() (reply, error) {
	from := c.query("sha")
	sha := c.repo.resolve(from)
	if sha == "" {
		if from == "" {
			return reply{}, fail(http.StatusConflict, "Git Repository is empty.")
		}
		return reply{}, notFound()
	}
	args := []string{sha}
	if since := c.query("since"); since != "" {
		args = append([]string{"--since=" + since}, args...)
	}
	if author := c.query("author"); author != "" {
		args = append([]string{"--fixed-strings", "--author=" + author}, args...)
	}
	args = append(args, "--")
	if p := c.query("path"); p != "" {
		args = append(args, p)
	}
	infos, err := c.repo.log(args...)
	if err != nil {
		return reply{}, err
	}
	return ok(mapAll(page(c, infos), c.jsonCommit))
}

// diffFile is one changed file.
type diffFile struct {
	path, old, status, sha string
	added, deleted         int
	patch                  string
}

// diffStatus translates git's letters.
var diffStatus = map[byte]string{'A': "added", 'D': "removed", 'M': "modified", 'R': "renamed", 'C': "copied", 'T': "changed"}

// diff compares two trees file by file. The three listings of git come in the same order.
func (r *repository) diff(base, head string) ([]diffFile, error) {
	raw, err := r.git("diff", "--raw", "-z", "-M", "--no-abbrev", base, head)
	if err != nil {
		return nil, err
	}
	num, err := r.git("diff", "--numstat", "-z", "-M", base, head)
	if err != nil {
		return nil, err
	}
	text, err := r.git("diff", "-M", base, head)
	if err != nil {
		return nil, err
	}
	var files []diffFile
	fields := strings.Split(raw, "\x00")
	for i := 0; i+1 < len(fields); i++ {
		f := strings.Fields(fields[i])
		if len(f) != 5 {
			continue
		}
		d := diffFile{status: diffStatus[f[4][0]], sha: f[3], path: fields[i+1]}
		if d.status == "removed" {
			d.sha = f[2]
		}
		i++
		if f[4][0] == 'R' || f[4][0] == 'C' {
			i++
			d.old, d.path = d.path, fields[i]
		}
		files = append(files, d)
	}
	counts := strings.Split(num, "\x00")
	for i, n := 0, 0; i < len(counts) && n < len(files); i, n = i+1, n+1 {
		f := strings.SplitN(counts[i], "\t", 3)
		if len(f) != 3 {
			break
		}
		files[n].added, _ = strconv.Atoi(f[0]) // "-" of a binary file is 0
		files[n].deleted, _ = strconv.Atoi(f[1])
		if f[2] == "" {
			i += 2 // a rename: both names follow
		}
	}
	for n, part := range splitPatch(text) {
		if n < len(files) {
			files[n].patch = part
		}
	}
	return files, nil
}

// splitPatch cuts a diff into the hunks of each file; a file without hunks is "".
func splitPatch(text string) []string {
	var parts []string
	inHunk := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "diff --git "):
			parts, inHunk = append(parts, ""), false
			continue
		case strings.HasPrefix(line, "@@ "):
			inHunk = true
		}
		if inHunk && len(parts) > 0 {
			parts[len(parts)-1] += line
		}
	}
	for i := range parts {
		parts[i] = strings.TrimSuffix(parts[i], "\n")
	}
	return parts
}

func totals(files []diffFile) (added, deleted int) {
	for _, f := range files {
		added, deleted = added+f.added, deleted+f.deleted
	}
	return added, deleted
}

func (c *call) jsonFile(f diffFile, head string) obj {
	o := obj{
		"sha": f.sha, "filename": f.path, "status": f.status, "additions": f.added, "deletions": f.deleted, "changes": f.added + f.deleted,
		"blob_url": fmt.Sprintf("%s/blob/%s/%s", c.html(c.repo), head, f.path), "raw_url": fmt.Sprintf("%s/raw/%s/%s", c.html(c.repo), head, f.path),
		"contents_url": fmt.Sprintf("%s/contents/%s?ref=%s", c.api(c.repo), f.path, head),
	}
	if f.patch != "" {
		o["patch"] = f.patch
	}
	if f.old != "" {
		o["previous_filename"] = f.old
	}
	return o
}

// compare serves base...head, with head possibly as owner:branch.
func (c *call) compare() (reply, error) {
	basehead := c.r.PathValue("basehead")
	baseName, headName, found := strings.Cut(basehead, "...")
	if !found {
		return reply{}, notFound()
	}
	base, head := c.repo.resolve(stripOwner(baseName)), c.repo.resolve(stripOwner(headName))
	if base == "" || head == "" {
		return reply{}, notFound()
	}
	fork, err := c.repo.git("merge-base", base, head)
	if err != nil {
		return reply{}, fail(http.StatusNotFound, "No common ancestor between %s and %s.", baseName, headName)
	}
	if accept := c.r.Header.Get("Accept"); strings.Contains(accept, "diff") || strings.Contains(accept, "patch") {
		return c.rawDiff(fork, head)
	}
	infos, err := c.repo.log("--reverse", base+".."+head, "--")
	if err != nil {
		return reply{}, err
	}
	behind, err := c.repo.log(head+".."+base, "--")
	if err != nil {
		return reply{}, err
	}
	files, err := c.repo.diff(fork, head)
	if err != nil {
		return reply{}, err
	}
	baseInfo, err := c.repo.readCommit(base)
	if err != nil {
		return reply{}, err
	}
	forkInfo, err := c.repo.readCommit(fork)
	if err != nil {
		return reply{}, err
	}
	status := "identical"
	switch {
	case len(infos) > 0 && len(behind) > 0:
		status = "diverged"
	case len(infos) > 0:
		status = "ahead"
	case len(behind) > 0:
		status = "behind"
	}
	address := c.html(c.repo) + "/compare/" + basehead
	return ok(obj{
		"url": c.api(c.repo) + "/compare/" + basehead, "html_url": address, "permalink_url": address, "diff_url": address + ".diff", "patch_url": address + ".patch",
		"base_commit": c.jsonCommit(baseInfo), "merge_base_commit": c.jsonCommit(forkInfo), "status": status,
		"ahead_by": len(infos), "behind_by": len(behind), "total_commits": len(infos),
		"commits": mapAll(page(c, infos), c.jsonCommit), "files": mapAll(files, func(f diffFile) obj { return c.jsonFile(f, head) }),
	})
}

func stripOwner(ref string) string {
	if _, after, found := strings.Cut(ref, ":"); found {
		return after
	}
	return ref
}

func (c *call) jsonBranch(name, sha string) obj {
	return obj{
		"name": name, "commit": obj{"sha": sha, "url": c.api(c.repo) + "/commits/" + sha}, "protected": c.repo.protected["refs/heads/"+name],
		"protection": obj{"enabled": false}, "protection_url": c.api(c.repo) + "/branches/" + name + "/protection",
	}
}

func (c *call) listBranches() (reply, error) {
	var out []obj
	for _, ref := range sortedKeys(c.repo.refs) {
		if name, isBranch := strings.CutPrefix(ref, "refs/heads/"); isBranch {
			out = append(out, c.jsonBranch(name, c.repo.refs[ref]))
		}
	}
	return ok(append([]obj{}, page(c, out)...))
}

func (c *call) getBranch() (reply, error) {
	name := c.r.PathValue("branch")
	sha, found := c.repo.refs["refs/heads/"+name]
	if !found {
		return reply{}, fail(http.StatusNotFound, "Branch not found")
	}
	info, err := c.repo.readCommit(sha)
	if err != nil {
		return reply{}, err
	}
	out := c.jsonBranch(name, sha)
	out["commit"] = c.jsonCommit(info)
	out["_links"] = obj{"self": c.api(c.repo) + "/branches/" + name, "html": c.html(c.repo) + "/tree/" + name}
	return ok(out)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// fileChange is one path of a new tree; an empty sha removes it.
type fileChange struct{ path, mode, sha string }

// defaultFileMode is an ordinary file.
const defaultFileMode = "100644"

func (r *repository) writeBlob(data []byte) (string, error) {
	out, err := r.tool.run(r.dir, data, nil, "hash-object", "-w", "--stdin")
	return strings.TrimSpace(out), err
}

// writeTree applies changes to a tree ("" is the empty one) through an index of its own.
func (r *repository) writeTree(base string, changes []fileChange) (string, error) {
	env := []string{"GIT_INDEX_FILE=" + path.Join(r.dir, "githubtest-index")}
	start := []string{"read-tree", "--empty"}
	if base != "" {
		start = []string{"read-tree", base}
	}
	if _, err := r.tool.run(r.dir, nil, env, start...); err != nil {
		return "", err
	}
	var info strings.Builder
	for _, ch := range changes {
		switch {
		case ch.sha == "":
			fmt.Fprintf(&info, "0 %s\t%s\x00", zeroSHA, ch.path)
		case ch.mode == "":
			fmt.Fprintf(&info, "%s %s\t%s\x00", defaultFileMode, ch.sha, ch.path)
		default:
			fmt.Fprintf(&info, "%s %s\t%s\x00", ch.mode, ch.sha, ch.path)
		}
	}
	if _, err := r.tool.run(r.dir, []byte(info.String()), env, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	out, err := r.tool.run(r.dir, nil, env, "write-tree")
	return strings.TrimSpace(out), err
}
