package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/demo"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// demoOptions are the flags of demo.
type demoOptions struct {
	runOptions
	outputOptions
}

func (a *app) newDemoCommand() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Check the demo servers that come with mcpvigil",
		Long: `Start the bundled demo server twice, as a command over stdio and on this machine
over HTTP, check both, and print the reports. Needs no network.
` + exitStatus("both demo servers work, as they should", "one does not: something on this machine is in the way"),
		Args: noArguments,
	}
	o.runOptions.add(cmd.Flags())
	o.outputOptions.add(cmd.Flags(), render.Formats()...)
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, _ *given, _ []string) (int, error) { return a.runDemo(ctx, &o) })
	return cmd
}

func (a *app) runDemo(ctx context.Context, o *demoOptions) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program to start it as a server: %w", err)
	}
	var reports []*probe.Report
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	server := &demo.Server{Version: buildVersion()}
	err = server.Listen(serving, "127.0.0.1:0", func(url string) {
		defer stop()
		reports = a.run(ctx, checkAll, &selection{concurrency: 2, targets: []*target.Target{
			{Name: "demo over stdio", Command: &target.Command{Path: self, Args: []string{demoServer, "--stdio"}}},
			{Name: "demo over HTTP", Endpoint: url, Transport: target.HTTP},
		}}, o.probe(), o.quiet)
	})
	if err != nil {
		return 0, fmt.Errorf("serve the demo on this machine: %w", err)
	}
	return a.conclude(&o.outputOptions, reports, render.Reports)
}

const demoServer = "demo-server"

// demoServerOptions are the flags of demo-server.
type demoServerOptions struct {
	stdio bool
	http  string
}

func (a *app) newDemoServerCommand() *cobra.Command {
	var o demoServerOptions
	cmd := &cobra.Command{
		Use:    demoServer + " --stdio | --http ADDRESS",
		Short:  "Run the demo server",
		Hidden: true,
		Args:   noArguments,
	}
	cmd.Flags().BoolVar(&o.stdio, "stdio", false, "speak over standard input and output")
	cmd.Flags().StringVar(&o.http, "http", "", "listen on `address`, such as 127.0.0.1:8080, and print the URL")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.runDemoServer(cmd.Context(), &o) }
	return cmd
}

func (a *app) runDemoServer(ctx context.Context, o *demoServerOptions) error {
	a.waiting.Store(true) // until its input ends or ctx does
	server := &demo.Server{Version: buildVersion()}
	switch {
	case o.stdio:
		return server.ServeStdio(ctx, a.stdin, a.stdout.w)
	case o.http != "":
		return server.Listen(ctx, o.http, func(url string) { fmt.Fprintln(a.stdout, url) })
	}
	return usageErrorf("demo-server needs --stdio or --http", "")
}
