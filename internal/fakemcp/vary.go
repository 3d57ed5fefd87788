package fakemcp

import "math/rand/v2"

// Caller is who sent a request, as the request says itself (2026-07-28), or as the
// initialize of its session did.
type Caller struct {
	Name, Version string // of clientInfo
	Revision      string
	UserAgent     string
	Authorization string
	// Session is the id of the legacy session, or what stands in its place; empty
	// where there is none.
	Session string
}

// Caller is who sent the request. Over legacy servers without sessions, whose
// requests nothing ties together, it is the client that initialized last.
func (x *Exchange) Caller() Caller {
	p := x.message.params()
	c := Caller{UserAgent: x.Header.Get("User-Agent"), Authorization: x.Header.Get("Authorization")}
	switch {
	case x.message.modern():
		c.Name, c.Version, c.Revision = p.Meta.Client.Name, p.Meta.Client.Version, p.Meta.Version
	case x.Method == "initialize":
		c.Name, c.Version, c.Revision = p.Client.Name, p.Client.Version, p.ProtocolVersion
	default:
		c.Session = x.Server.sessionKey(x)
		x.Server.mu.Lock()
		defer x.Server.mu.Unlock()
		if open := x.Server.sessions[c.Session]; open != nil {
			c.Name, c.Version, c.Revision = open.client.Name, open.client.Version, open.revision
		}
	}
	return c
}

// Vary lets a well-behaved server say different things to different callers, or
// at different times: before each answer, change gets a copy of the configuration.
// The lists of the copy are those of the server, to be replaced and not written
// to.
func (s *Server) Vary(change func(x *Exchange, c *Config)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vary = change
}

// config is what the server is and offers in one exchange.
func (x *Exchange) config() *Config {
	x.Server.mu.Lock()
	vary := x.Server.vary
	x.Server.mu.Unlock()
	if vary == nil {
		return &x.Server.cfg
	}
	c := x.Server.given
	vary(x, &c)
	c = c.withDefaults()
	return &c
}

// Shuffled returns the entries in another order each time.
func Shuffled(list []string) []string {
	out := make([]string, len(list))
	for i, from := range rand.Perm(len(list)) {
		out[i] = list[from]
	}
	return out
}
