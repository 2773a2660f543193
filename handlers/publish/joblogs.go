package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-github/v62/github"
	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// Bounds of what is read of the logs of GitHub Actions.
const (
	// mostJobLogs is how many logs of one suite are read: the jobs of a matrix mostly fail alike.
	mostJobLogs = 3
	// mostLogBytes bounds one log, unpacked. It is read as a stream and not kept.
	mostLogBytes = 64 << 20
	// mostLogFailures bounds the failures that are reported of one log.
	mostLogFailures = 20
	// lastLogBytes is what is kept of a log's end, lastLogLines what is shown of it where no tool's
	// report is found in it.
	lastLogBytes = 16 << 10
	lastLogLines = 40
	// longestLogReport bounds what is reported of one log, in characters.
	longestLogReport = 6_000
)

// errNoLog says that there is no log to be had: not a job of Actions, no permission, or gone already.
var errNoLog = errors.New("no log")

// actionsPage finds workflow run and job in the address of a check run's page.
var actionsPage = regexp.MustCompile(`/actions/runs/(\d+)(?:/jobs?/(\d+))?`)

// actionsSlug is the App as which GitHub Actions writes its check runs.
const actionsSlug = "github-actions"

// jobReport says what the log of a failing Actions job tells, "" where there is none to be had.
func (p *Publisher) jobReport(ctx context.Context, repo loop.Repo, run *github.CheckRun) (string, error) {
	if run.GetApp().GetSlug() != actionsSlug {
		return "", errNoLog
	}
	known, err := p.Clients.connection(repo, forActions)
	if err != nil {
		return "", err
	}
	job, err := jobOf(ctx, known.rest, repo, run)
	if err != nil {
		return "", err
	}
	// Not by the connection's own client: its cache would keep the log, and it waits for the whole of it.
	client, err := p.Clients.restClient(&http.Client{Transport: known.tokens, Timeout: p.Clients.config.Timeout, CheckRedirect: safeRedirect})
	if err != nil {
		return "", err
	}
	request, err := client.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/actions/jobs/%d/logs", repo.Owner, repo.Name, job), nil)
	if err != nil {
		return "", fmt.Errorf("ask for the log of job %d: %w", job, err)
	}
	response, err := client.BareDo(ctx, request)
	if err != nil {
		return "", fmt.Errorf("ask for the log of job %d: %w", job, err)
	}
	defer response.Body.Close()
	text, err := logReport(ctx, io.LimitReader(response.Body, mostLogBytes))
	if err != nil {
		return "", fmt.Errorf("read the log of job %d: %w", job, err)
	}
	return text, nil
}

// mostRedirects is how many redirections a request may take; GitHub's own take one or two.
const mostRedirects = 5

// safeRedirect follows redirections to https, and to loopback, only. The token stays behind: see tokens.
func safeRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > mostRedirects {
		return fmt.Errorf("more than %d redirections", mostRedirects)
	}
	return checkURL(r.URL.String())
}

// jobOf is the number of the job that a check run of Actions stands for: by the address of its page, else
// by the list of its workflow run's jobs; else it is the check run's own number.
func jobOf(ctx context.Context, client *github.Client, repo loop.Repo, run *github.CheckRun) (int64, error) {
	m := actionsPage.FindStringSubmatch(run.GetDetailsURL())
	if m == nil {
		return run.GetID(), nil
	}
	if job, err := strconv.ParseInt(m[2], 10, 64); err == nil {
		return job, nil
	}
	workflow, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return run.GetID(), nil
	}
	found := run.GetID()
	err = pages(func(options github.ListOptions) (int, *github.Response, error) {
		jobs, response, err := client.Actions.ListWorkflowJobs(ctx, repo.Owner, repo.Name, workflow, &github.ListWorkflowJobsOptions{ListOptions: options})
		if jobs == nil {
			return 0, response, err
		}
		for _, job := range jobs.Jobs {
			if path.Base(job.GetCheckRunURL()) == fmt.Sprint(run.GetID()) {
				found = job.GetID()
			}
		}
		return len(jobs.Jobs), response, err
	})
	if err != nil {
		return 0, fmt.Errorf("list the jobs of workflow run %d: %w", workflow, err)
	}
	return found, nil
}

// logReport reads the log of a failed job: what the tools in it report, else how it ends.
func logReport(ctx context.Context, log io.Reader) (string, error) {
	const failed = 1 // the exit code of a step that failed; the log tells the true one, if any
	last, code := &lastBytes{}, failed
	report, err := feedback.Read(ctx, io.TeeReader(log, last), feedback.Options{ExitCode: &code, Budget: longestLogReport})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", report.Summary)
	located := false
	for i, f := range report.Failures {
		if i == mostLogFailures {
			fmt.Fprintf(&b, "and %d more\n", len(report.Failures)-i+report.Omitted)
			break
		}
		located = located || f.ID != "" || f.File != ""
		for _, part := range []string{at(f.File, f.Line), f.ID, f.Message} {
			if part = strings.TrimSpace(part); part != "" {
				fmt.Fprintf(&b, "%s ", part)
			}
		}
		b.WriteString("\n")
	}
	if !located {
		fmt.Fprintf(&b, "The log ends with:\n%s\n", last.lines(lastLogLines))
	}
	return short(visible(b.String()), longestLogReport), nil
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct{ kept []byte }

// Write implements io.Writer.
func (l *lastBytes) Write(p []byte) (int, error) {
	l.kept = append(l.kept, p...)
	if over := len(l.kept) - lastLogBytes; over > lastLogBytes {
		l.kept = append(l.kept[:0], l.kept[over:]...)
	}
	return len(p), nil
}

// logStamp is the time before each line of a log of Actions; escapes are the colours in it.
var (
	logStamp = regexp.MustCompile(`(?m)^\x{FEFF}?\d{4}-\d\d-\d\dT[\d:.]+Z ?`)
	escapes  = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)
)

// lines are the last n lines, without times and colours.
func (l *lastBytes) lines(n int) string {
	kept := l.kept[max(0, len(l.kept)-lastLogBytes):]
	if len(kept) == lastLogBytes {
		if _, rest, cut := bytes.Cut(kept, []byte("\n")); cut {
			kept = rest // the first line is not whole
		}
	}
	text := strings.TrimSpace(logStamp.ReplaceAllString(escapes.ReplaceAllString(strings.ToValidUTF8(string(kept), "\uFFFD"), ""), ""))
	all := strings.Split(text, "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}

// jobReports adds to the text about failing checks what the logs of those of GitHub Actions say. A log
// that cannot be had takes nothing away from the rest.
func (p *Publisher) jobReports(ctx context.Context, repo loop.Repo, red []*github.CheckRun) map[int64]string {
	found := map[int64]string{}
	for _, run := range red {
		if len(found) == mostJobLogs {
			break
		}
		text, err := p.jobReport(ctx, repo, run)
		switch {
		case err == nil:
			found[run.GetID()] = text
		case errors.Is(access(err, "read the log", repo), loop.ErrNoAccess) || errors.Is(err, errNoLog):
			zerolog.Ctx(ctx).Debug().Err(err).Str("check", run.GetName()).Msg("no log of a failing job is to be had")
		default:
			zerolog.Ctx(ctx).Warn().Err(err).Str("check", run.GetName()).Msg("the log of a failing job could not be read; its annotations have to do")
		}
	}
	return found
}
