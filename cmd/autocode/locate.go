package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/agent"
	"github.com/seed-7a986423/autocode/loop/codemap"
	"github.com/seed-7a986423/autocode/loop/workspace"
)

// locateCmd finds the files that a text is about.
type locateCmd struct {
	Repo     string   `default:"." help:"Repository, bare or not."`
	Rev      string   `default:"HEAD" help:"Commit, branch or tag to look at."`
	Top      int      `default:"20" help:"Most files to print."`
	Cache    string   `placeholder:"DIR" help:"Directory where indexes are kept between calls, none for none; the user's cache directory otherwise."`
	Rerank   bool     `help:"Ask the planner's model once a query which files to put first: some 4,500 tokens each."`
	ModelURL string   `placeholder:"URL" help:"OpenAI-compatible endpoint for --rerank; default OPENAI_BASE_URL."`
	Config   string   `placeholder:"FILE" help:"Server configuration with the model for --rerank."`
	Batch    string   `placeholder:"FILE.jsonl" help:"Answer the lines {\"id\",\"rev\",\"query\"} of a file, - for standard input."`
	Query    []string `arg:"" optional:"" help:"Text of the issue, - or nothing for standard input."`
}

// maxQueryInput bounds what is read of standard input, in bytes; of a query only the first 64 KiB count.
const maxQueryInput = 1 << 20

// located is the answer to one query.
type located struct {
	Files        []loop.Located `json:"files"`
	IndexMS      int64          `json:"index_ms"`
	QueryMS      int64          `json:"query_ms"`
	IndexedFiles int            `json:"indexed_files"`
	IndexedBytes int64          `json:"indexed_bytes"`
}

// batchLine is a line of --batch, batchAnswer the line printed for it. An id may be any value.
type batchLine struct {
	ID    json.RawMessage `json:"id"`
	Rev   string          `json:"rev"`
	Query string          `json:"query"`
}

type batchAnswer struct {
	ID    json.RawMessage `json:"id"`
	Files []loop.Located  `json:"files"`
	Error string          `json:"error,omitempty"`
}

// Run implements the command.
func (c *locateCmd) Run(ctx context.Context, std streams) error {
	if c.Top < 1 {
		return usageError(fmt.Errorf("--top is %d, must be 1 or more", c.Top))
	}
	if c.Batch != "" {
		if len(c.Query) > 0 {
			return usageError(errors.New("a query beside --batch: give one of them"))
		}
		return c.batch(ctx, std)
	}
	query := strings.Join(c.Query, " ")
	if query == "" || query == "-" {
		text, err := io.ReadAll(io.LimitReader(std.in, maxQueryInput))
		if err != nil {
			return usageError(fmt.Errorf("read the query from standard input: %w", err))
		}
		query = string(text)
	}
	if strings.TrimSpace(query) == "" {
		return usageError(errors.New("the query is empty; give the text of an issue"))
	}
	l, err := c.locator(ctx, std)
	if err != nil {
		return err
	}
	defer l.close()
	answer, err := l.locate(ctx, c.Rev, query)
	if err != nil {
		return usageError(err)
	}
	return newLineEncoder(std.out).Encode(answer)
}

// locator answers queries about one repository.
type locator struct {
	repo  string
	top   int
	index *codemap.Index
	model loop.Model // nil: no reranking
	warn  func(error)
	close func() // writes the index's cache
}

// locator returns what the flags ask for. Nobody hears that the default cache cannot be written, since nobody asked
// for it.
func (c *locateCmd) locator(ctx context.Context, std streams) (*locator, error) {
	l := &locator{repo: c.Repo, top: c.Top, warn: func(err error) { fmt.Fprintf(std.err, "autocode: %v\n", err) }}
	config := codemap.Config{CacheDir: c.Cache, Warn: l.warn}
	switch c.Cache {
	case "none":
		config.CacheDir = ""
	case "":
		if dir, err := os.UserCacheDir(); err == nil {
			config.CacheDir = filepath.Join(dir, "autocode", "index")
		}
		config.Warn = func(error) {}
	}
	l.index = codemap.New(config)
	l.close = func() {
		if err := l.index.Flush(); err != nil {
			config.Warn(err)
		}
	}
	if !c.Rerank {
		return l, nil
	}
	s, err := loadSettings(c.Config, os.Getenv)
	if err != nil {
		return nil, usageError(err)
	}
	if err := completeModel(ctx, &s, c.ModelURL, std); err != nil {
		return nil, err
	}
	if l.model, err = newModel(s); err != nil {
		return nil, usageError(err)
	}
	return l, nil
}

// locate answers one query. A repository without commits has no files.
func (l *locator) locate(ctx context.Context, rev, query string) (located, error) {
	answer := located{Files: []loop.Located{}}
	tree, err := workspace.OpenTree(ctx, l.repo, rev)
	if errors.Is(err, loop.ErrEmptyRepository) {
		return answer, nil
	}
	if err != nil {
		return answer, err
	}
	began := time.Now()
	stats, err := l.index.Load(ctx, tree)
	if err != nil {
		return answer, err
	}
	indexed := time.Now()
	answer.IndexMS = indexed.Sub(began).Milliseconds()
	answer.IndexedFiles, answer.IndexedBytes = stats.Files, stats.Bytes
	most := l.top
	if l.model != nil {
		most = max(most, agent.RerankFiles)
	}
	files, err := l.index.Locate(ctx, tree, query, most)
	if err != nil {
		return answer, err
	}
	if l.model != nil {
		// Without the model's word the order by words stands.
		if files, err = agent.Rerank(ctx, l.model, query, files); err != nil {
			l.warn(err)
		}
	}
	answer.Files = files[:min(len(files), l.top)]
	answer.QueryMS = time.Since(indexed).Milliseconds()
	return answer, nil
}

// maxBatchLine bounds a line of a batch, in bytes: a query of 1 MB with every character escaped.
const maxBatchLine = 8 << 20

// batch prints an answer for every line, in order, also where others fail: a line that has none says why, there and on
// standard error. At the end it exits 2 if a line was not understood, else 1 if one has no answer.
func (c *locateCmd) batch(ctx context.Context, std streams) error {
	in := std.in
	if c.Batch != "-" {
		f, err := os.Open(c.Batch)
		if err != nil {
			return usageError(fmt.Errorf("open the batch: %w", err))
		}
		defer f.Close()
		in = f
	}
	l, err := c.locator(ctx, std)
	if err != nil {
		return err
	}
	defer l.close()
	lines := bufio.NewReader(in)
	out := newLineEncoder(std.out)
	failed, broken := 0, 0
	for number := 1; ; number++ {
		text, end, err := readLine(lines, maxBatchLine)
		var answer batchAnswer
		var line batchLine
		switch {
		case errors.Is(err, errLongLine):
		case err != nil:
			return usageError(fmt.Errorf("read line %d of the batch: %w", number, err))
		case len(bytes.TrimSpace(text)) == 0:
			if end {
				return batchResult(failed, broken)
			}
			continue
		default:
			line, err = parseBatchLine(text)
			answer.ID = line.ID
		}
		if err != nil {
			broken++
		} else {
			var one located
			if one, err = l.locate(ctx, cmp.Or(line.Rev, c.Rev), line.Query); err != nil {
				failed++
			}
			answer.Files = one.Files
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(std.err, "autocode: line %d of the batch: %v\n", number, err)
			answer.Files, answer.Error = []loop.Located{}, err.Error()
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
		if end {
			return batchResult(failed, broken)
		}
	}
}

func batchResult(failed, broken int) error {
	if broken > 0 {
		return usageError(fmt.Errorf("%d lines of the batch are not understood and %d have no answer; the others are answered", broken, failed))
	}
	if failed > 0 {
		return fmt.Errorf("%d lines of the batch have no answer; their errors are printed with them", failed)
	}
	return nil
}

var errLongLine = fmt.Errorf("it is longer than %d bytes", maxBatchLine)

// readLine reads to the next line feed or the end of the input, and says whether the end is reached. A line longer
// than limit is skipped, with errLongLine.
func readLine(in *bufio.Reader, limit int) (line []byte, end bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= limit {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, false, err
		}
		if len(line) > limit {
			return nil, err != nil, errLongLine
		}
		return line, err != nil, nil
	}
}

// parseBatchLine reads a line. Where only a part of it is of a wrong type, the id is returned with the error.
func parseBatchLine(text []byte) (batchLine, error) {
	var line batchLine
	err := json.Unmarshal(text, &line)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return line, fmt.Errorf(`%q is a %s, must be text: %w`, wrong.Field, wrong.Value, err)
	}
	return line, err
}

// newLineEncoder writes one JSON value a line, as it is, not escaped for HTML.
func newLineEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
