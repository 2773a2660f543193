package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/go-github/v62/github"
)

const (
	// redeliverWithin is how old a delivery may be that is asked for again: GitHub keeps them for three
	// days ("Redelivering webhooks"), and what is a day old is seldom wanted any more.
	redeliverWithin = 24 * time.Hour
	// mostRedelivered bounds what is asked for at one start.
	mostRedelivered = 200
)

// Redeliver asks GitHub for the deliveries again that reached nobody while the server was down: GitHub
// itself does not repeat them. A delivery that arrives twice does nothing twice, and one that was
// refused, with a status below 500, would be refused again. It returns how many were asked for.
func (c *Clients) Redeliver(ctx context.Context) (int, error) {
	client, err := c.App()
	if err != nil {
		return 0, err
	}
	missed, err := missedDeliveries(ctx, client, c.config.Clock.Now().Add(-redeliverWithin))
	if err != nil {
		return 0, fmt.Errorf("list the deliveries of GitHub: %w", err)
	}
	for n, id := range missed {
		_, _, err := client.Apps.RedeliverHookDelivery(ctx, id)
		var accepted *github.AcceptedError // 202 is what it answers
		if err != nil && !errors.As(err, &accepted) {
			return n, fmt.Errorf("ask GitHub for delivery %d again: %w", id, err)
		}
	}
	return len(missed), nil
}

// missedDeliveries returns the newest attempt of each delivery since a moment of which no attempt
// arrived, oldest first.
func missedDeliveries(ctx context.Context, client *github.Client, since time.Time) ([]int64, error) {
	const perPage, mostPages = 100, 30
	arrived, newest := map[string]bool{}, map[string]int64{}
	var order []string
	options := &github.ListCursorOptions{PerPage: perPage}
pages:
	for range mostPages {
		list, response, err := client.Apps.ListHookDeliveries(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, d := range list { // newest first
			if d.GetDeliveredAt().Before(since) {
				break pages
			}
			guid := d.GetGUID()
			if _, seen := newest[guid]; !seen {
				newest[guid] = d.GetID()
				order = append(order, guid)
			}
			if code := d.GetStatusCode(); code != 0 && code < http.StatusInternalServerError {
				arrived[guid] = true
			}
		}
		if response.Cursor == "" {
			break
		}
		options.Cursor = response.Cursor
	}
	var missed []int64
	for i := len(order) - 1; i >= 0 && len(missed) < mostRedelivered; i-- {
		if !arrived[order[i]] {
			missed = append(missed, newest[order[i]])
		}
	}
	return missed, nil
}
