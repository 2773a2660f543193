package githubtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxPushCommits is how many commits GitHub puts into a push event.
const maxPushCommits = 2048

// syncRefs compares the refs with those last seen and sends what GitHub would: create, delete, push,
// check_suite requested and pull_request synchronize.
func (s *Server) syncRefs(r *repository, by actor) error {
	now, err := r.listRefs()
	if err != nil {
		return err
	}
	before := r.refs
	r.refs = now
	names := append(sortedKeys(now), sortedKeys(before)...)
	slices.Sort(names)
	for _, ref := range slices.Compact(names) {
		old, sha := cmp.Or(before[ref], zeroSHA), cmp.Or(now[ref], zeroSHA)
		if old == sha {
			continue
		}
		r.PushedAt = s.clock()
		if err := s.refMoved(r, by, ref, old, sha); err != nil {
			return err
		}
	}
	s.wake()
	return nil
}

func (s *Server) refMoved(r *repository, by actor, ref, old, sha string) error {
	kind, short := "branch", strings.TrimPrefix(ref, "refs/heads/")
	if tag, isTag := strings.CutPrefix(ref, "refs/tags/"); isTag {
		kind, short = "tag", tag
	}
	if sha == zeroSHA {
		s.emit(r, by, "delete", "", obj{"ref": short, "ref_type": kind, "pusher_type": "user"})
	}
	if old == zeroSHA {
		s.emit(r, by, "create", "", obj{
			"ref": short, "ref_type": kind, "master_branch": r.DefaultBranch, "description": nil, "pusher_type": "user",
		})
	}
	if err := s.emitPush(r, by, ref, old, sha); err != nil {
		return err
	}
	if kind == "tag" {
		return nil
	}
	if sha != zeroSHA {
		s.requestSuite(r, short, sha, old, by)
	}
	return s.syncPulls(r, short, sha, by)
}

func (s *Server) emitPush(r *repository, by actor, ref, old, sha string) error {
	commits := []obj{}
	var head any
	if sha != zeroSHA && strings.HasPrefix(ref, "refs/heads/") {
		args := []string{"--reverse", fmt.Sprintf("--max-count=%d", maxPushCommits)}
		switch {
		case old != zeroSHA:
			args = append(args, old+".."+sha, "--")
		case ref == "refs/heads/"+r.DefaultBranch || r.refs["refs/heads/"+r.DefaultBranch] == "":
			args = append(args, sha, "--")
		default:
			args = append(args, r.refs["refs/heads/"+r.DefaultBranch]+".."+sha, "--")
		}
		infos, err := r.log(args...)
		if err != nil {
			return err
		}
		for _, i := range infos {
			one, err := s.pushCommit(r, i)
			if err != nil {
				return err
			}
			commits = append(commits, one)
		}
		info, err := r.readCommit(sha)
		if err != nil {
			return err
		}
		if head, err = s.pushCommit(r, info); err != nil {
			return err
		}
	}
	forced := false
	if old != zeroSHA && sha != zeroSHA {
		_, err := r.git("merge-base", "--is-ancestor", old, sha)
		forced = err != nil
	}
	who := s.identity(by)
	s.emit(r, by, "push", "", obj{
		"ref": ref, "before": old, "after": sha, "created": old == zeroSHA, "deleted": sha == zeroSHA, "forced": forced, "base_ref": nil,
		"compare": fmt.Sprintf("%s/compare/%.12s...%.12s", s.html(r), old, sha), "commits": commits, "head_commit": head,
		"pusher": obj{"name": who.name, "email": who.email},
	})
	return nil
}

func (s *Server) pushCommit(r *repository, i commitInfo) (obj, error) {
	base := emptyTree
	if len(i.parents) > 0 {
		base = i.parents[0]
	}
	files, err := r.diff(base, i.sha)
	if err != nil {
		return nil, err
	}
	lists := map[string][]string{"added": {}, "removed": {}, "modified": {}}
	for _, f := range files {
		switch f.status {
		case "added", "copied":
			lists["added"] = append(lists["added"], f.path)
		case "removed":
			lists["removed"] = append(lists["removed"], f.path)
		case "renamed":
			lists["added"], lists["removed"] = append(lists["added"], f.path), append(lists["removed"], f.old)
		default:
			lists["modified"] = append(lists["modified"], f.path)
		}
	}
	return obj{
		"id": i.sha, "tree_id": i.tree, "distinct": true, "message": i.message, "timestamp": stamp(i.commitDate),
		"url":       s.html(r) + "/commit/" + i.sha,
		"author":    obj{"name": i.authorName, "email": i.authorEmail, "username": i.authorName},
		"committer": obj{"name": i.committer, "email": i.committerMail, "username": i.committer},
		"added":     lists["added"], "removed": lists["removed"], "modified": lists["modified"],
	}, nil
}

// cutBranch takes the branch's name out of a ref.
func cutBranch(ref string) (string, bool) { return strings.CutPrefix(ref, "refs/heads/") }
