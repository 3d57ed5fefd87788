package alert

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	stdmail "net/mail"
	"net/netip"
	"net/textproto"
	"strconv"
	"strings"
	"syscall"

	"github.com/wneessen/go-mail"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	maxRecipients = 20
	// maxTalk is how much a mail server may say about one mail, with its certificates.
	maxTalk = 1 << 20
)

func emailKind() kind {
	return kind{
		Type: Type{
			Name: "email",
			Doc:  "Mail over SMTP, plain text. The mails of one incident form a thread.",
			Fields: []Field{
				{Name: "host", Doc: "The SMTP server.", Example: "smtp.example.com", Required: true, check: hostName},
				{Name: "port", Doc: "Its port; 587 with starttls, 465 with tls and 25 with none when left out.", Example: "587", check: portNumber},
				{Name: "tls", Doc: "`starttls` (required, the default), `tls` from the start, or `none`.", Example: "starttls", check: oneOf("starttls", "tls", "none")},
				{Name: "username", Doc: "Who logs in; nobody does when left out.", Example: "mcpvigil"},
				{Name: "password", Doc: "Its password.", Example: "0123456789abcdef", Secret: true},
				{Name: "from", Doc: "The sender.", Example: "mcpvigil <watch@example.com>", Required: true, check: addresses(1)},
				{Name: "to", Doc: "Up to 20 recipients, separated by commas.", Example: "ann@example.com, ops@example.com", Required: true, check: addresses(maxRecipients)},
			},
		},
		check: checkEmail,
		place: func(s settings) string {
			return s.get("to") + " through " + net.JoinHostPort(s.get("host"), s.port())
		},
		send: sendEmail,
	}
}

func (s settings) port() string {
	return s.or("port", map[string]string{"starttls": "587", "tls": "465", "none": "25"}[s.or("tls", "starttls")])
}

func checkEmail(s settings) []watch.Problem {
	switch {
	case (s.get("username") == "") != (s.get("password") == ""):
		return []watch.Problem{{Field: "password", Text: "username and password go together", Hint: "give both, or neither"}}
	case s.get("password") != "" && s.get("tls") == "none":
		return []watch.Problem{{Field: "tls", Text: "a password is not sent in the clear", Hint: "use starttls or tls"}}
	}
	return nil
}

func hostName(value string) (text, hint string) {
	if _, err := netip.ParseAddr(value); err == nil {
		return "", ""
	}
	if strings.ContainsAny(value, ":/@[]\\ ") {
		return "is not a host name", "write the name alone, without port and scheme"
	}
	return "", ""
}

func portNumber(value string) (text, hint string) {
	if port, err := strconv.ParseUint(value, 10, 16); err != nil || port == 0 {
		return "is not a port", "use a number from 1 to 65535"
	}
	return "", ""
}

func addresses(limit int) func(string) (text, hint string) {
	return func(value string) (string, string) {
		all, err := stdmail.ParseAddressList(value)
		if err != nil {
			return "is not an address of mail", "write it like ann@example.com or Ann <ann@example.com>"
		}
		if len(all) > limit {
			return fmt.Sprintf("has more addresses than %d", limit), ""
		}
		return "", ""
	}
}

func sendEmail(ctx context.Context, d *delivery) (string, error) {
	recipients, err := stdmail.ParseAddressList(d.settings.get("to"))
	if err != nil {
		return "", permanent("setting to is not a list of addresses")
	}
	detail, err := d.deliver(ctx, recipients)
	if e, ok := errors.AsType[*mail.SendError](err); !ok || e.Reason != mail.ErrSMTPRcptTo || e.ErrorCode() < 500 || len(recipients) == 1 {
		return detail, smtpError(err)
	}
	// One recipient is refused, and with it the mail to all. The others get theirs.
	var took, refused []string
	for _, recipient := range recipients {
		if _, err := d.deliver(ctx, []*stdmail.Address{recipient}); err != nil {
			refused = append(refused, recipient.Address+" ("+smtpError(err).Error()+")")
			continue
		}
		took = append(took, recipient.Address)
	}
	if len(took) == 0 {
		return "", permanent("no recipient was accepted: %s", strings.Join(refused, ", "))
	}
	return fmt.Sprintf("accepted for %s; refused: %s", strings.Join(took, ", "), strings.Join(refused, ", ")), nil
}

// deliver sends one mail to all of these recipients, or to none.
func (d *delivery) deliver(ctx context.Context, to []*stdmail.Address) (string, error) {
	letter, err := d.letter(to)
	if err != nil {
		return "", permanent("write the mail: %w", err)
	}
	line := &smtpLine{ctx: ctx, delivery: d}
	defer line.release()
	client, err := mail.NewClient(d.settings.get("host"), line.options()...)
	if err != nil {
		return "", permanent("set up the mail client: %w", err)
	}
	if err := client.DialWithContext(ctx); err != nil {
		return "", err
	}
	defer client.Close()
	// An error after the server took the mail is none: it would be sent twice.
	if err := client.Send(letter); err != nil && !letter.IsDelivered() {
		return "", err
	}
	return "accepted: " + letter.ServerResponse(), nil
}

// letter is the mail. Its Message-ID comes from the key, so that the same notification
// is the same mail; all mails of an incident answer one, which need not exist.
func (d *delivery) letter(to []*stdmail.Address) (*mail.Msg, error) {
	n := d.note()
	from, err := stdmail.ParseAddress(d.settings.get("from"))
	if err != nil {
		return nil, err
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	thread := "<incident." + digest(d.IncidentKey) + "@" + domain + ">"
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	m.FromMailAddress(from)
	m.ToMailAddress(to...)
	m.Subject("[mcpvigil] " + n.Headline)
	m.SetDateWithValue(d.At)
	m.SetMessageIDWithValue("notification." + digest(d.Key) + "@" + domain)
	m.SetGenHeader(mail.HeaderInReplyTo, thread)
	m.SetGenHeader(mail.HeaderReferences, thread)
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetBodyString(mail.TypeTextPlain, n.text())
	return m, nil
}

// smtpLine is the connection of one mail; it ends when its context does.
type smtpLine struct {
	*delivery
	ctx  context.Context
	stop func() bool
}

func (l *smtpLine) release() {
	if l.stop != nil {
		l.stop()
	}
}

func (l *smtpLine) options() []mail.Option {
	port, _ := strconv.Atoi(l.settings.port())
	policy := mail.TLSMandatory
	if l.settings.or("tls", "starttls") != "starttls" {
		policy = mail.NoTLS // or done by dial
	}
	options := []mail.Option{
		mail.WithPort(port),
		mail.WithTLSPolicy(policy),
		mail.WithTLSConfig(l.tlsConfig()),
		mail.WithTimeout(sendTimeout),
		mail.WithDialContextFunc(l.dial),
		mail.WithoutNoop(),
	}
	if user := l.settings.get("username"); user != "" {
		options = append(options, mail.WithUsername(user), mail.WithPassword(l.settings.get("password")),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthPlain, mail.SMTPAuthLogin, mail.SMTPAuthCramMD5))
	}
	return options
}

func (l *smtpLine) tlsConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: l.settings.get("host"), RootCAs: l.sender.options.RootCAs}
}

// dial asks the policy about the address that a name turned out to be.
func (l *smtpLine) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: httpTimeout, ControlContext: func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return err
		}
		return l.policy.Check(at.Addr().Unmap())
	}}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	conn = &bounded{Conn: conn, left: maxTalk}
	l.stop = context.AfterFunc(l.ctx, func() { conn.Close() })
	if l.settings.get("tls") != "tls" {
		return conn, nil
	}
	secure := tls.Client(conn, l.tlsConfig())
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// errTalk ends a mail whose server does not stop talking.
var errTalk = fmt.Errorf("the mail server said more than %d KiB", maxTalk>>10)

// bounded is a connection that gives up to left bytes: the SMTP client keeps a line of
// any length in memory.
type bounded struct {
	net.Conn
	left int
}

// Read reads what is left of the bound at most.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTalk
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// smtpError tells what a server refused for good from what may pass.
func smtpError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*PermanentError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*netguard.AddressError](err); ok {
		return permanent("connect to the mail server: %w", e)
	}
	code, text := 0, err.Error()
	if e, ok := errors.AsType[*textproto.Error](err); ok {
		code = e.Code
	}
	if e, ok := errors.AsType[*mail.SendError](err); ok {
		code = e.ErrorCode()
		// The rest of it names recipients and the message once more.
		text, _, _ = strings.Cut(text, ", affected ")
	}
	if code >= 500 {
		return permanent("%s", text)
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		text = netguard.Classify(err).Text
	}
	return passing("%s", text)
}
