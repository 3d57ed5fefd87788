// Command corpus measures the lint and the comparison of surfaces on a folder of
// tool lists, and says whether the product keeps what it promises.
//
//	go run ./test/corpus DIR
//
// The folder holds any of three others. Every file in them is JSON.
//
//	benign/SERVER.json            what an honest server advertises; names that begin with
//	                              "_" hold texts that are easy to mistake for an attack
//	drift/PACKAGE_VERSION.json    the same server at several versions
//	poisoned/NAME.json            {"cases": […]}, each with a poisoned "tool", or with the
//	                              same tool "before" and "after" and, as the case may be,
//	                              "instructions_after"
//
// It exits with 0 when every promise is kept, 1 when one is broken, and 2 when the
// folder holds nothing to measure.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: corpus DIR, a folder with any of benign, drift and poisoned in it")
		return 2
	}
	c, err := read(args[0])
	if err != nil {
		fmt.Fprintln(stderr, "corpus:", err)
		return 2
	}
	m := measure(c)
	out := bufio.NewWriter(stdout)
	m.print(out)
	if err := out.Flush(); err != nil {
		fmt.Fprintln(stderr, "corpus: print the table:", err)
		return 2
	}
	if !m.kept() {
		return 1
	}
	return 0
}
