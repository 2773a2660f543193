package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/handlers/publish"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model"
	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// doctorCmd says what holds on this host and what to do where something does not.
type doctorCmd struct {
	Config string `placeholder:"FILE" help:"Configuration; default autocode.yaml where it exists."`
}

// finding is one line of the doctor's.
type finding struct {
	name   string
	ok     bool
	needed bool // without it autocode does not work
	detail string
	remedy string
}

// Run prints every finding; one that keeps autocode from working is exit code 1.
func (c *doctorCmd) Run(ctx context.Context, std streams) error {
	s, err := loadSettings(c.Config, os.Getenv)
	if err != nil {
		return usageError(err)
	}
	var findings []finding
	diagnose := sandbox.Diagnose
	if s.Sandbox.Runner == runnerDocker {
		diagnose = sandbox.DiagnoseDocker
	}
	for _, f := range diagnose(ctx, sandbox.Config{
		SearchPath: os.Getenv("PATH"), StateDir: filepath.Join(s.DataDir, "sandbox"), Image: s.Sandbox.Image,
	}, cmp.Or(s.Sandbox.DockerHost, os.Getenv("DOCKER_HOST"))) {
		findings = append(findings, finding{name: "sandbox: " + f.Name, ok: f.OK, needed: f.Needed, detail: f.Detail, remedy: f.Remedy})
	}
	findings = append(findings, checkModelEndpoint(ctx, s), checkGitHub(ctx, s))
	broken := false
	for _, f := range findings {
		mark := "ok  "
		switch {
		case !f.ok && f.needed:
			mark, broken = "BAD ", true
		case !f.ok:
			mark = "lack"
		}
		fmt.Fprintf(std.out, "%s %-32s %s\n", mark, f.name, f.detail)
		if !f.ok && f.remedy != "" {
			fmt.Fprintf(std.out, "     → %s\n", f.remedy)
		}
	}
	if broken {
		return &exitError{code: exitFailed}
	}
	return nil
}

// doctorTimeout bounds one question.
const doctorTimeout = 20 * time.Second

// checkModelEndpoint asks the planner's endpoint for one word.
func checkModelEndpoint(ctx context.Context, s settings) finding {
	f := finding{name: "model", needed: true, remedy: "set OPENAI_BASE_URL, AUTOCODE_MODEL, OPENAI_API_KEY, and AUTOCODE_MODEL_PRICE or AUTOCODE_MODEL_FREE=true"}
	if err := s.checkModel(); err != nil {
		f.detail = "none is configured"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	m, err := newModel(s)
	if err != nil {
		f.detail = err.Error()
		return f
	}
	began := time.Now()
	_, err = m.Complete(ctx, loop.ModelRequest{Role: loop.RolePlanner, Purpose: "doctor", Messages: []loop.Message{
		{Speaker: loop.SpeakerSystem, Text: "Answer with one word."}, {Speaker: loop.SpeakerUser, Text: "Say ok."},
	}})
	if err != nil {
		f.detail = err.Error()
		if names, listed := model.Discover(ctx, s.Model.BaseURL, s.Model.APIKey); listed == nil {
			f.remedy = "the endpoint serves " + names + "; set AUTOCODE_MODEL to it"
		}
		return f
	}
	f.ok, f.detail = true, fmt.Sprintf("%s answers in %s", s.Model.Name, time.Since(began).Round(time.Millisecond))
	return f
}

// checkGitHub asks GitHub who the App is and compares permissions, events and the clock.
func checkGitHub(ctx context.Context, s settings) finding {
	f := finding{name: "GitHub App", needed: true, remedy: "set the GITHUB_… variables; `autocode setup` makes the App and writes them"}
	if s.GitHub.AppID == 0 {
		f.detail = "not configured (not needed for run, verify and demo)"
		f.ok = true
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	clients, err := publish.NewClients(publish.ClientConfig{
		WebURL: s.GitHub.WebURL, V3URL: s.GitHub.V3URL, V4URL: s.GitHub.V4URL, AppID: s.GitHub.AppID, PrivateKey: s.PrivateKeyPEM,
		UserAgent: "autocode", Timeout: doctorTimeout,
	})
	if err != nil {
		f.detail = err.Error()
		return f
	}
	client, err := clients.App()
	if err != nil {
		f.detail = err.Error()
		return f
	}
	app, response, err := client.Apps.Get(ctx, "")
	if err != nil {
		f.detail = err.Error()
		if response != nil && response.StatusCode == http.StatusUnauthorized {
			f.remedy = "the App's id and its private key do not belong together, or this machine's clock is wrong"
		}
		return f
	}
	var missing []string
	granted := app.GetPermissions()
	for name, level := range map[string]string{
		"contents": granted.GetContents(), "issues": granted.GetIssues(), "pull_requests": granted.GetPullRequests(), "checks": granted.GetChecks(),
	} {
		if level != "write" {
			missing = append(missing, name+": write")
		}
	}
	if len(missing) > 0 {
		f.detail, f.remedy = "the App lacks "+strings.Join(missing, ", "), "grant them in the App's settings, and accept them in each installation"
		return f
	}
	if s.GitHub.WebhookSecret == "" {
		f.detail, f.remedy = "the webhook secret is empty", "set GITHUB_APP_WEBHOOK_SECRET to the App's"
		return f
	}
	f.ok, f.detail = true, app.GetSlug()+" with its permissions"
	return f
}
