package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/seed-7a986423/autocode/handlers"
	"github.com/seed-7a986423/autocode/handlers/setup"
)

// setupCmd makes the GitHub App.
type setupCmd struct {
	GitHub    string `name:"github" placeholder:"URL" help:"Web address of the GitHub; default GITHUB_WEB_URL, else https://github.com. An Enterprise Server's is enough."`
	Name      string `default:"autocode" help:"Suggested name of the App."`
	Org       string `placeholder:"NAME" help:"Organisation that is to own it; default your own account."`
	PublicURL string `placeholder:"URL" help:"Where GitHub reaches this server; default AUTOCODE_PUBLIC_URL."`
	Relay     string `placeholder:"URL" help:"Channel of a webhook relay, in place of a public address."`
	Listen    string `default:"127.0.0.1:0" help:"Address of the local page, loopback only."`
	Out       string `default:"." placeholder:"DIR" help:"Where the credentials go."`
}

// Run serves the page until the App is made.
func (c *setupCmd) Run(ctx context.Context, std streams) error {
	server, err := setup.ServerAt(cmp.Or(c.GitHub, os.Getenv("GITHUB_WEB_URL"), "https://github.com"))
	if err != nil {
		return usageError(err)
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil || !isLoopback(host) {
		return usageError(fmt.Errorf("--listen %q: the page hands out credentials, hence it is for loopback only", c.Listen))
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	var events []string
	for _, h := range (&handlers.Handlers{}).All() {
		events = append(events, h.Handles()...)
	}
	flow := setup.NewFlow(&setup.Flow{
		GitHub: server, Base: "http://" + listener.Addr().String(), Dir: c.Out, Events: events, Client: &http.Client{Timeout: githubTimeout},
		Suggested: setup.Choices{Name: c.Name, Organization: c.Org, Public: cmp.Or(c.PublicURL, os.Getenv("AUTOCODE_PUBLIC_URL")), Relay: c.Relay},
	})
	web := &http.Server{Handler: flow, ReadHeaderTimeout: headerTimeout}
	go func() { _ = web.Serve(listener) }() // ends with Shutdown
	fmt.Fprintf(std.out, "Open %s in a browser on this machine.\n", flow.Base)
	made, err := flow.Wait(ctx)
	shutdown, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer done()
	if err = errors.Join(err, web.Shutdown(shutdown)); err != nil {
		return err
	}
	serve := "autocode serve"
	if made.Relay != "" {
		serve += " --webhook-relay " + made.Relay
	}
	fmt.Fprintf(std.out, `The App %s is made: %s
Its credentials are in %s and %s; only you can read them.

Next:
1. Install it on the repositories that you choose: %s
2. set -a; . %s; set +a
   and name the model: OPENAI_BASE_URL, OPENAI_API_KEY, AUTOCODE_MODEL, AUTOCODE_MODEL_PRICE
3. autocode doctor
4. %s
`, made.Slug, made.Page, made.EnvFile, made.KeyFile, made.Install, made.EnvFile, serve)
	return nil
}
