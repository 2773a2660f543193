package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/seed-7a986423/autocode/prompts"
)

const (
	// maxNeed is how many places a planner may ask to see, once.
	maxNeed = 6
	// needShare is the part of a planner's budget of tokens that they get, beside what was shown first.
	needShare = 2
)

// needOf reads the places that a reply of the planner asks to see. A reply of another form asks for none: its faults
// are told by the reader of specs.
func needOf(raw json.RawMessage) []string {
	var r specReply
	if json.Unmarshal(raw, &r) != nil {
		return nil
	}
	wanted := filled(r.Need)
	return wanted[:min(len(wanted), maxNeed)]
}

// need renders the places that a planner asked to see within a budget of tokens: files, files with a function, names
// and directories. What the repository does not have is named. It is never empty.
func (s *survey) need(ctx context.Context, wanted []string, budget int) (string, error) {
	var files, names, listings, missing []string
	for _, w := range wanted {
		where, name := placeAndName(w)
		switch p := s.named(where); {
		case p != "":
			files = append(files, p)
			names = append(names, p+" "+name)
		case where != "" && s.hasDir(where):
			listings = append(listings, prompts.Data("Directory "+where, s.list(where)))
		case strings.Contains(where, "/"):
			missing = append(missing, w)
		default:
			names = append(names, w)
		}
	}
	data := prompts.NeedData{Listings: listings, Missing: missing}
	if len(names) > 0 {
		var err error
		if data.Code, _, err = s.pack(ctx, strings.Join(names, "\n"), files, budget); err != nil {
			return "", err
		}
	}
	return prompts.Need(data)
}

// placeAndName takes the forms path, path:function, path::function, path#function, path:12-40 and function() apart.
func placeAndName(wanted string) (where, name string) {
	wanted = strings.TrimSuffix(strings.Trim(strings.TrimSpace(wanted), "`*'\""), "()")
	at := strings.IndexAny(wanted, ":#( ")
	if at < 0 {
		return path.Clean(wanted), ""
	}
	return path.Clean(wanted[:at]), strings.Trim(wanted[at:], ":#() ")
}

// named is the one file that a path means, also one without its first directories, "" where it is none or not one alone.
func (s *survey) named(p string) string {
	if s.exists(p) {
		return p
	}
	if same := s.endingIn(p); len(same) == 1 {
		return same[0]
	}
	return ""
}

// list renders the entries of one directory of the commit, "" or "." for the root, a line each.
func (s *survey) list(dir string) string {
	prefix := ""
	if dir = path.Clean("/" + strings.TrimSpace(dir))[1:]; dir != "" {
		prefix = dir + "/"
	}
	counts := map[string]int{}
	var entries []string
	for _, p := range s.paths {
		rest, below := strings.CutPrefix(p, prefix)
		if !below {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if !deeper {
			entries = append(entries, name)
			continue
		}
		if counts[name+"/"] == 0 {
			entries = append(entries, name+"/")
		}
		counts[name+"/"]++
	}
	more := len(entries) - maxEntries
	entries = entries[:min(len(entries), maxEntries)]
	for i, e := range entries {
		if n := counts[e]; n > 0 {
			entries[i] = fmt.Sprintf("%s (%d files)", e, n)
		}
	}
	if more > 0 {
		entries = append(entries, fmt.Sprintf("(and %d more)", more))
	}
	return strings.Join(entries, "\n")
}
