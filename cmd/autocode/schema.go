package main

import (
	"fmt"

	"github.com/seed-7a986423/autocode/loop"
)

// schemaCmd prints the JSON Schema of a file format.
type schemaCmd struct {
	Name string `arg:"" help:"One of verify, spec, plan, snapshot, config, report."`
}

// Run prints it.
func (c *schemaCmd) Run(std streams) error {
	text, err := loop.Schema(c.Name)
	if err != nil {
		return usageError(err)
	}
	_, err = fmt.Fprintf(std.out, "%s\n", text)
	return err
}
