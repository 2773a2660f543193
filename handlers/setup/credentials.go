package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-github/v62/github"
)

// The files that the credentials are written to.
const (
	KeyFile = "autocode.private-key.pem"
	EnvFile = "autocode.env"
)

// secretMode lets nobody but the owner read a file.
const secretMode = 0o600

// files are the credentials' places, taken before GitHub is asked: what it hands out, it hands out once.
type files struct {
	key, env *os.File
}

// take makes both files, and overwrites none.
func take(dir string) (*files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	key, err := create(filepath.Join(dir, KeyFile))
	if err != nil {
		return nil, err
	}
	env, err := create(filepath.Join(dir, EnvFile))
	if err != nil {
		return nil, errors.Join(err, key.Close(), os.Remove(key.Name()))
	}
	return &files{key, env}, nil
}

func create(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, secretMode)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is there already, and credentials are not overwritten; move it away, or name another directory with --out", name)
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	return f, nil
}

// drop removes both files, where GitHub gave nothing to write into them.
func (f *files) drop() error {
	return errors.Join(f.key.Close(), f.env.Close(), os.Remove(f.key.Name()), os.Remove(f.env.Name()))
}

// write fills both files.
func (f *files) write(app *github.AppConfig, server Server, choices Choices) error {
	key, err := filepath.Abs(f.key.Name())
	if err != nil {
		return err
	}
	var env strings.Builder
	fmt.Fprintf(&env, "# The GitHub App %s, made by autocode setup. Keep it secret.\n", app.GetSlug())
	for _, line := range [][2]string{
		{"GITHUB_APP_INTEGRATION_ID", fmt.Sprint(app.GetID())}, {"GITHUB_APP_WEBHOOK_SECRET", app.GetWebhookSecret()}, {"GITHUB_APP_PRIVATE_KEY_FILE", key},
		{"GITHUB_OAUTH_CLIENT_ID", app.GetClientID()}, {"GITHUB_OAUTH_CLIENT_SECRET", app.GetClientSecret()},
		{"GITHUB_WEB_URL", server.Web}, {"GITHUB_V3_API_URL", server.V3}, {"GITHUB_V4_API_URL", server.V4},
		{"AUTOCODE_PUBLIC_URL", strings.TrimSuffix(strings.TrimSuffix(choices.Public, "/"), HookPath)},
	} {
		if line[1] != "" {
			fmt.Fprintf(&env, "%s=%s\n", line[0], quoted(line[1]))
		}
	}
	_, keyErr := f.key.WriteString(app.GetPEM())
	_, envErr := f.env.WriteString(env.String())
	return errors.Join(keyErr, envErr, f.key.Sync(), f.env.Sync(), f.key.Close(), f.env.Close())
}

// quoted makes a value safe to be read by a shell, and by what reads files of variables.
func quoted(value string) string { return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'" }
