package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	stagger      = 250 * time.Millisecond // RFC 8305, section 5
	lookupPause  = 100 * time.Millisecond // between a failed lookup and the second
	maxAddresses = 32                     // a hostile zone can list thousands
	maxNamed     = 4                      // addresses in an error text
)

// LookupError is a host name that could not be resolved.
type LookupError struct {
	Host string
	Err  error
}

func (e *LookupError) Error() string { return "look up " + e.Host + ": " + e.Err.Error() }
func (e *LookupError) Unwrap() error { return e.Err }

// Timeout makes the answer of an enclosing *url.Error right.
func (e *LookupError) Timeout() bool { return isTimeout(e.Err) }

// Attempt is one address that was dialed in vain.
type Attempt struct {
	Addr netip.AddrPort
	Err  error
}

// DialError is a host none of whose addresses accepted a connection. It wraps
// the errors of all attempts.
type DialError struct {
	Address  string // host:port as asked for
	Attempts []Attempt
}

// Error names the first four addresses.
func (e *DialError) Error() string {
	return "connect to " + e.Address + ": " + e.describe(func(a Attempt) string {
		return fmt.Sprintf("%s (%v)", a.Addr, cause(a.Err))
	})
}

func (e *DialError) describe(attempt func(Attempt) string) string {
	var parts []string
	for _, a := range e.Attempts[:min(len(e.Attempts), maxNamed)] {
		parts = append(parts, attempt(a))
	}
	if more := len(e.Attempts) - maxNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// Unwrap gives the errors of the attempts.
func (e *DialError) Unwrap() []error {
	errs := make([]error, len(e.Attempts))
	for i, a := range e.Attempts {
		errs[i] = a.Err
	}
	return errs
}

// Timeout makes the answer of an enclosing *url.Error right.
func (e *DialError) Timeout() bool { return slices.ContainsFunc(e.Unwrap(), isTimeout) }

// cause strips what *net.OpError repeats: operation and address.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

type dialer struct {
	resolver Resolver
	policy   *Policy
	connect  func(ctx context.Context, network, address string) (net.Conn, error)
}

// DialContext connects to host:port over TCP.
func (d *dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, abandonedAfter)
	defer cancel()
	trail := trailOf(ctx)
	defer trail.onEnd(cancel)()

	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", address, err)
	}
	portNumber, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", address, err)
	}
	trail.lookingUp(host)
	ips, err := d.addresses(ctx, host)
	if err != nil {
		return nil, &LookupError{Host: host, Err: err}
	}
	targets := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		targets[i] = netip.AddrPortFrom(ip, uint16(portNumber))
	}
	targets, refused := d.policy.permitted(targets)
	if len(targets) == 0 {
		return nil, &DialError{Address: address, Attempts: refused}
	}
	trail.connecting(address, targets)
	conn, attempts := d.race(ctx, targets)
	if conn == nil {
		return nil, &DialError{Address: address, Attempts: attempts}
	}
	trail.connected(conn)
	return conn, nil
}

func (d *dialer) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		// RFC 6761, section 6.3. Some resolvers know only one family, or none.
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.DNSStart != nil {
		trace.DNSStart(httptrace.DNSStartInfo{Host: host})
	}
	ips, err := d.lookupTwice(ctx, host)
	if trace != nil && trace.DNSDone != nil {
		info := httptrace.DNSDoneInfo{Err: err}
		for _, ip := range ips {
			info.Addrs = append(info.Addrs, net.IPAddr{IP: ip.AsSlice(), Zone: ip.Zone()})
		}
		trace.DNSDone(info)
	}
	return alternate(ips), err
}

// lookupTwice repeats a failed lookup once, also when the answer was that there
// is no such host: resolvers give that for a moment, too.
func (d *dialer) lookupTwice(ctx context.Context, host string) ([]netip.Addr, error) {
	ips, err := d.lookup(ctx, host)
	if err == nil {
		return ips, nil
	}
	select {
	case <-ctx.Done():
		return nil, err
	case <-time.After(lookupPause):
	}
	return d.lookup(ctx, host)
}

func (d *dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	// Without its values the context has no trace, which *net.Resolver would
	// report the lookup to a second time.
	ips, err := d.resolver.LookupNetIP(valueless{ctx}, "ip", host)
	if err == nil && len(ips) == 0 {
		err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return ips, err
}

type valueless struct{ context.Context }

func (valueless) Value(any) any { return nil }

// alternate orders addresses by turns between the families, starting with the
// resolver's favourite (RFC 8305, section 4), without repetitions.
func alternate(ips []netip.Addr) []netip.Addr {
	var first, second []netip.Addr
	seen := make(map[netip.Addr]bool, len(ips))
	for _, ip := range ips {
		ip = ip.Unmap()
		if seen[ip] {
			continue
		}
		seen[ip] = true
		if len(first) == 0 || first[0].Is4() == ip.Is4() {
			first = append(first, ip)
		} else {
			second = append(second, ip)
		}
	}
	ordered := make([]netip.Addr, 0, len(seen))
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			ordered = append(ordered, first[i])
		}
		if i < len(second) {
			ordered = append(ordered, second[i])
		}
	}
	return ordered[:min(len(ordered), maxAddresses)]
}

// race dials the targets in order, each after the stagger or the failure of the
// one before, and gives the first connection; without one, it gives all the
// attempts. It returns when all its dials have ended.
func (d *dialer) race(ctx context.Context, targets []netip.AddrPort) (net.Conn, []Attempt) {
	if len(targets) == 1 {
		conn, err := d.connect(ctx, "tcp", targets[0].String())
		if err != nil {
			return nil, []Attempt{{Addr: targets[0], Err: err}}
		}
		return conn, nil
	}
	type result struct {
		index int
		conn  net.Conn
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(targets))
	attempts := make([]Attempt, 0, len(targets))
	start := func() {
		index := len(attempts)
		attempts = append(attempts, Attempt{Addr: targets[index]})
		go func() {
			conn, err := d.connect(ctx, "tcp", targets[index].String())
			results <- result{index, conn, err}
		}()
	}
	var winner net.Conn
	timer := time.NewTimer(stagger)
	defer timer.Stop()
	start()
	for pending := 1; pending > 0; {
		next := false
		select {
		case r := <-results:
			pending--
			attempts[r.index].Err = r.err
			switch {
			case r.err == nil && winner == nil:
				winner = r.conn
				cancel()
			case r.err == nil:
				r.conn.Close() // a second one made it before it was cancelled
			default:
				next = true
			}
		case <-timer.C:
			next = true
		}
		if next && winner == nil && ctx.Err() == nil && len(attempts) < len(targets) {
			start()
			pending++
			timer.Reset(stagger)
		}
	}
	return winner, attempts
}
