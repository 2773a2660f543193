package githubtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// zeroSHA is git's name for "no commit".
const zeroSHA = "0000000000000000000000000000000000000000"

// treeEntry is one line of git ls-tree.
type treeEntry struct {
	mode, kind, sha, path string
	size                  int64
}

// lsTree lists a directory of a commit (or the one file of that path).
func (r *repository) lsTree(treeish, path string, more ...string) ([]treeEntry, error) {
	args := append([]string{"ls-tree", "-z", "-l"}, more...)
	args = append(args, treeish)
	if path != "" {
		args = append(args, "--", path)
	}
	out, err := r.git(args...)
	if err != nil {
		return nil, err
	}
	entries := parseTree(out)
	if path != "" && len(entries) == 1 && entries[0].kind == "tree" && entries[0].path == path {
		return r.lsTree(treeish, path+"/", more...)
	}
	return entries, nil
}

func parseTree(out string) []treeEntry {
	var entries []treeEntry
	for line := range strings.SplitSeq(out, "\x00") {
		head, path, found := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if !found || len(f) != 4 {
			continue
		}
		size, _ := strconv.ParseInt(f[3], 10, 64) // "-" for trees is 0
		entries = append(entries, treeEntry{f[0], f[1], f[2], path, size})
	}
	return entries
}

func (r *repository) blob(sha string) ([]byte, error) {
	out, err := r.tool.run(r.dir, nil, nil, "cat-file", "blob", sha)
	return []byte(out), err
}

// listRefs reads the refs that people see.
func (r *repository) listRefs() (map[string]string, error) {
	out, err := r.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags")
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if name, sha, found := strings.Cut(strings.TrimSpace(line), " "); found {
			refs[name] = sha
		}
	}
	return refs, nil
}

func (c *call) jsonRef(name, sha string) obj {
	kind, err := c.repo.git("cat-file", "-t", sha)
	if err != nil {
		kind = "commit"
	}
	return obj{
		"ref": name, "node_id": "REF_" + base64.RawURLEncoding.EncodeToString([]byte(name)), "url": c.api(c.repo) + "/git/" + name,
		"object": obj{"type": kind, "sha": sha, "url": fmt.Sprintf("%s/git/%ss/%s", c.api(c.repo), kind, sha)},
	}
}

func (c *call) getRef() (reply, error) {
	name := "refs/" + c.r.PathValue("ref")
	sha, found := c.repo.refs[name]
	if !found {
		return reply{}, notFound()
	}
	return ok(c.jsonRef(name, sha))
}

// matchingRefs lists the refs that start with a prefix.
func (c *call) matchingRefs() (reply, error) {
	prefix := "refs/" + c.r.PathValue("ref")
	out := []obj{}
	for _, name := range sortedKeys(c.repo.refs) {
		if strings.HasPrefix(name, prefix) {
			out = append(out, c.jsonRef(name, c.repo.refs[name]))
		}
	}
	return ok(page(c, out))
}

func (c *call) createRef() (reply, error) {
	var in struct{ Ref, SHA string }
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if strings.Count(in.Ref, "/") < 2 || !strings.HasPrefix(in.Ref, "refs/") {
		return reply{}, fail(http.StatusUnprocessableEntity, "Reference name must start with 'refs/' and have at least two slashes.")
	}
	if _, err := c.repo.git("check-ref-format", in.Ref); err != nil {
		return reply{}, fail(http.StatusUnprocessableEntity, "%s is not a valid ref name.", in.Ref)
	}
	if _, exists := c.repo.refs[in.Ref]; exists {
		return reply{}, fail(http.StatusUnprocessableEntity, "Reference already exists")
	}
	if !c.repo.has(in.SHA) {
		return reply{}, fail(http.StatusUnprocessableEntity, "Object does not exist")
	}
	if err := c.setRef(in.Ref, zeroSHA, in.SHA); err != nil {
		return reply{}, err
	}
	return created(c.jsonRef(in.Ref, in.SHA))
}

func (c *call) updateRef() (reply, error) {
	name := "refs/" + c.r.PathValue("ref")
	old, found := c.repo.refs[name]
	if !found {
		return reply{}, fail(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	var in struct {
		SHA   string
		Force bool
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if !c.repo.has(in.SHA) {
		return reply{}, fail(http.StatusUnprocessableEntity, "Object does not exist")
	}
	if _, err := c.repo.git("merge-base", "--is-ancestor", old, in.SHA); err != nil && (!in.Force || c.repo.protected[name]) {
		return reply{}, fail(http.StatusUnprocessableEntity, "Update is not a fast forward")
	}
	if err := c.setRef(name, old, in.SHA); err != nil {
		return reply{}, err
	}
	return ok(c.jsonRef(name, in.SHA))
}

func (c *call) deleteRef() (reply, error) {
	name := "refs/" + c.r.PathValue("ref")
	old, found := c.repo.refs[name]
	if !found || c.repo.protected[name] {
		return reply{}, fail(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	if _, err := c.repo.git("update-ref", "-d", name, old); err != nil {
		return reply{}, err
	}
	if err := c.syncRefs(c.repo, c.who.actor()); err != nil {
		return reply{}, err
	}
	return noContent()
}

// setRef moves a ref and sends the events of that.
func (c *call) setRef(name, old, sha string) error {
	if _, err := c.repo.git("update-ref", name, sha, old); err != nil {
		return fail(http.StatusConflict, "Reference cannot be updated")
	}
	return c.syncRefs(c.repo, c.who.actor())
}

func (r *repository) has(sha string) bool {
	if !isSHA(sha) {
		return false
	}
	_, err := r.git("cat-file", "-e", sha)
	return err == nil
}

func isSHA(s string) bool {
	return len(s) == len(zeroSHA) && strings.Trim(s, "0123456789abcdef") == ""
}

func (c *call) getGitCommit() (reply, error) {
	sha := c.r.PathValue("sha")
	if !c.repo.has(sha) {
		return reply{}, notFound()
	}
	info, err := c.repo.readCommit(sha)
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonGitCommit(info))
}

func (c *call) createGitCommit() (reply, error) {
	var in struct {
		Message, Tree string
		Parents       []string
		Author        *struct{ Name, Email, Date string }
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if !c.repo.has(in.Tree) {
		return reply{}, fail(http.StatusUnprocessableEntity, "Tree SHA does not exist")
	}
	for _, p := range in.Parents {
		if !c.repo.has(p) {
			return reply{}, fail(http.StatusUnprocessableEntity, "Parent SHA does not exist or is not a commit object")
		}
	}
	by := c.identity(c.who.actor())
	if in.Author != nil {
		by.name, by.email = in.Author.Name, in.Author.Email
		if in.Author.Date != "" {
			by.date = in.Author.Date
		}
	}
	sha, err := c.repo.commit(in.Tree, in.Parents, in.Message, by)
	if err != nil {
		return reply{}, err
	}
	info, err := c.repo.readCommit(sha)
	if err != nil {
		return reply{}, err
	}
	return created(c.jsonGitCommit(info))
}

// identity is who GitHub puts on commits that it writes for somebody.
func (s *Server) identity(a actor) identity {
	if a.user == nil {
		return identity{"ghost", "ghost@users.noreply.example.com", stamp(s.clock())}
	}
	return identity{a.user.Login, fmt.Sprintf("%d+%s@users.noreply.example.com", a.user.ID, a.user.Login), stamp(s.clock())}
}

func (c *call) getTree() (reply, error) {
	sha := c.repo.resolve(c.r.PathValue("sha"))
	if sha == "" {
		if sha = c.r.PathValue("sha"); !c.repo.has(sha) {
			return reply{}, notFound()
		}
	}
	var more []string
	if c.query("recursive") != "" {
		more = []string{"-r", "-t"}
	}
	tree, err := c.repo.git("rev-parse", "--verify", "--quiet", sha+"^{tree}")
	if err != nil {
		return reply{}, notFound()
	}
	entries, err := c.repo.lsTree(tree, "", more...)
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonTree(tree, entries))
}

func (c *call) jsonTree(tree string, entries []treeEntry) obj {
	return obj{
		"sha": tree, "url": c.api(c.repo) + "/git/trees/" + tree, "truncated": false,
		"tree": mapAll(entries, func(e treeEntry) obj {
			o := obj{"path": e.path, "mode": e.mode, "type": e.kind, "sha": e.sha, "url": fmt.Sprintf("%s/git/%ss/%s", c.api(c.repo), e.kind, e.sha)}
			if e.kind == "blob" {
				o["size"] = e.size
			}
			return o
		}),
	}
}

// createTree takes GitHub's entries; a null sha removes a path.
func (c *call) createTree() (reply, error) {
	var in struct {
		BaseTree string `json:"base_tree"`
		Tree     []struct {
			Path, Mode, Type string
			SHA              json.RawMessage
			Content          *string
		}
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	var changes []fileChange
	for _, e := range in.Tree {
		ch := fileChange{path: e.Path, mode: e.Mode}
		switch {
		case e.Content != nil:
			sha, err := c.repo.writeBlob([]byte(*e.Content))
			if err != nil {
				return reply{}, err
			}
			ch.sha = sha
		case string(e.SHA) != "null" && len(e.SHA) > 0:
			if err := json.Unmarshal(e.SHA, &ch.sha); err != nil || !c.repo.has(ch.sha) {
				return reply{}, fail(http.StatusUnprocessableEntity, "tree.sha %s is not a valid object", e.SHA)
			}
		}
		changes = append(changes, ch)
	}
	if in.BaseTree != "" && !c.repo.has(in.BaseTree) {
		return reply{}, fail(http.StatusUnprocessableEntity, "base_tree is not a valid tree oid")
	}
	tree, err := c.repo.writeTree(in.BaseTree, changes)
	if err != nil {
		return reply{}, fail(http.StatusUnprocessableEntity, "tree is malformed: %v", err)
	}
	entries, err := c.repo.lsTree(tree, "")
	if err != nil {
		return reply{}, err
	}
	return created(c.jsonTree(tree, entries))
}

func (c *call) getBlob() (reply, error) {
	sha := c.r.PathValue("sha")
	if !c.repo.has(sha) {
		return reply{}, notFound()
	}
	data, err := c.repo.blob(sha)
	if err != nil {
		return reply{}, notFound()
	}
	return ok(obj{
		"sha": sha, "node_id": "B_" + sha, "size": len(data), "url": c.api(c.repo) + "/git/blobs/" + sha,
		"content": wrap60(base64.StdEncoding.EncodeToString(data)), "encoding": "base64",
	})
}

func (c *call) createBlob() (reply, error) {
	var in struct{ Content, Encoding string }
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(in.Content, "\n", "")); err != nil {
			return reply{}, fail(http.StatusUnprocessableEntity, "content is not valid Base64")
		}
	}
	sha, err := c.repo.writeBlob(data)
	if err != nil {
		return reply{}, err
	}
	return created(obj{"sha": sha, "url": c.api(c.repo) + "/git/blobs/" + sha})
}

func (c *call) getTag() (reply, error) {
	sha := c.r.PathValue("sha")
	out, err := c.repo.git("cat-file", "tag", sha)
	if !isSHA(sha) || err != nil {
		return reply{}, notFound()
	}
	head, message, _ := strings.Cut(out, "\n\n")
	fields := map[string]string{}
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		fields[name] = value
	}
	name, email, date := parseSignature(fields["tagger"])
	return ok(obj{
		"sha": sha, "node_id": "TA_" + sha, "tag": fields["tag"], "message": message, "url": c.api(c.repo) + "/git/tags/" + sha,
		"tagger":       obj{"name": name, "email": email, "date": date},
		"object":       obj{"type": fields["type"], "sha": fields["object"], "url": fmt.Sprintf("%s/git/%ss/%s", c.api(c.repo), fields["type"], fields["object"])},
		"verification": unverified(),
	})
}

// createTag makes an annotated tag object; its ref is a call of its own, as on GitHub.
func (c *call) createTag() (reply, error) {
	var in struct{ Tag, Message, Object, Type string }
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if !c.repo.has(in.Object) || in.Tag == "" {
		return reply{}, fail(http.StatusUnprocessableEntity, "object does not exist")
	}
	by := c.identity(c.who.actor())
	raw := fmt.Sprintf("object %s\ntype %s\ntag %s\ntagger %s <%s> %d +0000\n\n%s\n", in.Object, in.Type, in.Tag, by.name, by.email, c.clock().Unix(), in.Message)
	out, err := c.repo.tool.run(c.repo.dir, []byte(raw), nil, "mktag")
	if err != nil {
		return reply{}, fail(http.StatusUnprocessableEntity, "tag is malformed")
	}
	c.r.SetPathValue("sha", strings.TrimSpace(out))
	rep, err := c.getTag()
	rep.status = http.StatusCreated
	return rep, err
}

func unverified() obj {
	return obj{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
}
