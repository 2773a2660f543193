package githubtest

import (
	"crypto/rand"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"
)

// remote is the address with the token in it; good enough for a test's own clone.
func (w *world) remote(token string) string {
	return strings.Replace(w.CloneURL(testRepo), "http://", "http://x-access-token:"+token+"@", 1)
}

func TestGitCloneFetchPush(t *testing.T) {
	w := newWorld(t, func(_ *Options, r *RepositoryOptions) { r.Private = true })
	sink := w.sink("s3cret")
	dir := filepath.Join(t.TempDir(), "clone")
	mustGit(t, ".", "clone", "--quiet", w.remote(w.token(nil)), dir)
	if got := mustGit(t, dir, "rev-parse", "HEAD"); got != w.head {
		t.Fatalf("clone is at %s, want %s", got, w.head)
	}
	info, err := os.Stat(filepath.Join(dir, "scripts/run.sh"))
	w.must(err)
	if info.Mode()&0o100 == 0 {
		t.Error("the executable bit of scripts/run.sh is lost")
	}

	// Beyond http.postBuffer (1 MB) git sends chunks.
	big := make([]byte, 3<<20)
	_, err = rand.Read(big)
	w.must(err)
	w.must(os.WriteFile(filepath.Join(dir, "big.bin"), big, 0o600))
	mustGit(t, dir, "checkout", "--quiet", "-b", "feature/big")
	mustGit(t, dir, "add", ".")
	mustGit(t, dir, "commit", "--quiet", "-m", "Add a big file")
	mustGit(t, dir, "push", "--quiet", "origin", "HEAD")
	want := mustGit(t, dir, "rev-parse", "HEAD")
	if got := w.Branch(testRepo, "feature/big"); got != want {
		t.Fatalf("branch is at %q after the push, want %s", got, want)
	}
	if got := w.events(); !slices.Equal(got, []string{"create", "push", "check_suite.requested"}) {
		t.Errorf("events of the push: %v", got)
	}
	if got := sink.list[1].header.Get("X-Hub-Signature-256"); !strings.HasPrefix(got, "sha256=") {
		t.Errorf("signature %q", got)
	}

	other, err := w.As("mary").PushFiles(testRepo, "main", "More", map[string][]byte{"more.txt": []byte("more\n"), "main.go": nil})
	w.must(err)
	mustGit(t, dir, "fetch", "--quiet", "origin")
	if got := mustGit(t, dir, "rev-parse", "origin/main"); got != other {
		t.Errorf("fetched %s, want %s", got, other)
	}
	if files := mustGit(t, dir, "ls-tree", "-r", "--name-only", "origin/main"); strings.Contains(files, "main.go") || !strings.Contains(files, "more.txt") {
		t.Errorf("files after PushFiles:\n%s", files)
	}
}

func TestGitRefuses(t *testing.T) {
	cases := []struct {
		name  string
		token func(w *world) string
		push  bool
		want  string
	}{
		{"no token", func(*world) string { return "" }, false, "could not read"},
		{"wrong token", func(*world) string { return "ghs_wrong" }, false, "Authentication failed"},
		{"read token pushes", func(w *world) string { return w.token(map[string]string{"contents": "read"}) }, true, "403"},
		{"no contents permission", func(w *world) string { return w.token(map[string]string{"issues": "write"}) }, false, "403"},
		{"expired token", func(w *world) string {
			token := w.token(nil)
			w.ExpireTokens()
			return token
		}, false, "Authentication failed"},
		{"person without a role", func(w *world) string { return w.UserToken("eve") }, false, "not found"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(_ *Options, r *RepositoryOptions) { r.Private = true })
			dir := t.TempDir()
			url := w.CloneURL(testRepo)
			if token := c.token(w); token != "" {
				url = w.remote(token)
			}
			var out string
			var err error
			if c.push {
				mustGit(t, dir, "clone", "--quiet", url, "c")
				out, err = runGit(t, filepath.Join(dir, "c"), "push", "origin", "HEAD:refs/heads/x")
			} else {
				out, err = runGit(t, dir, "ls-remote", url)
			}
			if err == nil || !strings.Contains(out, c.want) {
				t.Fatalf("err %v, output %q, want a failure with %q", err, out, c.want)
			}
		})
	}
}

func TestGitRulesOfTheServer(t *testing.T) {
	w := newWorld(t)
	w.must(w.ProtectBranch(testRepo, "main"))
	dir := filepath.Join(t.TempDir(), "clone")
	mustGit(t, ".", "clone", "--quiet", w.remote(w.token(nil)), dir)
	commit := func(path string) {
		t.Helper()
		w.must(os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		w.must(os.WriteFile(filepath.Join(dir, path), []byte("x"), 0o600))
		mustGit(t, dir, "add", "--force", ".")
		mustGit(t, dir, "commit", "--quiet", "-m", "x")
	}
	commit("one.txt")
	mustGit(t, dir, "push", "--quiet", "origin", "HEAD:main")
	cases := []struct {
		name string
		do   func() (string, error)
		want string
	}{
		{"force-push to a protected branch", func() (string, error) {
			mustGit(t, dir, "reset", "--quiet", "--hard", "HEAD~1")
			commit("two.txt")
			return runGit(t, dir, "push", "--force", "origin", "HEAD:main")
		}, "protected branch"},
		{"deleting the default branch", func() (string, error) { return runGit(t, dir, "push", "origin", ":main") }, "prohibited"},
		{"hidden ref", func() (string, error) { return runGit(t, dir, "push", "origin", "HEAD:refs/pull/1/head") }, "hidden ref"},
		{"workflow without the permission", func() (string, error) {
			commit(".github/workflows/ci.yml")
			return runGit(t, dir, "push", "origin", "HEAD:refs/heads/flow")
		}, "without `workflows` permission"},
		{"archived", func() (string, error) {
			w.must(w.As("mary").Archive(testRepo))
			return runGit(t, dir, "push", "origin", "HEAD~1:refs/heads/late")
		}, "403"},
	}
	for _, c := range cases {
		out, err := c.do()
		if err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: err %v, output %q, want a refusal with %q", c.name, err, out, c.want)
		}
	}
}

func TestGitPushWithLease(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "clone")
	mustGit(t, ".", "clone", "--quiet", w.remote(w.token(nil)), dir)
	_, err := w.As("mary").PushFiles(testRepo, "main", "Meanwhile", map[string][]byte{"m": []byte("m")})
	w.must(err)
	mustGit(t, dir, "commit", "--quiet", "--allow-empty", "-m", "mine")
	out, err := runGit(t, dir, "push", "--force-with-lease=main:"+w.head, "origin", "HEAD:main")
	if err == nil || !strings.Contains(out, "stale info") {
		t.Fatalf("err %v, output %q, want a stale lease", err, out)
	}
}

func TestGitFaultAfterThePush(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "clone")
	mustGit(t, ".", "clone", "--quiet", w.remote(w.token(nil)), dir)
	mustGit(t, dir, "commit", "--quiet", "--allow-empty", "-m", "mine")
	w.Fault(Fault{Route: "GIT receive-pack", Drop: DropAfter})
	if out, err := runGit(t, dir, "push", "origin", "HEAD:refs/heads/lost"); err == nil {
		t.Fatalf("the push did not notice the cut connection: %s", out)
	}
	if got, want := w.Branch(testRepo, "lost"), mustGit(t, dir, "rev-parse", "HEAD"); got != want {
		t.Fatalf("branch is at %q, want %s: the effect was to be had", got, want)
	}
	w.Fault(Fault{Route: "GIT info/refs", Status: http.StatusBadGateway})
	if _, err := runGit(t, dir, "fetch", "origin"); err == nil {
		t.Fatal("the fetch did not notice the 502")
	}
}

func TestRenamedRepository(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	before, _, err := w.inst.Repositories.Get(w.ctx, testOwner, testName)
	w.must(err)
	w.must(w.As("mary").Rename(testRepo, "gadgets"))
	after, _, err := w.inst.Repositories.Get(w.ctx, testOwner, testName)
	w.must(err)
	if after.GetID() != before.GetID() || after.GetFullName() != "acme/gadgets" {
		t.Errorf("by the former name: %s", after.GetFullName())
	}
	_, _, err = w.inst.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: github.String("still here")})
	w.must(err)
	if got := w.Comments("acme/gadgets", n); len(got) != 1 {
		t.Errorf("comments %+v: a write by the former name is redirected with its body", got)
	}
	byID, _, err := w.inst.Repositories.GetByID(w.ctx, before.GetID())
	w.must(err)
	if byID.GetFullName() != "acme/gadgets" {
		t.Errorf("by id: %s", byID.GetFullName())
	}
	_, _, err = w.inst.Repositories.GetByID(w.ctx, 1)
	w.wantStatus(err, http.StatusNotFound)
	mustGit(t, ".", "ls-remote", w.CloneURL(testRepo))
	if out, err := runGit(t, ".", "-c", "http.followRedirects=false", "ls-remote", w.CloneURL(testRepo)); err == nil {
		t.Errorf("git is not redirected: %s", out)
	}
}
