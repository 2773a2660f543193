package loop_test

import (
	"context"

	"github.com/seed-7a986423/autocode/loop"
)

// fakePublisher counts what is there on GitHub; effects are looked up by their keys.
type fakePublisher struct {
	*world
	standing loop.Standing
	progress int
	last     loop.Snapshot
	notices  map[string]loop.Notice
	checks   map[string]string // by commit: in progress, success, failure
	badToken bool              // until the repository is looked for
	renamed  string            // what the repository is called by now
	pull     *loop.PullRequest
	pulls    int
}

func (p *fakePublisher) Acknowledge(context.Context, loop.Snapshot) error {
	return p.effect("acknowledge", func() error { return nil })
}

func (p *fakePublisher) Progress(_ context.Context, s loop.Snapshot) error {
	return p.effect("progress", func() error { p.progress++; p.last = s; return nil })
}

func (p *fakePublisher) Tell(_ context.Context, _ loop.Snapshot, n loop.Notice) error {
	return p.effect("tell", func() error {
		if _, said := p.notices[n.Key]; !said {
			p.notices[n.Key] = n
		}
		return nil
	})
}

func (p *fakePublisher) AnswerRemark(context.Context, loop.Snapshot, loop.RemarkAnswer) error {
	return p.effect("answer a remark", func() error { return nil })
}

func (p *fakePublisher) Standing(context.Context, loop.Task, loop.Run) (loop.Standing, error) {
	return p.standing, nil
}

func (p *fakePublisher) Locate(_ context.Context, repo loop.Repo) (loop.Repo, error) {
	p.badToken = false
	if p.renamed != "" {
		repo.Name, repo.CloneURL = p.renamed, "https://github.example.org/acme/"+p.renamed+".git"
	}
	return repo, nil
}

func (p *fakePublisher) StartCheck(_ context.Context, _ loop.Snapshot, commit string) error {
	return p.effect("start-check", func() error {
		if p.checks[commit] == "" {
			p.checks[commit] = "in progress"
		}
		return nil
	})
}

func (p *fakePublisher) FinishChecks(_ context.Context, s loop.Snapshot, v loop.Verdict) error {
	return p.effect("finish-checks", func() error {
		p.checks[v.Head] = "failure"
		if v.Pass && s.Ending == "" {
			p.checks[v.Head] = "success"
		}
		return nil
	})
}

func (p *fakePublisher) SettleChecks(context.Context, loop.Snapshot, string) error {
	return p.effect("settle", func() error {
		for commit, state := range p.checks {
			if state == "in progress" {
				p.checks[commit] = "failure"
			}
		}
		return nil
	})
}

func (p *fakePublisher) OpenPull(_ context.Context, s loop.Snapshot) (loop.PullRequest, error) {
	err := p.effect("open-pull", func() error {
		if p.pull == nil {
			p.pulls++
			p.pull = &loop.PullRequest{Number: 7, Draft: true, Open: true, URL: "https://example.org/pull/7"}
		}
		p.pull.Head = s.Final
		return nil
	})
	if err != nil {
		return loop.PullRequest{}, err
	}
	return *p.pull, nil
}

func (p *fakePublisher) UpdatePull(_ context.Context, _ loop.Snapshot, ready bool) (loop.PullRequest, error) {
	err := p.effect("update-pull", func() error { p.pull.Draft = !ready; return nil })
	if err != nil {
		return loop.PullRequest{}, err
	}
	return *p.pull, nil
}
