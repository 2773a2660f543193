package prompts

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"text/template"
)

// files are the templates.
//
//go:embed *.md.tmpl
var files embed.FS

// templates are parsed once; a template that does not parse is a fault of this package's source.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"data": Data, "wish": Wish, "fenced": Fenced, "line": Line, "whole": Whole, "parts": parts, "join": strings.Join, "indent": indent,
}).ParseFS(files, "*.md.tmpl"))

// version identifies the texts: it changes whenever one of them does.
var version = digest()

// versionLength is enough to tell versions of one project apart, as for git's short ids.
const versionLength = 12

// Version identifies the prompts that a verdict came about with.
func Version() string { return version }

func digest() string {
	hash := sha256.New()
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("prompts: " + err.Error()) // embedded files are always there
	}
	for _, entry := range entries {
		text, err := files.ReadFile(entry.Name())
		if err != nil {
			panic("prompts: " + err.Error())
		}
		fmt.Fprintf(hash, "%s\x00%d\x00%s", entry.Name(), len(text), text)
	}
	return hex.EncodeToString(hash.Sum(nil))[:versionLength]
}

// Prompt is what a conversation begins with.
type Prompt struct {
	// System is the same for all calls of a purpose, so that providers can cache it.
	System string
	User   string
}

// render executes a template and tidies the blank lines that its branches leave.
func render(name string, data any) (string, error) {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("write the prompt %s: %w", name, err)
	}
	return strings.TrimSpace(b.String()), nil
}

// prompt renders the two templates of a purpose.
func prompt(purpose string, data any) (Prompt, error) {
	system, err := render(purpose+".system", data)
	if err != nil {
		return Prompt{}, err
	}
	user, err := render(purpose+".user", data)
	if err != nil {
		return Prompt{}, err
	}
	return Prompt{System: system, User: user}, nil
}
