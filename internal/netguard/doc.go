// Package netguard is the one way to the network for HTTP: it resolves names,
// dials, chooses proxies and verifies certificates, and it says what went wrong.
//
// [NewTransport] gives an ordinary *http.Transport that sets no time limits; the
// context of a request rules. net/http, however, detaches dialing from that
// context. [Follow] ties the two together again, and remembers how far the
// request got, so that [Trail.Explain] can tell a host that did not answer the
// connection from one that did not answer the request. Requests that are not
// followed leave an unfinished dial or handshake behind for at most two minutes.
//
// A [Policy] keeps connections away from addresses that are nobody's business.
//
// [Classify] turns the error of a request into a stable reason. Its most
// important bit is Local: the fault is on this side (a resolver, a route, a
// proxy, descriptors), so nothing has been learnt about the server.
package netguard
