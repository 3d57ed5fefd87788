package alert

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// letter is a mail as the server took it.
type letter struct {
	From string
	To   []string
	Data string
	// Login is what AUTH PLAIN said; Secure: over TLS.
	Login  string
	Secure bool
}

// smtpServer is a small SMTP server: EHLO, STARTTLS, AUTH PLAIN, MAIL, RCPT, DATA (with
// dots unstuffed), RSET, NOOP and QUIT.
type smtpServer struct {
	listener net.Listener
	config   *tls.Config
	roots    *x509.CertPool
	// implicit: TLS from the start. noTLS: STARTTLS is not offered.
	implicit, noTLS bool
	// reply answers a line in place of the server; empty: the server does.
	reply func(line string) string

	wg      sync.WaitGroup
	mu      sync.Mutex
	conns   []net.Conn
	letters []letter
	lines   []string
}

func newSMTP(t testing.TB, change func(*smtpServer)) *smtpServer {
	t.Helper()
	s := &smtpServer{}
	s.config, s.roots = certificate(t)
	if change != nil {
		change(s)
	}
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.wg.Go(s.accept)
	t.Cleanup(func() {
		s.listener.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

func certificate(t testing.TB) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, roots
}

func (s *smtpServer) port() string {
	return strconv.Itoa(s.listener.Addr().(*net.TCPAddr).Port)
}

func (s *smtpServer) taken() []letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.letters)
}

func (s *smtpServer) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

func (s *smtpServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		s.wg.Go(func() {
			defer conn.Close()
			if s.implicit {
				conn = tls.Server(conn, s.config)
			}
			(&smtpTalk{smtpServer: s, conn: conn, r: bufio.NewReader(conn), secure: s.implicit}).run()
		})
	}
}

type smtpTalk struct {
	*smtpServer
	conn   net.Conn
	r      *bufio.Reader
	secure bool
	now    letter
}

func (c *smtpTalk) say(lines ...string) { io.WriteString(c.conn, strings.Join(lines, "\r\n")+"\r\n") }

func (c *smtpTalk) run() {
	c.say("220 mail.test ESMTP")
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		c.mu.Lock()
		c.lines = append(c.lines, line)
		c.mu.Unlock()
		if c.reply != nil {
			if said := c.reply(line); said != "" {
				c.say(said)
				continue
			}
		}
		if !c.command(line) {
			return
		}
	}
}

func (c *smtpTalk) command(line string) (more bool) {
	verb, rest, _ := strings.Cut(line, " ")
	switch strings.ToUpper(verb) {
	case "EHLO":
		lines := []string{"250-mail.test", "250-8BITMIME"}
		if !c.secure && !c.noTLS {
			lines = append(lines, "250-STARTTLS")
		}
		c.say(append(lines, "250 AUTH PLAIN")...)
	case "STARTTLS":
		c.say("220 go ahead")
		c.conn = tls.Server(c.conn, c.config)
		c.r, c.secure = bufio.NewReader(c.conn), true
	case "AUTH":
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
		if c.now.Login = string(raw); err != nil || c.now.Login != "\x00vigil\x00s3cr3t-mail" {
			c.say(fmt.Sprintf("535 5.7.8 you are not %q (%s)", c.now.Login, rest))
			return true
		}
		c.say("235 welcome")
	case "MAIL":
		c.now.From = between(rest)
		c.say("250 ok")
	case "RCPT":
		c.now.To = append(c.now.To, between(rest))
		c.say("250 ok")
	case "DATA":
		c.say("354 go on")
		data, err := io.ReadAll(textproto.NewReader(c.r).DotReader())
		if err != nil {
			return false
		}
		c.now.Data, c.now.Secure = string(data), c.secure
		c.mu.Lock()
		c.letters = append(c.letters, c.now)
		c.mu.Unlock()
		c.now = letter{Login: c.now.Login}
		c.say("250-2.0.0 queued", "250 as 0123")
	case "RSET":
		c.now = letter{Login: c.now.Login}
		c.say("250 ok")
	case "QUIT":
		c.say("221 bye")
		return false
	default:
		c.say("502 what?")
	}
	return true
}

func between(s string) string {
	_, s, _ = strings.Cut(s, "<")
	s, _, _ = strings.Cut(s, ">")
	return s
}
