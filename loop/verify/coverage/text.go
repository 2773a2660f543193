package coverage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// longestLine bounds a line of a text report, in bytes: a path and a few numbers.
const longestLine = 1 << 20

func scanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, longestLine)
	return s
}

// goProfile reads "mode: set" and lines "file.go:12.3,14.5 2 1": from, to, statements, count
// (golang.org/x/tools/cover). Test binaries of several packages name the same block again.
func (r *Report) goProfile(in io.Reader) error {
	type block struct {
		file string
		at   string
	}
	blocks := map[block]struct {
		statements int
		run        bool
	}{}
	s := scanner(in)
	for s.Scan() {
		text := strings.TrimSpace(s.Text())
		if text == "" || strings.HasPrefix(text, "mode: ") {
			continue
		}
		place, numbers, _ := strings.Cut(text, " ")
		colon := strings.LastIndexByte(place, ':')
		if colon < 1 {
			return fmt.Errorf("%.100q is no block", text)
		}
		var from, to, fromColumn, toColumn, statements, count int
		if _, err := fmt.Sscanf(place[colon+1:]+" "+numbers, "%d.%d,%d.%d %d %d", &from, &fromColumn, &to, &toColumn, &statements, &count); err != nil || statements < 0 || statements > highestLine || to < from {
			return fmt.Errorf("%.100q is no block", text)
		}
		if r.lines+to-from > mostLines {
			return errTooMany
		}
		for line := from; line <= to; line++ {
			if err := r.mark(place[:colon], line, count > 0); err != nil {
				return err
			}
		}
		key := block{strings.Clone(place[:colon]), strings.Clone(place[colon+1:])}
		b := blocks[key]
		b.statements, b.run = statements, b.run || count > 0
		blocks[key] = b
	}
	for _, b := range blocks {
		r.Statements += b.statements
		if b.run {
			r.Covered += b.statements
		}
	}
	return s.Err()
}

// lcov reads the records of geninfo(1): SF names a file, DA:line,count a line of it.
func (r *Report) lcov(in io.Reader) error {
	s := scanner(in)
	file := ""
	for s.Scan() {
		key, value, _ := strings.Cut(strings.TrimSpace(s.Text()), ":")
		switch key {
		case "SF":
			file = strings.Clone(value)
		case "end_of_record":
			file = ""
		case "DA":
			fields := strings.Split(value, ",")
			if len(fields) < 2 || file == "" {
				return fmt.Errorf("%.100q belongs to no file", s.Text())
			}
			line, err := strconv.Atoi(fields[0])
			if err != nil {
				return fmt.Errorf("%.100q has no line", s.Text())
			}
			count, err := strconv.ParseFloat(fields[1], 64) // some tools write 1e+06
			if err != nil {
				return fmt.Errorf("%.100q has no count", s.Text())
			}
			if err := r.mark(file, line, count > 0); err != nil {
				return err
			}
		}
	}
	return s.Err()
}

// coveragePy reads `coverage json`: executed and missing lines of each file.
func (r *Report) coveragePy(in io.Reader) error {
	var document struct {
		Files map[string]struct {
			Executed []int `json:"executed_lines"`
			Missing  []int `json:"missing_lines"`
		} `json:"files"`
	}
	if err := json.NewDecoder(in).Decode(&document); err != nil {
		return err
	}
	if document.Files == nil {
		return errors.New("it names no files")
	}
	for file, lines := range document.Files {
		for _, part := range []struct {
			lines []int
			run   bool
		}{{lines.Executed, true}, {lines.Missing, false}} {
			for _, line := range part.lines {
				if line == 0 {
					continue // an empty file's only statement, before 3.8
				}
				if err := r.mark(file, line, part.run); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
