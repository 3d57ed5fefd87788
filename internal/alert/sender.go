package alert

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	sendTimeout = 30 * time.Second // a whole attempt
	httpTimeout = 10 * time.Second // one request
	maxDetail   = 300              // runes of a detail or an error
	maxRead     = 1 << 10          // bytes of a text that a detail is made from

	// shoutrrrSlots is how many sends of package shoutrrr, which cannot be ended, may
	// run at a time.
	shoutrrrSlots = 4
)

// Options configure a Sender.
type Options struct {
	// Policy says which addresses channels may reach that the API owns. Those that a
	// file owns may reach private ones as well.
	Policy netguard.Policy
	// UserAgent is how requests name themselves; empty: mcpvigil.
	UserAgent string
	// PublicURL is where people find this watch.
	PublicURL string
	RootCAs   *x509.CertPool // nil: those of the system
}

// Sender delivers messages. It is safe for concurrent use.
type Sender struct {
	options Options
	// api and file are what channels of the two sources go through.
	api, file guard
	slots     chan struct{}
}

// guard is the way to the network under a policy.
type guard struct {
	policy *netguard.Policy
	client *http.Client
}

// New makes a Sender. Close it when done.
func New(o Options) *Sender {
	if o.UserAgent == "" {
		o.UserAgent = "mcpvigil"
	}
	open := o.Policy
	open.AllowPrivate = true
	return &Sender{
		options: o,
		api:     newGuard(&o, o.Policy),
		file:    newGuard(&o, open),
		slots:   make(chan struct{}, shoutrrrSlots),
	}
}

func newGuard(o *Options, policy netguard.Policy) guard {
	return guard{policy: &policy, client: &http.Client{
		Transport: netguard.NewTransport(netguard.Options{RootCAs: o.RootCAs, Policy: &policy}),
		Timeout:   httpTimeout,
		// A redirect would turn the message into a GET, or hand it to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close gives up idle connections.
func (s *Sender) Close() {
	s.api.client.CloseIdleConnections()
	s.file.client.CloseIdleConnections()
}

// Send makes one attempt to deliver m to c, of at most 30 seconds. Detail is what the
// receiver answered, safe to show. An error is a *PermanentError when a retry cannot
// help, and a *RetryError otherwise.
func (s *Sender) Send(ctx context.Context, c *watch.Channel, m Message) (detail string, err error) {
	k, ok := kindOf(c.Type)
	if !ok {
		return "", &PermanentError{errors.New("there is no type of channels " + plain.Line(c.Type, maxName))}
	}
	d := &delivery{Message: &m, settings: c.Settings, sender: s, secrets: secretsOf(&k, c.Settings)}
	if problems := Validate(c.Type, c.Settings); len(problems) > 0 {
		return "", d.safe(permanent("setting %s %s", problems[0].Field, problems[0].Text))
	}
	way := &s.api
	if c.Source == watch.FromFile {
		way = &s.file
	}
	d.client, d.policy = way.client, way.policy
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	detail, err = k.send(ctx, d)
	if err != nil {
		return "", d.safe(err)
	}
	return d.clean(detail), nil
}

// clean is the one way out for a text: without secrets, visible, and bounded.
func (d *delivery) clean(text string) string {
	text = d.secrets.String(text)
	return plain.Line(plain.Patterns(text[:min(len(text), maxRead)]), maxDetail)
}

// safe gives err without what it wraps, which could hold a secret.
func (d *delivery) safe(err error) error {
	text := errors.New(d.clean(err.Error()))
	if _, ok := errors.AsType[*PermanentError](err); ok {
		return &PermanentError{text}
	}
	retry := &RetryError{Err: text}
	if e, ok := errors.AsType[*RetryError](err); ok {
		retry.After = e.After
	}
	return retry
}
