package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// runOptions are those of any command that talks to a server.
type runOptions struct {
	timeout, checkTimeout, startupTimeout time.Duration
	userAgent, clientName                 string
}

// addBudgets defines the flags that mcp-healthcheck has, too.
func (o *runOptions) addBudgets(fs *pflag.FlagSet) {
	grouped(fs, groupCheck, func() {
		fs.Var(span{&o.timeout}, "timeout", "time for the whole check (default 30000); without --startup-timeout it bounds the start-up of a command as well")
		fs.Var(span{&o.checkTimeout}, "check-timeout", "time for each step (default 10000)")
	})
}

func (o *runOptions) add(fs *pflag.FlagSet) {
	o.addBudgets(fs)
	grouped(fs, groupCheck, func() {
		fs.Var(span{&o.startupTimeout}, "startup-timeout", "time a command may take to start, on top of the others (default: --timeout if that is given, else 60000)")
	})
	grouped(fs, groupConnection, func() {
		fs.StringVar(&o.clientName, "client-name", "", "present the check to the server as `name` (default mcpvigil)")
		fs.StringVar(&o.userAgent, "user-agent", "", "send `text` as the User-Agent header (default mcpvigil and its version, with a link)")
	})
}

// probe turns the options into those of a check.
func (o *runOptions) probe() probe.Options {
	p := probe.Options{
		Timeout: o.timeout, CheckTimeout: o.checkTimeout, StartupTimeout: o.startupTimeout,
		Client: probe.Client{Name: o.clientName, Version: buildVersion(), UserAgent: o.userAgent},
	}
	// Who gives a time for the whole check, such as a Kubernetes probe, means all
	// of it.
	if o.timeout > 0 && o.startupTimeout == 0 {
		p.StartupTimeout = probe.StartupWithinTimeout
	}
	return p
}

// expectOptions are what must be there.
type expectOptions struct {
	skip                                           []string
	minTools, maxTools, minResources, minPrompts   *int
	maxLatency                                     time.Duration
	minTokenDays                                   *int
	requireTools, requireResources, requirePrompts []string
}

// addThresholds defines the flags that mcp-healthcheck has, too.
func (o *expectOptions) addThresholds(fs *pflag.FlagSet) {
	grouped(fs, groupCheck, func() {
		fs.Var(list{&o.skip, typeList, oneOf("tools", "resources", "prompts")}, "skip", "leave out a step: tools, resources or prompts (repeatable)")
		fs.Var(quantity{&o.minTools}, "min-tools", "degraded with fewer tools")
		fs.Var(quantity{&o.maxTools}, "max-tools", "degraded with more tools")
		fs.Var(quantity{&o.minResources}, "min-resources", "degraded with fewer resources")
		fs.Var(quantity{&o.minPrompts}, "min-prompts", "degraded with fewer prompts")
		fs.Var(span{&o.maxLatency}, "max-latency", "degraded when any step takes longer")
	})
}

func (o *expectOptions) add(fs *pflag.FlagSet) {
	o.addThresholds(fs)
	grouped(fs, groupCheck, func() {
		fs.Var(quantity{&o.minTokenDays}, "min-token-days", "degraded when a bearer token or client certificate ends in fewer days, where it tells")
		fs.Var(list{&o.requireTools, typeList, nil}, "require-tool", "unhealthy without this tool (repeatable)")
		fs.Var(list{&o.requireResources, "uri", nil}, "require-resource", "unhealthy without the resource of this URI (repeatable)")
		fs.Var(list{&o.requirePrompts, typeList, nil}, "require-prompt", "unhealthy without this prompt (repeatable)")
	})
}

// apply lays the expectations over p. Those that cannot be met at once are an
// error.
func (o *expectOptions) apply(p *probe.Options) error {
	if o.minTools != nil && o.maxTools != nil && *o.minTools > *o.maxTools {
		return usageErrorf(fmt.Sprintf("--min-tools %d is more than --max-tools %d", *o.minTools, *o.maxTools), "")
	}
	p.Skip = o.skip
	p.Expect.Tools, p.Expect.Resources, p.Expect.Prompts = o.requireTools, o.requireResources, o.requirePrompts
	p.Expect.MinTools, p.Expect.MaxTools = o.minTools, o.maxTools
	p.Expect.MinResources, p.Expect.MinPrompts = o.minResources, o.minPrompts
	p.Expect.MaxLatency = o.maxLatency
	if o.minTokenDays != nil {
		p.Expect.MinTokenDays = *o.minTokenDays
	}
	return nil
}

// limitOptions bound what is read from a server.
type limitOptions struct {
	limits target.Limits
}

func (o *limitOptions) add(fs *pflag.FlagSet) {
	grouped(fs, groupCheck, func() {
		fs.Var(size{&o.limits.ResponseBytes}, "max-response", "read at most this much of one answer; 8MiB will do, too (default 4MiB)")
		fs.Var(count{&o.limits.Pages, maxPages}, "max-pages", "read at most this many pages of one list (default 100)")
		fs.Var(count{&o.limits.Entries, maxEntries}, "max-entries", "read at most this many entries of one list (default 10000)")
	})
}

// The largest limits, which are also those of a file.
const (
	maxPages   = 100_000
	maxEntries = 1_000_000
)

// outputOptions are what is shown, and the exit code.
type outputOptions struct {
	format         render.Format
	quiet, verbose bool
	noColor        bool
	file           string
	also           []string // other reports, as FORMAT=FILE
	exitMap        exitMap
}

// addBasic defines the flags that mcp-healthcheck has, too.
func (o *outputOptions) addBasic(fs *pflag.FlagSet, formats ...render.Format) {
	o.format = render.Human
	grouped(fs, groupOutput, func() {
		fs.Var(formatValue{&o.format, formats}, "format", "output format: "+joinFormats(formats))
		fs.BoolVar(&o.quiet, "quiet", false, "print nothing; the exit code says it all")
		fs.BoolVar(&o.verbose, "verbose", false, "show details, stages, certificate and server")
	})
}

func (o *outputOptions) add(fs *pflag.FlagSet, formats ...render.Format) {
	o.addPlain(fs, formats...)
	grouped(fs, groupOutput, func() {
		fs.Var(&o.exitMap, "exit-map", "exit with the codes of another program: agenthealth, nagios or mcp-healthcheck")
	})
}

// addPlain is add for commands whose exit codes no other program has.
func (o *outputOptions) addPlain(fs *pflag.FlagSet, formats ...render.Format) {
	o.addBasic(fs, formats...)
	grouped(fs, groupOutput, func() {
		fs.StringVarP(&o.file, "output", "o", "", "write the report to `file`, which is replaced as a whole, also with --quiet")
		fs.BoolVar(&o.noColor, "no-color", false, "do not colour; the variable NO_COLOR does the same")
	})
}

// addAlso is addPlain, and adds other reports of the same run.
func (o *outputOptions) addAlso(fs *pflag.FlagSet, formats ...render.Format) {
	o.addPlain(fs, formats...)
	grouped(fs, groupOutput, func() {
		fs.Var(list{&o.also, typeAlso, func(s string) error {
			name, file, err := pair(s, "=")
			if err != nil || file == "" {
				return errors.New("not of the form FORMAT=FILE")
			}
			return formatValue{new(render.Format), formats}.Set(name)
		}}, "also", "write the report in another format as well, such as `sarif=FILE` (repeatable)")
	})
}

// sparing refuses reports that would replace one of the files that are read.
func (o *outputOptions) sparing(files ...string) error {
	reports := map[string]string{"--output": o.file}
	for _, s := range o.also {
		_, file, _ := pair(s, "=") // the flag has refused what is none
		reports["--also "+s] = file
	}
	for flag, report := range reports {
		for _, file := range files {
			if report != "" && sameFile(report, file) {
				return usageErrorf(flag+" would replace a file that is read", file)
			}
		}
	}
	return nil
}

// sameFile reports whether two paths are of one file, which need not exist.
func sameFile(x, y string) bool {
	xInfo, xErr := os.Stat(x)
	yInfo, yErr := os.Stat(y)
	if xErr == nil && yErr == nil {
		return xInfo.Mode().IsRegular() && os.SameFile(xInfo, yInfo)
	}
	x, xErr = filepath.Abs(x)
	y, yErr = filepath.Abs(y)
	return xErr == nil && yErr == nil && x == y
}

// writeAll writes the report as asked for, and those of --also.
func (a *app) writeAll(o *outputOptions, show func(w io.Writer, o *outputOptions) error) error {
	err := a.write(o, func(w io.Writer) error { return show(w, o) })
	for _, s := range o.also {
		name, file, _ := pair(s, "=") // the flag has refused what is none
		other := *o
		other.file = file
		other.format, _ = render.ParseFormat(name)
		err = errors.Join(err, a.write(&other, func(w io.Writer) error { return show(w, &other) }))
	}
	return err
}

func (a *app) renderOptions(o *outputOptions) render.Options {
	return render.Options{
		Program: a.program, Version: buildVersion(), Verbose: o.verbose,
		Colour: o.file == "" && a.colour(o.noColor),
	}
}

// show writes reports in a format: [render.Reports], and what else has its form.
type show func(w io.Writer, format render.Format, reports []*probe.Report, o render.Options) error

// conclude writes the reports and returns the exit code that they deserve. For
// Nagios, the line that it reads comes first, on standard output whatever
// --output says.
func (a *app) conclude(o *outputOptions, reports []*probe.Report, show show) (int, error) {
	code := exitCode(o.exitMap, reports)
	if o.exitMap == mapNagios && o.format == render.Human && !o.quiet {
		if _, err := fmt.Fprintln(a.stdout, render.Plugin(nagiosWord(code), reports)); err != nil {
			return code, err
		}
	}
	return code, a.write(o, func(w io.Writer) error { return show(w, o.format, reports, a.renderOptions(o)) })
}

// write hands the report's writer to show. Quiet keeps the terminal silent, and
// a file is written all the same.
func (a *app) write(o *outputOptions, show func(w io.Writer) error) error {
	if o.file == "" {
		if o.quiet {
			return nil
		}
		return show(a.stdout)
	}
	var b bytes.Buffer
	if err := show(&b); err != nil {
		return err
	}
	if err := a.writeFile(o.file, b.Bytes()); err != nil {
		return hinted(fmt.Errorf("write the report: %w", err), "check that the directory exists and may be written to")
	}
	return nil
}

// checker is probe.Check or probe.Ping over several targets.
type checker func(ctx context.Context, sel *selection, o probe.Options) []*probe.Report

func checkAll(ctx context.Context, sel *selection, o probe.Options) []*probe.Report {
	return probe.CheckAll(ctx, sel.targets, sel.concurrency, o)
}

func pingAll(ctx context.Context, sel *selection, o probe.Options) []*probe.Report {
	reports := make([]*probe.Report, len(sel.targets))
	slots := make(chan struct{}, max(1, sel.concurrency))
	var wg sync.WaitGroup
	for i, t := range sel.targets {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			reports[i] = probe.Ping(ctx, t, o)
		})
	}
	wg.Wait()
	return reports
}

// run checks the selection while progress is shown.
func (a *app) run(ctx context.Context, check checker, sel *selection, p probe.Options, quiet bool) []*probe.Report {
	a.waiting.Store(true)
	defer a.waiting.Store(false)
	line := a.newProgress(quiet)
	defer line.done()
	if n := len(sel.targets); n == 1 {
		p.Progress = func(step string) { line.show("%s: %s", step, sel.targets[0].Label()) }
	} else {
		line.show("checking %d servers", n)
	}
	p.Secrets = new(probe.Secrets)
	p.Secrets.Learn(ctx, sel.targets...)
	return check(ctx, sel, p)
}
