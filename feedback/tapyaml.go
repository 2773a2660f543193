package feedback

import "strings"

// yamlFailure takes the fields of a YAML diagnostic.
func (r *tapReader) yamlFailure(f *Failure, y map[string]string) {
	for _, k := range []string{"error", "message", "reason", "values", "details", "operator"} {
		if y[k] != "" {
			f.Message = strings.TrimSpace(y[k])
			if m := tapInner.FindStringSubmatch(f.Message); m != nil {
				f.Message = m[1]
			}
			break
		}
	}
	if d := y["details"]; strings.HasPrefix(d, "'") { // AVA says there what the message lacks
		switch text := avaDetails(d); {
		case f.Message == d || strings.HasPrefix(text, f.Message):
			f.Message = text
		default:
			f.Message += "\n" + text
		}
		f.Expected, f.Actual, _ = diffValues(strings.Split(f.Message, "\n"))
	}
	if file, at := batsPlace(f.Message); file != "" {
		f.File, f.Line = file, at
		return
	}
	if e, ok := y["expected"]; ok {
		f.Expected = told(unquote(strings.TrimSpace(e)))
	} else if e, ok := y["wanted"]; ok {
		f.Expected = told(unquote(strings.TrimSpace(e)))
	}
	for _, k := range []string{"actual", "found", "got"} {
		if a, ok := y[k]; ok {
			f.Actual = told(unquote(strings.TrimSpace(a)))
			break
		}
	}
	if f.Expected != nil && f.Actual != nil && !strings.Contains(f.Message, *f.Expected) {
		f.Message += "\nexpected: " + *f.Expected + "\nactual: " + *f.Actual
	}
	var frames []frame
	for l := range strings.Lines(y["stack"]) {
		l = strings.TrimSpace(l)
		if !strings.HasPrefix(l, "at ") {
			l = "at " + l
		}
		frames = append(frames, jsFrames([]string{l})...)
	}
	if top, ok := r.s.topFrame(frames); ok {
		f.File, f.Line = top.file, top.line
		return
	}
	for _, k := range []string{"location", "at", "file"} {
		place := strings.Join(strings.Fields(strings.Trim(y[k], `'" `)), " ") // AVA folds "fn (file:1:2)"
		if frames := jsFrames([]string{"at " + place}); k == "at" && len(frames) > 0 {
			if top, ok := r.s.topFrame(frames); ok {
				f.File, f.Line = top.file, top.line
				return
			}
			continue
		}
		if m := regexpPlace.FindStringSubmatch(strings.TrimSpace(firstLine(strings.Trim(y[k], `'" `)))); m != nil && r.s.own(m[1]) {
			f.File, f.Line = m[1], atoi(m[2])
			return
		}
	}
	if m := jsImported.FindStringSubmatch(strings.Join(strings.Fields(f.Message), " ")); m != nil {
		f.File = m[1]
	}
	if m := tapDataLine.FindStringSubmatch(y["data"]); m != nil && absolute(f.ID) { // ESLint's test points are files
		f.File, f.Line = f.ID, atoi(m[1])
		f.ID = r.s.file(f.ID)
	}
	if y["file"] != "" {
		f.File, f.Line = strings.Trim(y["file"], `'"`), atoi(strings.TrimSpace(y["line"]))
	}
}

// avaDetails is the text of AVA's details, whose keys are sentences: `'Value is not truthy:': '0'`.
func avaDetails(text string) string {
	var out []string
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n ")
		if k, v, ok := yamlKey(strings.TrimSpace(l)); ok && strings.HasPrefix(strings.TrimSpace(l), "'") {
			l = k + ": " + strings.Trim(strings.TrimSpace(v), "|-2'")
		}
		if t := strings.TrimSpace(l); t != "" && t != "}" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// tapDataLine is the line that ESLint's diagnostics name below "data".
var tapDataLine = newPattern(`(?m)^\s*line: (\d+)$`)

// regexpPlace finds file:line[:column], also inside "fn (file:1:2)".
var regexpPlace = newPattern(`((?:file://)?(?:[A-Za-z]:)?[^\s():]+):(\d+)(?::\d+)?\)?$`)

// readTapYAML reads the flat top level of a YAML block: scalars, block scalars and, joined, nested lists and maps.
func readTapYAML(lines []string) map[string]string {
	if len(lines) == 0 {
		return nil
	}
	out := map[string]string{}
	base := -1
	key := ""
	open := false // within a quoted scalar of several lines, as Vitest prints them
	for _, l := range lines {
		if open {
			open = !strings.HasSuffix(l, `"`) || strings.HasSuffix(l, `\"`)
			if key != "" {
				out[key] += "\n" + l
				if !open {
					out[key] = openScalar(out[key])
				}
			}
			continue
		}
		if _, v, ok := strings.Cut(l, ": \""); ok && !strings.HasSuffix(strings.ReplaceAll(v, `\"`, ""), `"`) {
			open = true
		}
		if strings.TrimSpace(l) == "" {
			if key != "" {
				out[key] += "\n"
			}
			continue
		}
		d := indent(l)
		if base < 0 {
			base = d
		}
		t := l[min(d, len(l)):]
		if d == base {
			k, v, ok := yamlKey(t)
			if !ok {
				continue
			}
			key = strings.TrimSpace(k) // QUnit aligns the colons
			v = strings.TrimSpace(v)
			switch v {
			case "|-", "|", ">", ">-", "|+", "|2", "|2-":
				v = ""
			default:
				v = yamlScalar(v)
			}
			out[key] = v
			continue
		}
		if key != "" {
			if out[key] != "" {
				out[key] += "\n"
			}
			out[key] += strings.TrimPrefix(l, strings.Repeat(" ", min(d, base+2)))
		}
	}
	return out
}

// yamlKey splits a line at its key's colon; a key in quotes may hold colons.
func yamlKey(t string) (key, value string, ok bool) {
	if rest, quoted := strings.CutPrefix(t, "'"); quoted {
		if key, value, ok = strings.Cut(rest, "':"); ok {
			return strings.TrimSuffix(key, ":"), value, true
		}
	}
	return strings.Cut(t, ":")
}

// openScalar takes the quotes off a scalar whose lines were joined; behind a nested key they stay.
func openScalar(v string) string {
	if len(v) >= 2 && v[0] == '"' {
		return yamlScalar(v)
	}
	return v
}

func yamlScalar(v string) string {
	if len(v) >= 2 && v[0] == '\'' && v[len(v)-1] == '\'' {
		return strings.ReplaceAll(v[1:len(v)-1], "''", "'")
	}
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
		return strings.NewReplacer(`\"`, `"`, `\n`, "\n", `\\`, `\`).Replace(v[1 : len(v)-1])
	}
	return v
}
