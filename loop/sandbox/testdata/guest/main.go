// Command guest is nothing but the sandbox's init: tests link it statically and run it in roots
// that have no loader.
package main

import _ "github.com/seed-7a986423/autocode/loop/sandbox/guest"

func main() {}
