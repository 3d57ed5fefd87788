package alert

import (
	"bytes"
	"context"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	stdmail "net/mail"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func mailSettings(s *smtpServer, more ...string) map[string]string {
	settings := map[string]string{
		"host": "127.0.0.1", "port": s.port(), "username": "vigil", "password": "s3cr3t-mail",
		"from": "mcpvigil <watch@example.com>", "to": "Ann <ann@example.com>, ops@example.com",
	}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return settings
}

func parsed(t *testing.T, l letter) (stdmail.Header, string) {
	t.Helper()
	m, err := stdmail.ReadMessage(strings.NewReader(l.Data))
	if err != nil {
		t.Fatalf("%v in\n%s", err, l.Data)
	}
	if got := m.Header.Get("Content-Transfer-Encoding"); got != "quoted-printable" {
		t.Fatalf("encoding %q", got)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	return m.Header, strings.ReplaceAll(string(body), "\r\n", "\n")
}

func subject(t *testing.T, h stdmail.Header) string {
	t.Helper()
	s, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEmail(t *testing.T) {
	for _, tls := range []string{"starttls", "tls", "none"} {
		t.Run(tls, func(t *testing.T) {
			server := newSMTP(t, func(s *smtpServer) { s.implicit = tls == "tls" })
			settings := mailSettings(server, "tls", tls)
			if tls == "none" {
				delete(settings, "username")
				delete(settings, "password")
			}
			m := messages()["down"]
			m.Incident.Text = strings.Repeat(".", 300) + " größer"
			detail, err := newSender(t, Options{RootCAs: server.roots}).Send(t.Context(), fileChannel("email", settings), m)
			if err != nil || !strings.Contains(detail, "queued") {
				t.Fatalf("%q, %v", detail, err)
			}
			got := server.taken()
			if len(got) != 1 {
				t.Fatalf("%d mails", len(got))
			}
			l := got[0]
			if l.From != "watch@example.com" || !slices.Equal(l.To, []string{"ann@example.com", "ops@example.com"}) ||
				l.Secure != (tls != "none") || tls != "none" && l.Login != "\x00vigil\x00s3cr3t-mail" {
				t.Errorf("envelope %+v", l)
			}
			header, body := parsed(t, l)
			n := m.note()
			if strings.TrimSpace(body) != strings.TrimSpace(n.text()) {
				t.Errorf("body:\n%s\nwant:\n%s", body, n.text())
			}
			if got := subject(t, header); got != "[mcpvigil] DOWN: search is down" {
				t.Errorf("subject %q", got)
			}
			if !strings.HasPrefix(header.Get("Content-Type"), "text/plain") || header.Get("Auto-Submitted") != "auto-generated" {
				t.Errorf("header %v", header)
			}
		})
	}
}

// The mails of one incident form a thread; the same notification is the same mail.
func TestEmailThread(t *testing.T) {
	server := newSMTP(t, nil)
	s := newSender(t, Options{RootCAs: server.roots})
	for _, name := range []string{"down", "down", "acknowledged", "resolved", "changed"} {
		if _, err := s.Send(t.Context(), fileChannel("email", mailSettings(server)), messages()[name]); err != nil {
			t.Fatal(err)
		}
	}
	var ids, threads []string
	for _, l := range server.taken() {
		h, _ := parsed(t, l)
		ids, threads = append(ids, h.Get("Message-ID")), append(threads, h.Get("References"))
		if h.Get("References") != h.Get("In-Reply-To") || !strings.HasSuffix(h.Get("Message-ID"), "@example.com>") {
			t.Errorf("header %v", h)
		}
	}
	if ids[0] != ids[1] || ids[1] == ids[2] || ids[2] == ids[3] || ids[3] == ids[4] {
		t.Errorf("ids %v", ids)
	}
	if threads[0] != threads[2] || threads[2] != threads[3] || threads[3] == threads[4] {
		t.Errorf("threads %v", threads)
	}
}

func TestEmailFailures(t *testing.T) {
	on := func(prefix, answer string) func(*smtpServer) {
		return func(s *smtpServer) {
			s.reply = func(line string) string {
				if strings.HasPrefix(line, prefix) {
					return answer
				}
				return ""
			}
		}
	}
	for _, c := range []struct {
		name      string
		server    func(*smtpServer)
		settings  []string
		permanent bool
		text      string
	}{
		{"wrong password", nil, []string{"password", "wrong-s3cr3t"}, true, "535"},
		{"auth for now", on("AUTH", "454 4.7.0 later"), nil, false, "454"},
		{"sender refused", on("MAIL", "550 5.7.1 who are you"), nil, true, "550"},
		{"greylisted", on("RCPT", "451 4.7.1 come back"), nil, false, "451"},
		{"all recipients refused", on("RCPT", "550 5.1.1 nobody"), nil, true, "no recipient was accepted"},
		{"content refused", on("DATA", "554 5.7.1 spam"), nil, true, "554"},
		{"full", on("DATA", "452 4.3.1 disk full"), nil, false, "452"},
		{"no STARTTLS", func(s *smtpServer) { s.noTLS = true }, nil, false, "STARTTLS"},
		{"TLS to a plain port", nil, []string{"tls", "tls"}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := newSMTP(t, c.server)
			_, err := newSender(t, Options{RootCAs: server.roots}).Send(t.Context(), fileChannel("email", mailSettings(server, c.settings...)), messages()["down"])
			if err == nil || isPermanent(err) != c.permanent || isRetry(err) == c.permanent || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("%v; want permanent %v and %q", err, c.permanent, c.text)
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the password is in %q", err)
			}
			if len(server.taken()) != 0 {
				t.Error("the mail was taken")
			}
		})
	}
}

// Without TLS nothing is said to the server that matters.
func TestEmailUntrusted(t *testing.T) {
	server := newSMTP(t, nil)
	_, err := newSender(t, Options{}).Send(t.Context(), fileChannel("email", mailSettings(server)), messages()["down"])
	if !isRetry(err) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an untrusted certificate: %v", err)
	}
	for _, line := range server.heard() {
		if strings.HasPrefix(line, "AUTH") || strings.HasPrefix(line, "MAIL") {
			t.Errorf("the server heard %q", line)
		}
	}
}

// One bad address does not keep a mail from the others.
func TestEmailOneRecipientRefused(t *testing.T) {
	server := newSMTP(t, func(s *smtpServer) {
		s.reply = func(line string) string {
			if strings.HasPrefix(line, "RCPT") && strings.Contains(line, "ann@") {
				return "550 5.1.1 left the company"
			}
			return ""
		}
	})
	detail, err := newSender(t, Options{RootCAs: server.roots}).Send(t.Context(), fileChannel("email", mailSettings(server)), messages()["down"])
	if err != nil || !strings.Contains(detail, "accepted for ops@example.com; refused: ann@example.com") {
		t.Errorf("%q, %v", detail, err)
	}
	if got := server.taken(); len(got) != 1 || !slices.Equal(got[0].To, []string{"ops@example.com"}) {
		t.Errorf("mails %+v", got)
	}
}

// A server that took the mail and then fails must not get it again.
func TestEmailErrorAfterDelivery(t *testing.T) {
	server := newSMTP(t, func(s *smtpServer) {
		s.reply = func(line string) string {
			if line == "RSET" || line == "QUIT" {
				return "421 4.3.0 going down"
			}
			return ""
		}
	})
	if _, err := newSender(t, Options{RootCAs: server.roots}).Send(t.Context(), fileChannel("email", mailSettings(server)), messages()["down"]); err != nil {
		t.Errorf("%v", err)
	}
	if n := len(server.taken()); n != 1 {
		t.Errorf("%d mails", n)
	}
}

func TestEmailHang(t *testing.T) {
	release := make(chan struct{})
	server := newSMTP(t, func(s *smtpServer) {
		s.reply = func(line string) string {
			if strings.HasPrefix(line, "MAIL") {
				<-release
			}
			return ""
		}
	})
	t.Cleanup(func() { close(release) }) // before the server is closed
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := newSender(t, Options{RootCAs: server.roots}).Send(ctx, fileChannel("email", mailSettings(server)), messages()["down"])
	if !isRetry(err) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func TestEmailPolicy(t *testing.T) {
	server := newSMTP(t, nil)
	c := fileChannel("email", mailSettings(server))
	c.Source = watch.FromAPI
	_, err := newSender(t, Options{RootCAs: server.roots}).Send(t.Context(), c, messages()["down"])
	if !isPermanent(err) || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("a channel that the API owns reached loopback: %v", err)
	}
	c.Settings["host"] = "localhost"
	if _, err := newSender(t, Options{RootCAs: server.roots}).Send(t.Context(), c, messages()["down"]); !isPermanent(err) {
		t.Errorf("by name: %v", err)
	}
	if len(server.heard()) != 0 {
		t.Error("the server was spoken to")
	}
}

// TestEmailEndlessLine: a server that does not end its line is not kept in memory.
func TestEmailEndlessLine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wrote atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		chunk := bytes.Repeat([]byte("220-"), 16<<10)
		for wrote.Load() < 256<<20 {
			n, err := conn.Write(chunk)
			wrote.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	c := fileChannel("email", map[string]string{"host": "127.0.0.1", "port": port, "tls": "none", "from": "a@example.com", "to": "b@example.com"})
	_, err = newSender(t, Options{}).Send(t.Context(), c, messages()["down"])
	if !isRetry(err) || !strings.Contains(err.Error(), "said more than 1024 KiB") {
		t.Errorf("%v", err)
	}
	listener.Close()
	wg.Wait()
	if n := wrote.Load(); n > 64<<20 {
		t.Errorf("the server was listened to for %d bytes", n)
	}
}
