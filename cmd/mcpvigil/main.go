// Command mcpvigil watches MCP servers.
package main

import (
	"os"

	"github.com/mcpvigil/mcpvigil/internal/cli"
	_ "github.com/mcpvigil/mcpvigil/internal/heap" // for its effect on how commands start
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}
