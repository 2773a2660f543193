package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// candidates is how many solutions the round that begins is to make, as far as the limits allow;
// those that are finished already, from before an interruption, are among them.
func (d *drive) candidates(ctx context.Context) (int, error) {
	done := len(d.s.Candidates)
	wanted := candidatesWanted(&d.s)
	if wanted == 1 || done >= wanted {
		return max(wanted, done), nil
	}
	spending, err := d.spending(ctx)
	if err != nil {
		return 0, err
	}
	return done + affordable(wanted-done, d.s.Config.Limits, spending, d.s.Rounds), nil
}

// codeSeveral makes the candidates of a round, each in a clone of its own. What is finished is stored
// at once, so that an interruption does not pay for it again.
func (d *drive) codeSeveral(ctx context.Context, clone Clone, n int, request CodeRequest, round Round) (ended, error) {
	s := &d.s
	var missing []Candidate
	for i := range n {
		if s.candidate(i+1) == nil {
			missing = append(missing, Candidate{Number: i + 1, Variation: Variations()[i], Made: round})
		}
	}
	err := d.sideBySide(len(missing), func(i int) error {
		c := missing[i]
		own, err := d.candidateClone(ctx, clone, c)
		if err != nil {
			return err
		}
		request := request
		request.Clone, request.Variation, request.Model = own, c.Variation, meteredModel{d: d, temperature: c.Variation.temperature()}
		c, err = d.makeCandidate(ctx, request, c)
		if err != nil {
			result, known := resultOf(err)
			if !known || ctx.Err() != nil {
				return err
			}
			c.Result, c.Detail = result, err.Error()
			return errors.Join(err, d.finished(ctx, c, false))
		}
		return d.finished(ctx, c, true)
	})
	usable := slices.ContainsFunc(s.Candidates, func(c Candidate) bool { return c.Result == ResultOK })
	if err != nil {
		if _, known := resultOf(err); !known || ctx.Err() != nil || !usable {
			s.Candidates = slices.DeleteFunc(slices.Clone(s.Candidates), Candidate.unmade)
			if usable && cutShort(ctx) {
				_, _ = d.settle() // the best that there is to show
			}
			return ended{}, err
		}
	}
	s.Candidates = slices.Clone(s.Candidates)
	slices.SortFunc(s.Candidates, func(a, b Candidate) int { return cmp.Compare(a.Number, b.Number) })
	if usable {
		markSame(s.Candidates)
		return ok()
	}
	return d.settle() // none is worth verifying: the round ends as one of them did
}

// cutShort says whether a phase was ended by the wall time or a person's stop, after which the best
// state is shown.
func cutShort(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errWallTime) || errors.Is(cause, errStopSignal)
}

// settle makes the candidate that is chosen the round's own, with its clone, and lets the others go.
func (d *drive) settle() (ended, error) {
	s := &d.s
	index, why := Choose(s.Candidates)
	if index < 0 {
		return with(ResultError, "%s", why)
	}
	c := s.Candidates[index]
	c.Made.Candidate, c.Made.Candidates, c.Made.Choice = c.Number, tried(s.Candidates), why
	if c.Made.Commit != "" {
		d.adoptClone(c.Number)
	}
	s.Candidates = nil
	d.closeHeld()
	d.log.Info().Int("round", c.Made.Number).Int("candidate", c.Number).Str("why", why).Msg("a candidate is chosen")
	result, err := d.take(c)
	s.Verdict, s.Best = s.verdictOf(s.Head), best(s.Rounds)
	return result, err
}

// unmade says that a candidate could not be made for want of money, time or model.
func (c Candidate) unmade() bool { return c.Result == ResultLimit || c.Result == ResultModelDown }

// markSame notes candidates that make the same change as an earlier one.
func markSame(candidates []Candidate) {
	for i := range candidates {
		c := &candidates[i]
		for _, earlier := range candidates[:i] {
			if c.Result == ResultOK && earlier.Result == ResultOK && earlier.Same == 0 && c.Change == earlier.Change {
				c.Same = earlier.Number
				break
			}
		}
	}
}

// finished notes how a candidate's coding came out, and stores it where it was made.
func (d *drive) finished(ctx context.Context, c Candidate, store bool) error {
	d.saving.Lock()
	defer d.saving.Unlock()
	d.mutex.Lock()
	d.s.Candidates = append(slices.Clip(d.s.Candidates), c)
	d.mutex.Unlock()
	if !store {
		return nil
	}
	return d.saveCandidates(ctx)
}

// saveCandidates stores the state in the middle of a round and brings the progress comment up to date.
func (d *drive) saveCandidates(ctx context.Context) error {
	if err := d.save(ctx); err != nil {
		return err
	}
	d.mutex.Lock()
	snapshot := d.s
	d.mutex.Unlock()
	if err := d.Publisher.Progress(ctx, snapshot); err != nil {
		d.log.Warn().Err(err).Msg("the progress comment is behind") // the next phase brings it up to date
	}
	return nil
}

// verifySeveral verifies the candidates of the round, each in its own clone, and goes on with the best.
func (d *drive) verifySeveral(ctx context.Context, baseline *Outcome) (ended, error) {
	s := &d.s
	var todo []int
	for _, c := range s.Candidates {
		if c.Result == ResultOK && c.Same == 0 && c.Measure == nil {
			todo = append(todo, c.Number)
		}
	}
	main, err := d.workClone(ctx)
	if err != nil {
		return ended{}, err
	}
	err = d.sideBySide(len(todo), func(i int) error {
		d.mutex.Lock()
		c := *d.s.candidate(todo[i])
		d.mutex.Unlock()
		return d.verifyCandidate(ctx, main, baseline, c)
	})
	if err != nil && !cutShort(ctx) {
		return ended{}, err
	}
	round := len(s.Rounds) + 1
	if result, settleErr := d.settle(); err != nil || settleErr != nil || result.result != ResultOK {
		return result, errors.Join(err, settleErr)
	}
	text, err := json.MarshalIndent(s.Verdict, "", "  ")
	if err != nil {
		return ended{}, fmt.Errorf("write verify.json: %w", err)
	}
	if err := d.Store.PutArtifact(ctx, d.lease, verdictName(roundLabel(round, 0)), text); err != nil {
		return ended{}, err
	}
	clone, err := d.workClone(ctx)
	if err != nil {
		return ended{}, err
	}
	return d.publishRound(ctx, clone)
}

// verifyCandidate verifies one candidate and stores what came out.
func (d *drive) verifyCandidate(ctx context.Context, main Clone, baseline *Outcome, c Candidate) error {
	clone, err := d.candidateClone(ctx, main, c)
	if err != nil {
		return err
	}
	outcome, diff, err := d.verifyCommit(ctx, clone, baseline, c.Made.Commit, c.Made.Number, c.Number)
	if err != nil {
		return err
	}
	v := outcome.Verdict
	c.Made.Verdict, c.Made.Guard, c.Made.Hooks = &v, v.Guard, hooks(d.s.Spec, outcome.Cases)
	c.Measure = measure(v, diff)
	d.saving.Lock()
	defer d.saving.Unlock()
	d.mutex.Lock()
	d.s.Candidates = slices.Clone(d.s.Candidates)
	*d.s.candidate(c.Number) = c
	d.mutex.Unlock()
	return d.saveCandidates(ctx)
}

// candidateClone is the clone of a candidate, set to its commit, or to what it begins from, with its
// dependencies installed. After a restart it is made anew from the stored bundles.
func (d *drive) candidateClone(ctx context.Context, main Clone, c Candidate) (Clone, error) {
	d.mutex.Lock()
	held := d.held[c.Number]
	d.mutex.Unlock()
	if held != nil {
		return held, held.Reset(ctx, cmp.Or(c.Made.Commit, c.Made.Parent), true)
	}
	clone, err := d.openCandidate(ctx, main, c)
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	if d.held == nil {
		d.held = map[int]Clone{}
	}
	d.held[c.Number] = clone
	d.mutex.Unlock()
	return clone, d.Verifier.Setup(ctx, clone, d.s.Config.Verify)
}

func (d *drive) openCandidate(ctx context.Context, main Clone, c Candidate) (Clone, error) {
	if c.Made.Commit == "" {
		return main.Fresh(ctx, c.Made.Parent)
	}
	bundles, err := d.bundles(ctx)
	if err != nil {
		return nil, err
	}
	return d.Workspace.Open(ctx, d.s.Task.Repo, d.s.Run.ID, c.Made.Commit, bundles...)
}

// adoptClone makes a candidate's clone the run's own, as far as this worker holds it.
func (d *drive) adoptClone(number int) {
	d.closeClone()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if clone := d.held[number]; clone != nil {
		d.clone, d.ready = clone, true
		delete(d.held, number)
	}
}

// closeHeld removes the clones of candidates.
func (d *drive) closeHeld() {
	d.mutex.Lock()
	held := d.held
	d.held = nil
	d.mutex.Unlock()
	for _, clone := range held {
		d.logClose(clone.Close())
	}
}

// sideBySide does n pieces of work, as many at once as the server has idle workers, at least one, and
// waits for them. After an error no further one is begun. The errors are joined; a panic is the caller's.
func (d *drive) sideBySide(n int, do func(i int) error) error {
	workers := 1
	for workers < n && d.borrow() {
		workers++
	}
	defer d.busy.Add(-int64(workers - 1))
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var wait sync.WaitGroup
	var failed atomic.Bool
	errs, panics := make([]error, n), make([]any, workers)
	for w := range workers {
		wait.Go(func() {
			defer func() { panics[w] = recover() }()
			for i := range next {
				if failed.Load() {
					return
				}
				if errs[i] = do(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
	return errors.Join(errs...)
}

// borrow takes an idle worker of the server, where there is one.
func (d *drive) borrow() bool {
	if d.busy.Add(1) <= int64(d.Settings.Workers) {
		return true
	}
	d.busy.Add(-1)
	return false
}
