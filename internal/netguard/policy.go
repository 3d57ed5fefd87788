package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Policy says which addresses may be connected to, so that whoever can name a URL does
// not get behind the firewall with it. The zero value allows global unicast addresses.
// A nil policy allows everything.
//
// A transport asks when it dials, about each address that a name has resolved to, and
// connects to those that were asked about and to no other; a redirect dials anew. As a
// proxy dials where nobody asks, a transport with a policy ignores the proxy variables,
// unless the policy allows private addresses.
type Policy struct {
	// AllowPrivate also allows loopback, private and shared addresses (CGNAT). It does
	// not allow link-local addresses, nor those of metadata services of clouds: name
	// them in Allow.
	AllowPrivate bool
	// Allow is allowed whatever else holds.
	Allow []netip.Prefix
	// Ask, when not nil, decides in place of all the above.
	Ask func(netip.Addr) error
}

// AddressError is an address that a policy refuses.
type AddressError struct {
	Addr netip.Addr
	What string // what it is, such as "a private address"
	// Err is what Ask said, or nil.
	Err error
}

// Error names the address and says what it is.
func (e *AddressError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s is not allowed: %v", e.Addr, e.Err)
	}
	return fmt.Sprintf("%s is %s", e.Addr, e.What)
}

func (e *AddressError) Unwrap() error { return e.Err }

// Check gives an *AddressError when addr may not be connected to. An IPv6 address that
// stands for an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo) is
// judged as that.
func (p *Policy) Check(addr netip.Addr) error {
	if p == nil {
		return nil
	}
	addr = addr.Unmap().WithZone("")
	if p.Ask != nil {
		err := p.Ask(addr)
		if _, is := errors.AsType[*AddressError](err); err == nil || is {
			return err
		}
		return &AddressError{Addr: addr, Err: err}
	}
	if what, refused := p.refuses(addr); refused {
		return &AddressError{Addr: addr, What: what}
	}
	return nil
}

func (p *Policy) refuses(addr netip.Addr) (what string, refused bool) {
	if !addr.IsValid() {
		return "no address", true
	}
	if slices.ContainsFunc(p.Allow, func(allowed netip.Prefix) bool { return unmapped(allowed).Contains(addr) }) {
		return "", false
	}
	if slices.Contains(metadataServices(), addr) {
		return "the address of a cloud's metadata service", true
	}
	for _, inner := range embedded(addr) {
		if what, refused := p.refuses(inner); refused {
			return fmt.Sprintf("another form of %s, %s", inner, what), true
		}
	}
	if len(embedded(addr)) > 0 {
		return "", false
	}
	for _, r := range specialRanges() {
		if r.prefix.Contains(addr) {
			return r.what, !r.private || !p.AllowPrivate
		}
	}
	if addr.Is6() && !netip.PrefixFrom(ipv6(0x20), 3).Contains(addr) {
		return "outside of what is given out for unicast (2000::/3)", true
	}
	return "", false
}

// unmapped gives a prefix of IPv4-mapped addresses as the IPv4 prefix that it stands for.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// metadataServices hand out credentials to whoever can ask from the machine. Some stand
// in no special range, or in one that AllowPrivate opens.
func metadataServices() []netip.Addr {
	return []netip.Addr{
		netip.AddrFrom4([4]byte{169, 254, 169, 254}), // nearly all
		netip.AddrFrom4([4]byte{169, 254, 170, 2}),   // AWS, tasks of containers
		netip.AddrFrom4([4]byte{169, 254, 170, 23}),  // AWS, identities of pods
		netip.AddrFrom4([4]byte{100, 100, 100, 200}), // Alibaba
		netip.AddrFrom4([4]byte{168, 63, 129, 16}),   // Azure
		netip.AddrFrom4([4]byte{192, 0, 0, 192}),     // Oracle
		netip.MustParseAddr("fd00:ec2::254"),         // AWS
		netip.MustParseAddr("fd00:ec2::23"),          // AWS, identities of pods
		netip.MustParseAddr("fd20:ce::254"),          // Google
	}
}

type specialRange struct {
	prefix  netip.Prefix
	what    string
	private bool // AllowPrivate opens it
}

// specialRanges are those of the IANA registries of special-purpose addresses (RFC 6890)
// that no public server has, with multicast, and what is reserved or deprecated.
func specialRanges() []specialRange {
	return []specialRange{
		{netip.MustParsePrefix("0.0.0.0/8"), "an address of this host or network", false},
		{netip.MustParsePrefix("10.0.0.0/8"), "a private address", true},
		{netip.MustParsePrefix("100.64.0.0/10"), "a shared address of a provider's network", true},
		{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address", true},
		{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address", false},
		{netip.MustParsePrefix("172.16.0.0/12"), "a private address", true},
		{netip.MustParsePrefix("192.0.0.0/24"), "an address for protocols", false},
		{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation", false},
		{netip.MustParsePrefix("192.31.196.0/24"), "an address of the DNS sink AS112", false},
		{netip.MustParsePrefix("192.52.193.0/24"), "an address of multicast relays", false},
		{netip.MustParsePrefix("192.88.99.0/24"), "an address of 6to4 relays", false},
		{netip.MustParsePrefix("192.168.0.0/16"), "a private address", true},
		{netip.MustParsePrefix("192.175.48.0/24"), "an address of the DNS sink AS112", false},
		{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks", false},
		{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation", false},
		{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation", false},
		{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address", false},
		{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address", false}, // and broadcast

		{netip.PrefixFrom(netip.IPv6Unspecified(), 128), "the unspecified address", false},
		{netip.PrefixFrom(netip.IPv6Loopback(), 128), "a loopback address", true},
		{netip.PrefixFrom(ipv6(0, 0x64, 0xff, 0x9b, 0, 1), 48), "an address of a local translation (NAT64)", false},
		{netip.PrefixFrom(ipv6(1), 64), "a discarded address", false},
		{netip.PrefixFrom(ipv6(1, 0, 0, 0, 0, 0, 0, 1), 64), "a dummy address", false},
		{netip.PrefixFrom(ipv6(0x20, 1), 23), "an address for protocols", false},
		{netip.PrefixFrom(ipv6(0x20, 1, 0x0d, 0xb8), 32), "an address for documentation", false},
		{netip.PrefixFrom(ipv6(0x26, 0x20, 0, 0x4f, 0x80), 48), "an address of the DNS sink AS112", false},
		{netip.PrefixFrom(ipv6(0x3f, 0xff), 20), "an address for documentation", false},
		{netip.PrefixFrom(ipv6(0x5f), 16), "an address of segment routing", false},
		{netip.PrefixFrom(ipv6(0xfc), 7), "a private address", true},
		{netip.PrefixFrom(ipv6(0xfe, 0x80), 10), "a link-local address", false},
		{netip.PrefixFrom(ipv6(0xfe, 0xc0), 10), "a private address of the old kind (site-local)", false},
		{netip.PrefixFrom(ipv6(0xff), 8), "a multicast address", false},
	}
}

// ipv6 gives the address that begins with these bytes.
func ipv6(first ...byte) netip.Addr {
	var bytes [16]byte
	copy(bytes[:], first)
	return netip.AddrFrom16(bytes)
}

// embedded gives the IPv4 addresses that packets to an IPv6 address end up at, or go
// through.
func embedded(addr netip.Addr) []netip.Addr {
	if !addr.Is6() {
		return nil
	}
	b := addr.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	within := func(bits int, first ...byte) bool { return netip.PrefixFrom(ipv6(first...), bits).Contains(addr) }
	switch {
	case addr == netip.IPv6Unspecified(), addr == netip.IPv6Loopback():
		return nil
	case within(96), // IPv4-compatible, RFC 4291, section 2.5.5.1
		within(96, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), // IPv4-translated, RFC 2765
		within(96, 0, 0x64, 0xff, 0x9b):                // NAT64, RFC 6052
		return []netip.Addr{at(12)}
	case within(16, 0x20, 2): // 6to4, RFC 3056
		return []netip.Addr{at(2)}
	case within(32, 0x20, 1): // Teredo, RFC 4380: the server, and the client inverted
		return []netip.Addr{at(4), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	}
	return nil
}

// permitted splits off the addresses that the policy refuses, as failed attempts.
func (p *Policy) permitted(targets []netip.AddrPort) (allowed []netip.AddrPort, refused []Attempt) {
	for _, target := range targets {
		if err := p.Check(target.Addr()); err != nil {
			refused = append(refused, Attempt{Addr: target, Err: err})
			continue
		}
		allowed = append(allowed, target)
	}
	return allowed, refused
}

// refusedFailure is about a host that the policy allows no address of. A host with
// another one was dialed there, and how that ended is what counts.
func refusedFailure(err error, where string) (Failure, bool) {
	refused, is := errors.AsType[*AddressError](err)
	if !is {
		return Failure{}, false
	}
	return Failure{
		Reason: ReasonAddressNotAllowed,
		Text:   fmt.Sprintf("no connection to %s was made: %s, which the policy on addresses does not allow", where, refused),
		Hint:   "name a public address, or let the policy allow this one: mcpvigil serve --allow-private, or --allow-address NETWORK",
		Detail: map[string]string{"addresses": refused.Addr.String()},
	}, true
}
