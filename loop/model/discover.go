package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// discoverTimeout is long for a list and short for a person who waits at a terminal.
const discoverTimeout = 15 * time.Second

// Discover names the model of an endpoint that serves exactly one, as local servers do. With none
// or several it is an error that lists them.
func Discover(ctx context.Context, baseURL, key string) (string, error) {
	config := openai.DefaultConfig(key)
	config.BaseURL = baseURL
	config.HTTPClient = newDoer(http.DefaultTransport, DefaultMaxReplyBytes)
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	list, err := openai.NewClientWithConfig(config).ListModels(ctx)
	if err != nil {
		// Behind "body" comes whatever a server that knows no such list says, often a whole page.
		said, _, _ := strings.Cut(strings.Join(strings.Fields(err.Error()), " "), ", body: ")
		return "", fmt.Errorf("ask the endpoint for its models: %s", redact(said, []string{key}))
	}
	switch len(list.Models) {
	case 0:
		return "", errors.New("the endpoint lists no model; set AUTOCODE_MODEL")
	case 1:
		return list.Models[0].ID, nil
	}
	const shown = 10
	var names []string
	for i, m := range list.Models {
		if i == shown {
			names = append(names, "…")
			break
		}
		names = append(names, m.ID)
	}
	return "", fmt.Errorf("the endpoint offers several models (%v); set AUTOCODE_MODEL to one of them", names)
}
