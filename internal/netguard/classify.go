package netguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// The reasons of a Failure. They are stable.
const (
	ReasonDNSNotFound        = "dns-not-found"       // there is no such host, said twice
	ReasonDNSFailure         = "dns-failure"         // the lookup failed otherwise
	ReasonConnectionRefused  = "connection-refused"  // nothing listens there
	ReasonConnectionReset    = "connection-reset"    // RST
	ReasonConnectionClosed   = "connection-closed"   // end of the stream before a response
	ReasonConnectTimeout     = "connect-timeout"     // no address accepted a connection in time
	ReasonTimeout            = "timeout"             // connected, but no answer in time
	ReasonNetworkUnreachable = "network-unreachable" // no way from here to the network
	ReasonHostUnreachable    = "host-unreachable"    // the network is there and the host is not
	ReasonDescriptorLimit    = "descriptor-limit"    // this process or system can open no more
	ReasonAddressNotAllowed  = "address-not-allowed" // the policy allows none of the host's addresses
	ReasonProxyError         = "proxy-error"         // the proxy, not the server
	ReasonTLSUntrusted       = "tls-untrusted"       // Detail["sub"] says why
	ReasonTLSHandshake       = "tls-handshake"       // no TLS connection for another cause
	ReasonHTTPMalformed      = "http-malformed"      // an answer that is not HTTP
	ReasonCanceled           = "aborted"             // the caller gave up
	ReasonNetworkError       = "network-error"       // anything else
)

const maxText = 400 // runes of a Text

// Failure is what an error of a request means. Text and Detail are safe to show.
type Failure struct {
	Reason string
	Text   string // one lower-case clause: what happened to what
	Hint   string // what to do about it, or ""
	// Local: the fault is on this side (resolver, route, proxy, descriptors), so
	// the request says nothing about the server.
	Local bool
	// Detail holds more for programs: sub, chain, issuer, sni, names (tls-untrusted);
	// alert (tls-handshake); proxy, variable, status (proxy-error); addresses
	// (failed connections). It can be nil.
	Detail map[string]string
}

// Classify explains the error of a request made through a transport of this
// package. An error that went through [Trail.Explain] is classified more finely.
// A nil error gives the zero Failure.
func Classify(err error) Failure {
	if err == nil {
		return Failure{}
	}
	f := classify(err)
	f.Text = plain.Line(f.Text, maxText)
	for key, value := range f.Detail {
		f.Detail[key] = plain.Line(value, maxText)
	}
	return f
}

// classify asks in order of certainty: whose fault it is comes before what.
func classify(err error) Failure {
	where := endpoint(err)
	for _, ask := range []func(error, string) (Failure, bool){
		refusedFailure, descriptorFailure, canceled, proxyFailure, lookupFailure, certificateFailure, handshakeFailure,
		connectFailure, timeoutFailure, closedFailure, malformedFailure,
	} {
		if f, ok := ask(err, where); ok {
			return f
		}
	}
	return Failure{Reason: ReasonNetworkError, Text: fmt.Sprintf("request to %s failed: %v", where, innermost(err))}
}

// endpoint gives the host:port that the error is about.
func endpoint(err error) string {
	if e, ok := errors.AsType[*DialError](err); ok {
		return e.Address
	}
	if e, ok := errors.AsType[*HandshakeError](err); ok {
		return e.Address
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		if u, err := url.Parse(e.URL); err == nil && u.Host != "" {
			return hostPort(u)
		}
	}
	return "the server"
}

func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// innermost strips the layers that repeat the request.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

type errnoTable struct {
	refused, reset, timedOut, unreachable, noRoute, descriptors, forbidden []syscall.Errno
}

func isAny(err error, numbers []syscall.Errno) bool {
	for _, n := range numbers {
		if errors.Is(err, n) {
			return true
		}
	}
	return false
}

// isTimeout asks every error in the tree: *url.Error answers for its direct
// child only.
func isTimeout(err error) bool {
	if timeout, ok := err.(interface{ Timeout() bool }); ok && timeout.Timeout() {
		return true
	}
	switch wrapper := err.(type) { //nolint:errorlint // walks the tree itself
	case interface{ Unwrap() error }:
		return isTimeout(wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(wrapper.Unwrap(), isTimeout)
	}
	return false
}

func descriptorFailure(err error, where string) (Failure, bool) {
	if !isAny(err, errnos().descriptors) && !lookupSays(err, "too many open files") {
		return Failure{}, false
	}
	return Failure{
		Reason: ReasonDescriptorLimit,
		Text:   fmt.Sprintf("no descriptor or buffer was left here to connect to %s", where),
		Hint:   "raise the limit of open files (ulimit -n) or lower the concurrency",
		Local:  true,
	}, true
}

func canceled(err error, where string) (Failure, bool) {
	if !errors.Is(err, context.Canceled) {
		return Failure{}, false
	}
	return Failure{Reason: ReasonCanceled, Text: "the request to " + where + " was canceled", Local: true}, true
}

func proxyFailure(err error, where string) (Failure, bool) {
	proxy, known := errors.AsType[*ProxyError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	viaOp := isOp && (op.Op == "proxyconnect" || strings.HasPrefix(op.Op, "socks"))
	if !known && !viaOp {
		return Failure{}, false
	}
	f := Failure{Reason: ReasonProxyError, Local: true, Hint: "check HTTP_PROXY, HTTPS_PROXY and NO_PROXY"}
	if !known {
		proxy = &ProxyError{Err: op.Err}
		if dial, ok := errors.AsType[*DialError](err); ok {
			proxy.Proxy = dial.Address
		}
	}
	f.Detail = map[string]string{"proxy": proxy.Proxy, "variable": proxy.Variable}
	name := strings.TrimSpace("proxy " + proxy.Proxy)
	if proxy.Variable != "" {
		name += " from " + proxy.Variable
		f.Hint = "check " + proxy.Variable + ", or list the host in NO_PROXY"
	}
	switch {
	case proxy.Status != 0:
		f.Detail["status"] = strconv.Itoa(proxy.Status)
		f.Text = fmt.Sprintf("%s answered %d to CONNECT", name, proxy.Status)
		if proxy.Status == http.StatusProxyAuthRequired {
			f.Hint = "give the proxy's user and password in its URL"
		}
	case errors.Is(err, errProxySetting):
		f.Text = proxy.Variable + " holds no usable proxy URL"
		f.Hint = "use the form http://proxy.example.com:3128"
	default:
		f.Text = fmt.Sprintf("%s failed: %s", name, proxyCause(proxy.Err, where))
	}
	return f, true
}

// proxyCause classifies what happened to the proxy as if it were a server.
func proxyCause(err error, where string) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		err = op.Err
	}
	if _, again := proxyFailure(err, where); err == nil || again {
		return fmt.Sprint(innermost(err))
	}
	text := classify(err).Text
	return strings.ReplaceAll(text, "the server", "it")
}

func lookupFailure(err error, where string) (Failure, bool) {
	lookup, isLookup := errors.AsType[*LookupError](err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	if !isLookup && !isDNS {
		return Failure{}, false
	}
	host := where
	if isDNS && dns.Name != "" {
		host = dns.Name
	}
	if isLookup {
		host = lookup.Host
	}
	if isDNS && dns.IsNotFound {
		return Failure{
			Reason: ReasonDNSNotFound,
			Text:   fmt.Sprintf("there is no host %s in the DNS", host),
			Hint:   "check the spelling of the host name and its DNS records",
		}, true
	}
	f := Failure{Reason: ReasonDNSFailure, Text: fmt.Sprintf("looking up %s failed: %s", host, lookupCause(err, dns))}
	f.Local = resolverUnreachable(err)
	if f.Local {
		f.Text = fmt.Sprintf("no name server answered for %s: %s", host, lookupCause(err, dns))
		f.Hint = "check this machine's resolver and network"
	}
	return f, true
}

func lookupCause(err error, dns *net.DNSError) string {
	if isTimeout(err) {
		return "timeout"
	}
	if dns != nil {
		return dns.Err
	}
	return innermost(err).Error()
}

// resolverUnreachable tells a resolver that did not answer from one that
// answered with a failure. *net.DNSError keeps its cause as text only.
func resolverUnreachable(err error) bool {
	table := errnos()
	return isTimeout(err) || isAny(err, table.refused) || isAny(err, table.noRoute) || isAny(err, table.unreachable) ||
		lookupSays(err, "connection refused", "unreachable", "no route to host", "dial udp", "dial tcp", "no DNS servers")
}

func lookupSays(err error, phrases ...string) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	for _, phrase := range phrases {
		if ok && strings.Contains(dns.Err, phrase) {
			return true
		}
	}
	return false
}

// connectFailure is about errors of system calls, while connecting or later. Of
// several attempts the one that says most about the server counts: a refusal on
// one address outweighs a missing route to another.
func connectFailure(err error, where string) (Failure, bool) {
	table := errnos()
	dial, dialing := errors.AsType[*DialError](err)
	tried := ""
	var detail map[string]string
	if dialing && len(dial.Attempts) > 0 {
		addresses := dial.describe(func(a Attempt) string { return a.Addr.String() })
		detail = map[string]string{"addresses": addresses}
		if addresses != where {
			tried = " (tried " + addresses + ")"
		}
	}
	f := Failure{Detail: detail}
	switch {
	case isAny(err, table.refused):
		f.Reason, f.Text = ReasonConnectionRefused, where+" refused the connection"+tried
		f.Hint = "check that the server runs and listens on this address and port"
	case isAny(err, table.reset):
		f.Reason, f.Text = ReasonConnectionReset, where+" reset the connection"+tried
	case dialing && isTimeout(err) || isAny(err, table.timedOut) && isDial(err):
		f.Reason, f.Text = ReasonConnectTimeout, where+" did not accept a connection in time"+tried
		f.Hint = "check firewalls, and that the host is up"
	case isAny(err, table.unreachable):
		f.Reason, f.Text = ReasonHostUnreachable, "host "+where+" is unreachable"+tried
	case isAny(err, table.noRoute):
		f.Reason, f.Text, f.Local = ReasonNetworkUnreachable, "there is no route from here to "+where+tried, true
		f.Hint = "check this machine's network"
	case dialing && isAny(err, table.forbidden):
		f.Reason, f.Text, f.Local = ReasonNetworkError, "this system forbids connecting to "+where+tried, true
		f.Hint = "check local firewalls and sandboxes"
	default:
		return Failure{}, false
	}
	return f, true
}

func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func timeoutFailure(err error, where string) (Failure, bool) {
	if !isTimeout(err) {
		return Failure{}, false
	}
	if isDial(err) {
		return Failure{Reason: ReasonConnectTimeout, Text: where + " did not accept a connection in time"}, true
	}
	text := where + " did not answer in time"
	if _, ok := errors.AsType[*HandshakeError](err); ok {
		text = where + " accepted the connection but did not complete the TLS handshake in time"
	}
	return Failure{Reason: ReasonTimeout, Text: text}, true
}

func closedFailure(err error, where string) (Failure, bool) {
	last := innermost(err).Error()
	closed := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.HasPrefix(last, "http: server closed idle connection") ||
		strings.HasPrefix(last, "http2: client conn") || strings.HasPrefix(last, "http2: server sent GOAWAY")
	if !closed {
		return Failure{}, false
	}
	text := where + " closed the connection without a complete response"
	if _, ok := errors.AsType[*HandshakeError](err); ok {
		text = where + " closed the connection during the TLS handshake"
	}
	return Failure{Reason: ReasonConnectionClosed, Text: text}, true
}

// malformedFailure knows what net/http says about bytes that are not HTTP; most
// of it has no type.
func malformedFailure(err error, where string) (Failure, bool) {
	last := innermost(err).Error()
	_, malformed := errors.AsType[textproto.ProtocolError](err)
	for _, prefix := range []string{
		"malformed HTTP", "malformed MIME", "bad Content-Length", "http: suspiciously long", "too many transfer encodings",
		"unsupported transfer encoding", "http: message cannot contain multiple Content-Length", "net/http: server response headers exceeded",
		"http2:", "stream error:", "connection error:", "net/http: HTTP/1.x transport connection broken: malformed",
	} {
		malformed = malformed || strings.HasPrefix(last, prefix)
	}
	if !malformed {
		return Failure{}, false
	}
	f := Failure{Reason: ReasonHTTPMalformed, Text: fmt.Sprintf("%s answered with something that is not HTTP: %s", where, last)}
	// The start of a TLS record of type alert, as net/http quotes it.
	if strings.Contains(last, `"\x15\x03`) {
		f.Text = where + " answered plain HTTP with a TLS alert"
		f.Hint = "use https:// for this endpoint"
	}
	if strings.HasPrefix(last, "net/http: server response headers exceeded") {
		f.Text = where + " sent response headers larger than 1 MiB"
	}
	return f, true
}
