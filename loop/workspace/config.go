package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// Config is what a Workspace needs. Zero limits take the defaults below.
type Config struct {
	// Root is the directory for mirrors and clones; it is made where it is missing, and belongs
	// to one server process. It must not lie where a sandbox may write.
	Root string
	// Tokens mints the tokens for reading and pushing; nil: only local repositories.
	Tokens loop.TokenSource
	// BaseURLs are the servers that repositories may come from, as https://HOST[:PORT][/PATH];
	// http is accepted for loopback only.
	BaseURLs []string
	// AllowFile accepts a local path as Repo.CloneURL (autocode run).
	AllowFile bool
	// BranchPrefix is what the names of autocode's own branches start with, followed by a slash.
	// Only these are pushed to on a server. Default "autocode".
	BranchPrefix string
	// AuthorName and AuthorMail sign the commits. Default "autocode", no address of a person.
	AuthorName, AuthorMail string
	// GitPath is the git program, version 2.38 or newer; empty: the one in the PATH.
	GitPath string
	// CAFile holds certificates of a company's own authority, for a GitHub Enterprise Server.
	CAFile string
	// Proxy is an http(s) proxy towards the servers, empty for none.
	Proxy string

	// Spares is how many clones of a repository are made ready in the background after each Open,
	// so that the next one need not write a worktree. 0: none.
	Spares int
	// Sparse names, by OWNER/NAME, the directories that worktrees of a repository hold besides the files on
	// the way to them; a repository that is not listed is held whole.
	Sparse map[string][]string
	// CommandTimeout bounds one git command on local objects, FetchTimeout one transfer.
	CommandTimeout, FetchTimeout time.Duration
	// MaxMirrorBytes bounds the objects of one repository on disk, MaxCacheBytes all mirrors
	// together (the least recently used go first).
	MaxMirrorBytes, MaxCacheBytes int64
	// MaxCloneBytes and MaxCloneFiles bound a worktree.
	MaxCloneBytes int64
	MaxCloneFiles int
	// MaxBundleBytes bounds one bundle.
	MaxBundleBytes int64

	// Now is the clock of commits; nil: time.Now.
	Now func() time.Time
	// Warn hears of what went wrong in the background or was repaired; nil: nobody.
	Warn func(ctx context.Context, what string, err error)
}

// The defaults. The sizes hold for the largest public monorepos without history of binaries.
const (
	defaultCommandTimeout = 5 * time.Minute
	defaultFetchTimeout   = 30 * time.Minute
	defaultMirrorBytes    = 10 << 30
	defaultCacheBytes     = 50 << 30
	defaultCloneBytes     = 4 << 30
	defaultCloneFiles     = 500_000
	defaultBundleBytes    = 256 << 20
	defaultBranchPrefix   = "autocode"
	defaultAuthorName     = "autocode"
	defaultAuthorMail     = "autocode@users.noreply.github.com"
)

// Workspace implements loop.Workspace. It is safe for concurrent use.
type Workspace struct {
	config Config
	git    *git
	bases  []*url.URL
	locks  keyed

	mu   sync.Mutex
	open map[string]bool // names of clones of this process

	// borrowing is held for reading while a lender has been found and not yet been written down in
	// a clone: no mirror may go away then.
	borrowing sync.RWMutex

	background sync.WaitGroup
	stop       context.CancelFunc
	stopped    context.Context
}

var _ loop.Workspace = (*Workspace)(nil)

// New validates the configuration and makes the directories. All faults are reported at once.
func New(config Config) (*Workspace, error) {
	w := &Workspace{config: withDefaults(config), open: map[string]bool{}}
	errs := w.validate()
	path, err := findGit(w.config.GitPath)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("workspace configuration: %w", err)
	}
	w.git = &git{path: path, timeout: w.config.CommandTimeout}
	if w.config.Root, err = filepath.Abs(w.config.Root); err != nil {
		return nil, err
	}
	for _, dir := range []string{mirrorsDir, clonesDir, sparesDir, trashDir} {
		if err := os.MkdirAll(filepath.Join(w.config.Root, dir), 0o700); err != nil {
			return nil, fmt.Errorf("make the workspace directory: %w", err)
		}
	}
	w.stopped, w.stop = context.WithCancel(context.Background())
	return w, nil
}

// The directories below Root.
const (
	mirrorsDir = "mirrors" // one directory per repository
	clonesDir  = "clones"  // one directory per open clone
	sparesDir  = "spares"  // clones made ready, by repository
	trashDir   = "trash"   // what is being removed
)

func withDefaults(c Config) Config {
	setDefault(&c.BranchPrefix, defaultBranchPrefix)
	setDefault(&c.AuthorName, defaultAuthorName)
	setDefault(&c.AuthorMail, defaultAuthorMail)
	setDefault(&c.CommandTimeout, defaultCommandTimeout)
	setDefault(&c.FetchTimeout, defaultFetchTimeout)
	setDefault(&c.MaxMirrorBytes, defaultMirrorBytes)
	setDefault(&c.MaxCacheBytes, defaultCacheBytes)
	setDefault(&c.MaxCloneBytes, defaultCloneBytes)
	setDefault(&c.MaxCloneFiles, defaultCloneFiles)
	setDefault(&c.MaxBundleBytes, defaultBundleBytes)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Warn == nil {
		c.Warn = func(context.Context, string, error) {}
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (w *Workspace) validate() []error {
	c := w.config
	var errs []error
	if c.Root == "" {
		errs = append(errs, errors.New("Root: empty; name the directory for mirrors and clones"))
	}
	for _, raw := range c.BaseURLs {
		u, err := parseServerURL(raw)
		if err != nil {
			errs = append(errs, fmt.Errorf("BaseURLs: %w", err))
			continue
		}
		w.bases = append(w.bases, u)
	}
	if len(c.BaseURLs) == 0 && !c.AllowFile {
		errs = append(errs, errors.New("BaseURLs: empty and AllowFile off; no repository could be opened"))
	}
	if err := checkBranch(c.BranchPrefix + "/x"); err != nil {
		errs = append(errs, fmt.Errorf("BranchPrefix: %w", err))
	}
	if strings.ContainsAny(c.AuthorName, "<>\n\r\x00") || strings.TrimSpace(c.AuthorName) == "" {
		errs = append(errs, fmt.Errorf("AuthorName %q: a name without <, > and line breaks", c.AuthorName))
	}
	if a, err := mail.ParseAddress(c.AuthorMail); err != nil || a.Address != c.AuthorMail {
		errs = append(errs, fmt.Errorf("AuthorMail %q: not a mail address alone", c.AuthorMail))
	}
	if c.CAFile != "" {
		if _, err := os.Stat(c.CAFile); err != nil {
			errs = append(errs, fmt.Errorf("CAFile: %w", err))
		}
	}
	if c.Proxy != "" {
		if u, err := url.Parse(c.Proxy); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			errs = append(errs, errors.New("the Proxy is not an http or https URL"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Sparse)) {
		if err := CheckSparse(c.Sparse[name]); err != nil {
			errs = append(errs, fmt.Errorf("the Sparse worktree of %s: %w", name, err))
		}
	}
	if c.Spares < 0 || c.CommandTimeout < 0 || c.FetchTimeout < 0 || c.MaxMirrorBytes < 0 || c.MaxCacheBytes < 0 ||
		c.MaxCloneBytes < 0 || c.MaxCloneFiles < 0 || c.MaxBundleBytes < 0 {
		errs = append(errs, errors.New("a limit is negative"))
	}
	return errs
}

// parseServerURL accepts what git may talk to: https, and http for loopback, without credentials.
func parseServerURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The parser's error repeats the URL, which may hold a credential.
		return nil, errors.New("a URL does not parse")
	}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("%s: holds credentials; they come from the token source", u.Redacted())
	case u.Opaque != "" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("%q: want https://HOST/PATH and nothing else", raw)
	case u.Scheme == "https":
	case u.Scheme == "http" && isLoopback(u.Hostname()):
	default:
		return nil, fmt.Errorf("%q: only https is accepted, and http for a loopback address", raw)
	}
	return u, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Close waits for what runs in the background, after telling it to stop. Open clones stay.
func (w *Workspace) Close() error {
	w.stop()
	w.background.Wait()
	return nil
}
