package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	defaultListen = "127.0.0.1:8087"
	serveConfig   = "mcpvigil.yaml"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	databaseOptions
	listen      string
	publicURL   string
	proxies     []netip.Prefix
	configFile  string
	locations   []string
	openMetrics bool
	twoPersons  bool
	demo        bool

	allowPrivate bool
	allow        []netip.Prefix
	workers      int
	logFormat    string
	retention    store.Retention

	openid openidOptions
}

func (a *app) newServeCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Watch servers over time, keep history, and tell people",
		Long: `Watch MCP servers on a schedule: those of a configuration file, which is read again
when it changes and on SIGHUP, and those made through the API. Without a flag it
keeps its data in ./mcpvigil-data, reads ./mcpvigil.yaml if there is one, and listens
on 127.0.0.1:8087. It prints the address of its web page; at the first start, that of
the page that makes the first account.

SIGTERM or an interrupt ends it within 15 seconds.

EXIT STATUS
  0  it was asked to end, and did
  1  it ended by itself
  2  it could not start: wrong usage, a file, an address or a database that cannot be used`,
		Args: noArguments,
	}
	fs := cmd.Flags()
	o.add(fs)
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, g *given, _ []string) (int, error) { return a.runServe(ctx, g, &o) })
	return cmd
}

func (o *serveOptions) add(fs *pflag.FlagSet) {
	grouped(fs, groupServe, func() {
		fs.StringVar(&o.listen, "listen", defaultListen, "serve on `address`, HOST:PORT; port 0 takes any")
		fs.StringVar(&o.publicURL, "public-url", "", "where people reach it, such as https://watch.example.com (default http://localhost:PORT)")
		fs.Var(prefixes{&o.proxies}, "trusted-proxy", "believe X-Forwarded-For of proxies in this address or `network` (repeatable)")
		fs.StringVar(&o.configFile, "config", "", "watch the targets of `file` (default ./mcpvigil.yaml if it exists)")
		fs.Var(list{&o.locations, typeList, isLocation}, "location", "run the checks of this location here (repeatable; default local)")
		fs.BoolVar(&o.demo, "demo", false, "watch the bundled demo servers; without --data in a temporary folder")
	})
	o.databaseOptions.add(fs)
	grouped(fs, groupServe, func() {
		fs.BoolVar(&o.openMetrics, "open-metrics", false, "let everybody read /metrics, /probe and /health")
		fs.BoolVar(&o.twoPersons, "two-persons", false, "approve a surface when two persons have accepted the same of it")
		fs.BoolVar(&o.allowPrivate, "allow-private", false, "let monitors and channels made through the API reach private addresses")
		fs.Var(prefixes{&o.allow}, "allow-address", "let them reach this address or `network`, such as 10.1.0.0/16 (repeatable)")
		fs.Var(count{&o.workers, 10_000}, "workers", "checks at a time, for each location (default 256)")
		fs.Var(checked{&o.logFormat, "format", oneOf("text", "json")}, "log-format", "text or json (default: text on a terminal, json otherwise)")
	})
	o.openid.add(fs)
	grouped(fs, groupKeep, func() {
		for _, k := range []struct {
			name, what, standard string
			to                   *time.Duration
		}{
			{"keep-results", "results of single checks", "48h", &o.retention.Raw},
			{"keep-five-minutes", "summaries of five minutes", "14d", &o.retention.FiveMinutes},
			{"keep-hourly", "summaries of hours", "400d", &o.retention.Hourly},
			{"keep-daily", "summaries of days", "1826d", &o.retention.Daily},
			{"keep-events", "events and resolved incidents", "400d", &o.retention.Events},
			{"keep-deliveries", "notifications and attempts to deliver them", "90d", &o.retention.Deliveries},
			{"keep-surfaces", "what servers told agents, once it is of no use any more", "400d", &o.retention.Sightings},
			{"keep-audit", "who did what", "730d", &o.retention.Audit},
		} {
			fs.Var(period{k.to}, k.name, "keep "+k.what+" for this `time`, such as 36h or 30d, or forever (default "+k.standard+")")
		}
	})
}

// check refuses what no monitor can be started with.
func (o *serveOptions) check(g *given) error {
	if err := o.databaseOptions.check(g); err != nil {
		return err
	}
	o.retention.Incidents = o.retention.Events
	if len(o.locations) == 0 {
		o.locations = []string{watch.DefaultLocation}
	}
	if o.url == "" && (len(o.locations) != 1 || o.locations[0] != watch.DefaultLocation) {
		return usageErrorf("--location is for a PostgreSQL database, which several processes share", shown(o.locations)).
			hint("name one with --database; with a file, everything is checked from local")
	}
	if _, err := splitListen(o.listen); err != nil {
		return err
	}
	if o.publicURL != "" {
		u, err := url.Parse(o.publicURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil || u.Fragment != "" {
			return usageErrorf("--public-url is not an address such as https://watch.example.com", o.publicURL)
		}
		o.publicURL = u.Scheme + "://" + u.Host
	}
	if slices.ContainsFunc(o.proxies, func(p netip.Prefix) bool { return p.Bits() == 0 }) {
		return usageErrorf("--trusted-proxy is everybody", "").hint("give the address or the network of the proxy")
	}
	if err := o.openid.check(); err != nil {
		return err
	}
	if o.demo && o.configFile != "" {
		return usageErrorf("--demo and --config exclude each other", "")
	}
	return nil
}

func splitListen(address string) (host string, err error) {
	host, text, err := net.SplitHostPort(address)
	if _, bad := strconv.ParseUint(text, 10, 16); err != nil || bad != nil {
		return "", usageErrorf("--listen is not an address such as 127.0.0.1:8087", address).hint("write HOST:PORT; :8087 listens on every address")
	}
	return host, nil
}

// policy is for what is made through the API.
func (o *serveOptions) policy() netguard.Policy {
	return netguard.Policy{AllowPrivate: o.allowPrivate, Allow: o.allow}
}

// file is the configuration to read, or empty. A link to nothing is one that cannot be
// read: without it, all that it owns would be removed.
func (o *serveOptions) file() string {
	if _, err := os.Lstat(serveConfig); o.configFile == "" && !errors.Is(err, fs.ErrNotExist) {
		return serveConfig
	}
	return o.configFile
}

func isLocation(s string) error {
	if !watch.IsLocation(s) {
		return errors.New("not the name of a location: up to 48 small letters and digits, with single dashes between them")
	}
	return nil
}

// prefixes is a repeatable flag for addresses and networks.
type prefixes struct{ list *[]netip.Prefix }

func (p prefixes) Type() string { return typeNetwork }
func (p prefixes) String() string {
	if p.list == nil {
		return ""
	}
	var all []string
	for _, prefix := range *p.list {
		all = append(all, prefix.String())
	}
	return strings.Join(all, ",")
}

func (p prefixes) Set(s string) error {
	prefix, err := netip.ParsePrefix(s)
	if addr, bad := netip.ParseAddr(s); bad == nil {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return errors.New("not an address or a network; write 10.1.2.3 or 10.1.0.0/16")
	}
	*p.list = append(*p.list, prefix.Masked())
	return nil
}

// period is a flag for how long something is kept.
type period struct{ d *time.Duration }

const longestPeriod = 100 * 366 * 24 * time.Hour

func (p period) Type() string { return typePeriod }
func (p period) String() string {
	switch {
	case p.d == nil || *p.d == 0:
		return ""
	case *p.d == store.Forever:
		return "forever"
	}
	return p.d.String()
}

func (p period) Set(s string) error {
	if s == "forever" {
		*p.d = store.Forever
		return nil
	}
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d < time.Hour || d > longestPeriod {
		return fmt.Errorf("not a time of an hour or more; write 36h, 30d or forever")
	}
	*p.d = d
	return nil
}
