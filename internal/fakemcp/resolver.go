package fakemcp

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Resolver knows the names it is given, and no others. It is safe for
// concurrent use.
type Resolver struct {
	mu      sync.Mutex
	hosts   map[string][]netip.Addr
	fail    int
	lookups []string
}

// NewResolver maps each host to 127.0.0.1.
func NewResolver(hosts ...string) *Resolver {
	r := &Resolver{hosts: map[string][]netip.Addr{}}
	for _, h := range hosts {
		r.Set(h, "127.0.0.1")
	}
	return r
}

// Set changes the addresses of a host.
func (r *Resolver) Set(host string, addrs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		list[i] = netip.MustParseAddr(a)
	}
	r.hosts[host] = list
}

// Fail makes the next n look-ups say that there is no such host.
func (r *Resolver) Fail(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = n
}

// Lookups returns the names that were asked for, in order.
func (r *Resolver) Lookups() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lookups)
}

// LookupNetIP answers as [net.Resolver.LookupNetIP] does.
func (r *Resolver) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookups = append(r.lookups, host)
	known := r.hosts[host]
	if r.fail > 0 {
		r.fail--
		known = nil
	}
	var list []netip.Addr
	for _, a := range known {
		if network == "ip4" && !a.Is4() || network == "ip6" && !a.Is6() {
			continue
		}
		list = append(list, a)
	}
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return list, nil
}
