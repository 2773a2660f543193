package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-7a986423/autocode/loop"
)

const (
	// maxWords bounds the words that a lesson is found by, maxQueryWords those of a question: a
	// log has thousands of words, and the first hundred tell what failed.
	maxWords      = 400
	maxQueryWords = 100
	// maxWord is the longest word that is kept, in bytes; longer ones are hashes and encoded data.
	maxWord = 64
	// recallPool is how many matches are looked at for each lesson that is asked for, since several
	// lessons of one signature count as one.
	recallPool = 5
	// exactBoost puts lessons whose signature is in the question before all that only share words.
	exactBoost = 1000.0
)

// The outcomes of a pull request that take a lesson's success back.
var rejected = []string{"closed", "reverted"}

// words takes a text apart for the search: runs of letters and digits, in lower case, and the parts
// of camelCase names beside the whole. Both databases see the same words.
func words(text string, most int) []string {
	seen := map[string]bool{}
	var list []string
	add := func(word string) {
		word = strings.ToLower(word)
		if len(word) < 2 || len(word) > maxWord || seen[word] || len(list) >= most {
			return
		}
		seen[word] = true
		list = append(list, word)
	}
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		add(name)
		start := 0
		runes := []rune(name)
		for i := 1; i < len(runes); i++ {
			if unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]) {
				add(string(runes[start:i]))
				start = i
			}
		}
		if start > 0 {
			add(string(runes[start:]))
		}
	}
	return list
}

// Learn implements loop.Knowledge. A run has one lesson per signature: learning it again, after
// a crash, replaces it.
func (s *Store) Learn(ctx context.Context, lesson loop.Lesson) error {
	if lesson.Repo == "" {
		return fmt.Errorf("learn from run %q: the lesson names no repository", lesson.Run)
	}
	if lesson.At.IsZero() {
		lesson.At = s.now()
	}
	lesson.ID, lesson.Uses, lesson.Successes = 0, 0, 0
	data, err := s.codec.encode(lesson)
	if err != nil {
		return err
	}
	found := words(strings.Join([]string{lesson.Signature, lesson.Problem, strings.Join(lesson.Files, " "), lesson.Change}, " "), maxWords)
	return s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `INSERT INTO lessons (repo, run, signature, worked, at, words, data) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (repo, run, signature) WHERE run <> '' DO UPDATE
			SET worked = excluded.worked, at = excluded.at, words = excluded.words, data = excluded.data`,
			clean(lesson.Repo), clean(lesson.Run), clean(lesson.Signature), flag(lesson.Worked), micros(lesson.At), strings.Join(found, " "), data)
		if err != nil {
			return fmt.Errorf("learn from run %q: %w", lesson.Run, err)
		}
		return nil
	})
}

// Recall implements loop.Knowledge. Lessons of the same signature count as one, shown by its
// newest case that worked, or else by its newest. Uses is how often the repository met that
// signature, Successes how often what was done worked and was not closed or reverted later.
func (s *Store) Recall(ctx context.Context, repo, text string, n int) ([]loop.Lesson, error) {
	question := words(text, maxQueryWords)
	if n <= 0 || len(question) == 0 {
		return nil, nil
	}
	var query, match string
	if s.dialect == sqlite {
		match = `"` + strings.Join(question, `" OR "`) + `"`
		query = `SELECT l.id, l.signature, -bm25(lessons_words) AS score FROM lessons_words JOIN lessons l ON l.id = lessons_words.rowid
			WHERE lessons_words MATCH ? AND lower(l.repo) = ? ORDER BY score DESC, l.id DESC LIMIT ?`
	} else {
		match = "'" + strings.Join(question, "' | '") + "'"
		query = `SELECT l.id, l.signature, ts_rank(l.search, q) AS score FROM lessons l, CAST(? AS tsquery) q
			WHERE l.search @@ q AND lower(l.repo) = ? ORDER BY score DESC, l.id DESC LIMIT ?`
	}
	type hit struct {
		id        int64
		signature string
		score     float64
	}
	var hits []hit
	err := s.reader().each(ctx, func(rows *sql.Rows) error {
		var h hit
		if err := rows.Scan(&h.id, &h.signature, &h.score); err != nil {
			return err
		}
		if h.signature != "" && slices.ContainsFunc(hits, func(other hit) bool { return other.signature == h.signature }) {
			return nil
		}
		if h.signature != "" && strings.Contains(text, h.signature) {
			h.score += exactBoost
		}
		hits = append(hits, h)
		return nil
	}, query, match, strings.ToLower(clean(repo)), n*recallPool)
	if err != nil {
		return nil, fmt.Errorf("recall lessons of %s: %w", repo, err)
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var lessons []loop.Lesson
	for _, h := range hits[:min(n, len(hits))] {
		lesson, err := s.caseOf(ctx, repo, h.id, h.signature)
		if err != nil {
			return nil, err
		}
		lessons = append(lessons, lesson)
	}
	return lessons, nil
}

// caseOf is the lesson that stands for a signature, with its rate of success; one without a
// signature stands for itself.
func (s *Store) caseOf(ctx context.Context, repo string, id int64, signature string) (loop.Lesson, error) {
	where, args := "WHERE l.id = ?", []any{id}
	if signature != "" {
		where, args = "WHERE lower(l.repo) = ? AND l.signature = ?", []any{strings.ToLower(clean(repo)), signature}
	}
	lesson, err := s.lesson(s.reader().row(ctx, "SELECT l.id, l.data FROM lessons l "+where+" ORDER BY l.worked DESC, l.at DESC, l.id DESC LIMIT 1", args...))
	if err != nil {
		return loop.Lesson{}, fmt.Errorf("recall lesson %q of %s: %w", signature, repo, err)
	}
	err = s.reader().row(ctx, `SELECT count(*), coalesce(sum(CASE WHEN l.worked = 1 AND (j.outcome IS NULL OR j.outcome NOT IN (`+marks(len(rejected))+`)) THEN 1 ELSE 0 END), 0)
		FROM lessons l LEFT JOIN judgements j ON j.run = l.run AND l.run <> '' `+where, append(anys(rejected), args...)...).Scan(&lesson.Uses, &lesson.Successes)
	if err != nil {
		return loop.Lesson{}, fmt.Errorf("rate lesson %q of %s: %w", signature, repo, err)
	}
	return lesson, nil
}

// scanner is a row or rows.
type scanner interface{ Scan(into ...any) error }

func (s *Store) lesson(from scanner) (loop.Lesson, error) {
	var id int64
	var data []byte
	if err := from.Scan(&id, &data); err != nil {
		return loop.Lesson{}, err
	}
	var lesson loop.Lesson
	if err := s.codec.decode(data, &lesson); err != nil {
		return loop.Lesson{}, err
	}
	lesson.ID = id
	return lesson, nil
}

// Judge implements loop.Knowledge. The last word counts: what was merged may be reverted.
func (s *Store) Judge(ctx context.Context, run, outcome string) error {
	now := s.now()
	return s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `INSERT INTO judgements (run, outcome, at) VALUES (?, ?, ?)
			ON CONFLICT (run) DO UPDATE SET outcome = excluded.outcome, at = excluded.at`, clean(run), clean(outcome), micros(now))
		if err != nil {
			return fmt.Errorf("judge run %q: %w", run, err)
		}
		return nil
	})
}

// Lessons lists the lessons of a repository, newest first, at most limit, each by itself.
func (s *Store) Lessons(ctx context.Context, repo string, limit int) ([]loop.Lesson, error) {
	var list []loop.Lesson
	err := s.reader().each(ctx, func(rows *sql.Rows) error {
		lesson, err := s.lesson(rows)
		list = append(list, lesson)
		return err
	}, "SELECT id, data FROM lessons WHERE lower(repo) = ? ORDER BY id DESC LIMIT ?", strings.ToLower(clean(repo)), limit)
	if err != nil {
		return nil, fmt.Errorf("list lessons of %s: %w", repo, err)
	}
	return list, nil
}

// Forget deletes a lesson; ErrNotFound where there is none of that id.
func (s *Store) Forget(ctx context.Context, id int64) error {
	return s.write(ctx, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, "DELETE FROM lessons WHERE id = ?", id)
		if err != nil {
			return fmt.Errorf("forget lesson %d: %w", id, err)
		}
		if n == 0 {
			return fmt.Errorf("forget lesson %d: %w", id, loop.ErrNotFound)
		}
		return nil
	})
}
