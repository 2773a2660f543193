package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seed-7a986423/autocode/loop"
)

// recordSchema names the version of a Recording.
const recordSchema = "autocode.model-call/v1"

// Recording is one call of a model as it is kept in a file. It holds no key: requests have none.
type Recording struct {
	Schema  string            `json:"schema"`
	Seq     int               `json:"seq"` // from 1
	Digest  string            `json:"digest"`
	Request loop.ModelRequest `json:"request"`
	Reply   loop.ModelReply   `json:"reply"`
	Fault   loop.ModelFault   `json:"fault,omitempty"`
	Model   string            `json:"model,omitempty"` // of a failed call
	Error   string            `json:"error,omitempty"`
}

// digest identifies a request by everything that the model was told.
func digest(request loop.ModelRequest) (string, error) {
	raw, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("digest a request: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// Recorder passes calls on and writes each into a file of its directory.
type Recorder struct {
	inner loop.Model
	dir   string
	mu    sync.Mutex
	seq   int
}

var _ loop.Model = (*Recorder)(nil)

// NewRecorder records the calls of inner in dir, which is made if need be. Files that are there
// are kept: numbering goes on after them.
func NewRecorder(inner loop.Model, dir string) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of recorded calls: %w", err)
	}
	before, err := recordings(dir)
	if err != nil {
		return nil, err
	}
	r := &Recorder{inner: inner, dir: dir}
	if len(before) > 0 {
		r.seq = before[len(before)-1].Seq
	}
	return r, nil
}

// Complete asks the model and records what came of it. A call that cannot be recorded fails.
func (r *Recorder) Complete(ctx context.Context, request loop.ModelRequest) (loop.ModelReply, error) {
	reply, callErr := r.inner.Complete(ctx, request)
	sum, err := digest(request)
	if err != nil {
		return reply, errors.Join(callErr, err)
	}
	rec := Recording{Schema: recordSchema, Digest: sum, Request: request, Reply: reply}
	if callErr != nil {
		rec.Error = callErr.Error()
		var fault *loop.ModelError
		if errors.As(callErr, &fault) {
			rec.Fault, rec.Model, rec.Error = fault.Fault, fault.Model, fault.Err.Error()
		}
	}
	return reply, errors.Join(callErr, r.write(rec))
}

func (r *Recorder) write(rec Recording) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	rec.Seq = r.seq
	raw, err := json.MarshalIndent(rec, "", " ")
	if err != nil {
		return fmt.Errorf("record a model call: %w", err)
	}
	path := filepath.Join(r.dir, fmt.Sprintf("%05d.json", rec.Seq))
	// Written aside and renamed, so that a killed process leaves no half recording.
	if err := os.WriteFile(path+".tmp", raw, 0o600); err != nil {
		return fmt.Errorf("record a model call: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("record a model call: %w", err)
	}
	return nil
}

// recordings reads the recordings of a directory in their order.
func recordings(dir string) ([]Recording, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list recorded calls: %w", err)
	}
	slices.Sort(paths)
	var list []Recording
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a recorded call: %w", err)
		}
		var rec Recording
		if err := json.Unmarshal(raw, &rec); err != nil {
			return nil, fmt.Errorf("read the recorded call %s: %w", filepath.Base(path), err)
		}
		if rec.Schema != recordSchema {
			return nil, fmt.Errorf("the recorded call %s has the schema %q, not %q", filepath.Base(path), rec.Schema, recordSchema)
		}
		list = append(list, rec)
	}
	return list, nil
}

// ErrNotRecorded is returned by a Replayer that is asked something that was never recorded.
var ErrNotRecorded = errors.New("this call was not recorded")

// Replayer answers from recordings and asks nobody. Each recording answers once; the same
// request gets its recordings in their order.
type Replayer struct {
	mu   sync.Mutex
	left []Recording
}

var _ loop.Model = (*Replayer)(nil)

// NewReplayer reads the recordings of dir.
func NewReplayer(dir string) (*Replayer, error) {
	list, err := recordings(dir)
	if err != nil {
		return nil, err
	}
	return &Replayer{left: list}, nil
}

// Complete returns the recorded reply of exactly this request.
func (r *Replayer) Complete(_ context.Context, request loop.ModelRequest) (loop.ModelReply, error) {
	sum, err := digest(request)
	if err != nil {
		return loop.ModelReply{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.left, func(rec Recording) bool { return rec.Digest == sum })
	if at < 0 {
		return loop.ModelReply{}, &loop.ModelError{Fault: loop.ModelRejected, Model: "replay", Err: fmt.Errorf(
			"%w: purpose %q with %d messages; the prompts or the repository differ from the recorded run", ErrNotRecorded, request.Purpose, len(request.Messages))}
	}
	rec := r.left[at]
	r.left = slices.Delete(r.left, at, at+1)
	if rec.Error != "" {
		return rec.Reply, &loop.ModelError{Fault: rec.Fault, Model: rec.Model, Err: errors.New(rec.Error)}
	}
	return rec.Reply, nil
}

// Left counts the recordings that nobody asked for yet.
func (r *Replayer) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.left)
}
