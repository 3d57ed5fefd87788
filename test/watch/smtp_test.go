package watch_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"strings"
	"sync"
	"testing"
)

// mailbox is an SMTP server that takes every mail.
type mailbox struct {
	listener net.Listener
	ended    sync.WaitGroup

	mu       sync.Mutex
	subjects []string
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	m := &mailbox{}
	var err error
	if m.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	m.ended.Go(func() {
		for {
			conn, err := m.listener.Accept()
			if err != nil {
				return
			}
			m.ended.Go(func() {
				defer conn.Close()
				if err := m.talk(conn); err != nil {
					t.Errorf("mail: %v", err)
				}
			})
		}
	})
	t.Cleanup(func() {
		m.listener.Close()
		m.ended.Wait()
	})
	return m
}

func (m *mailbox) port() int { return m.listener.Addr().(*net.TCPAddr).Port }

// got are the subjects of what arrived, in order.
func (m *mailbox) got() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.subjects...)
}

func (m *mailbox) talk(conn net.Conn) error {
	r := textproto.NewReader(bufio.NewReader(conn))
	say := func(line string) { fmt.Fprintf(conn, "%s\r\n", line) }
	say("220 mail.test ESMTP")
	for {
		line, err := r.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil // the client is gone
		}
		if err != nil {
			return err
		}
		verb, _, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO", "MAIL", "RCPT", "RSET", "NOOP":
			say("250 mail.test")
		case "DATA":
			say("354 go on")
			letter, err := mail.ReadMessage(r.DotReader())
			if err == nil {
				_, err = io.Copy(io.Discard, letter.Body)
			}
			if err != nil {
				return err
			}
			m.mu.Lock()
			m.subjects = append(m.subjects, letter.Header.Get("Subject"))
			m.mu.Unlock()
			say("250 queued")
		case "QUIT":
			say("221 bye")
			return nil
		default:
			say("502 what?")
		}
	}
}
