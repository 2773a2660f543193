package main

import (
	"fmt"
	"io"
)

// maxInput bounds what is read from standard input: far more than any issue.
const maxInput = 1 << 20

// readAll reads at most maxInput bytes and says so where there is more.
func readAll(in io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxInput {
		return nil, fmt.Errorf("more than %d bytes", maxInput)
	}
	return data, nil
}
