package alert

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func isPermanent(err error) bool {
	_, ok := errors.AsType[*PermanentError](err)
	return ok
}

func isRetry(err error) bool {
	_, ok := errors.AsType[*RetryError](err)
	return ok
}

func sendTo(t *testing.T, s *Sender, url string) (string, error) {
	t.Helper()
	return s.Send(t.Context(), fileChannel("webhook", map[string]string{"url": url}), messages()["down"])
}

func TestStatus(t *testing.T) {
	s := newSender(t, Options{})
	for code, permanent := range map[int]bool{
		301: true, 302: true, 307: true, 308: true,
		400: true, 401: true, 403: true, 404: true, 405: true, 410: true, 413: true, 415: true, 422: true,
		408: false, 409: false, 425: false, 429: false, 500: false, 502: false, 503: false, 504: false, 599: false,
	} {
		rc := newReceiver(t, status(code, "no \x1b[31mway"))
		detail, err := sendTo(t, s, rc.URL)
		if detail != "" || isPermanent(err) != permanent || isRetry(err) == permanent {
			t.Errorf("%d: %q, %v; want permanent %v", code, detail, err, permanent)
			continue
		}
		if text := err.Error(); !strings.Contains(text, fmt.Sprint(code)) || strings.ContainsRune(text, 0x1b) {
			t.Errorf("%d says %q", code, text)
		}
	}
	for _, code := range []int{200, 201, 202, 204} {
		rc := newReceiver(t, status(code, ""))
		if detail, err := sendTo(t, s, rc.URL); err != nil || detail != fmt.Sprintf("answered %d", code) {
			t.Errorf("%d: %q, %v", code, detail, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "-3": 0, "1e300": time.Hour, "NaN": 0, "Inf": time.Hour, "soon": 0,
		"Sat, 14 Mar 2026 09:01:30 GMT": 90 * time.Second, "Sat, 14 Mar 2026 08:00:00 GMT": 0, "Sun, 15 Mar 2026 09:00:00 GMT": time.Hour,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	rc := newReceiver(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("Retry-After", "17")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err := sendTo(t, newSender(t, Options{}), rc.URL)
	if e, ok := errors.AsType[*RetryError](err); !ok || e.After != 17*time.Second {
		t.Errorf("429 gave %v", err)
	}
}

func TestHang(t *testing.T) {
	release := make(chan struct{})
	rc := newReceiver(t, func(http.ResponseWriter, received) { <-release })
	t.Cleanup(func() { close(release) }) // before the receiver is closed
	s := newSender(t, Options{})
	s.file.client.Timeout = 200 * time.Millisecond
	start := time.Now()
	_, err := sendTo(t, s, rc.URL)
	if !isRetry(err) || !strings.Contains(err.Error(), "in time") || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if New(Options{}).file.client.Timeout != 10*time.Second {
		t.Error("the limit of a request is not 10 s")
	}
}

func TestCallerGivesUp(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{}, 1)
	rc := newReceiver(t, func(http.ResponseWriter, received) { arrived <- struct{}{}; <-release })
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := newSender(t, Options{}).Send(ctx, fileChannel("webhook", map[string]string{"url": rc.URL}), messages()["down"])
	if !isRetry(err) {
		t.Errorf("%v", err)
	}
}

func TestHugeAnswer(t *testing.T) {
	for _, code := range []int{200, 500} {
		rc := newReceiver(t, func(w http.ResponseWriter, _ received) {
			w.WriteHeader(code)
			for range 1024 {
				if _, err := w.Write([]byte(strings.Repeat("x", 64<<10))); err != nil {
					return
				}
			}
		})
		detail, err := sendTo(t, newSender(t, Options{}), rc.URL)
		if (err == nil) != (code == 200) || len(detail) > 4*maxDetail || err != nil && len(err.Error()) > 4*maxDetail {
			t.Errorf("%d: %d bytes of detail, %v", code, len(detail), err)
		}
	}
}

// A secret that the limit cuts in two is not recognised; none of it may be shown.
func TestSecretAtTheEndOfTheLimit(t *testing.T) {
	secret := strings.Repeat("0123456789abcdef", 128) // 2 KiB
	redacted := func(s string) string { return strings.ReplaceAll(s, secret, "***") }
	for offset := range 40 {
		body := strings.Repeat(" ", offset*50) + strings.Repeat(secret, 64)
		got, err := readAnswer(strings.NewReader(body), redacted)
		if err != nil || strings.Contains(got, "0123") {
			t.Fatalf("offset %d: %d bytes with a part of the secret, %v", offset, len(got), err)
		}
	}
}

func TestBrokenAnswerOfAnAcceptedMessage(t *testing.T) {
	rc := newReceiver(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(http.StatusOK)
		w.Write([]byte("tru"))
	})
	if _, err := sendTo(t, newSender(t, Options{}), rc.URL); err != nil {
		t.Errorf("an accepted message would be sent again: %v", err)
	}
}

// No redirect is followed, neither to another host nor to the same.
func TestRedirect(t *testing.T) {
	other := newReceiver(t, nil)
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{other.URL + "/taken", "/elsewhere"} {
			rc := newReceiver(t, func(w http.ResponseWriter, _ received) {
				w.Header().Set("Location", to)
				w.WriteHeader(code)
			})
			_, err := sendTo(t, newSender(t, Options{}), rc.URL)
			if !isPermanent(err) || !strings.Contains(err.Error(), "redirect") {
				t.Errorf("%d to %s: %v", code, to, err)
			}
			if n := len(rc.requests()); n != 1 {
				t.Errorf("%d to %s: %d requests", code, to, n)
			}
		}
	}
	if len(other.requests()) != 0 {
		t.Error("another host got the message")
	}
}

func TestTLS(t *testing.T) {
	rc := &receiver{}
	server := httptest.NewTLSServer(rc)
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	_, err := sendTo(t, newSender(t, Options{}), server.URL)
	if !isRetry(err) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an untrusted certificate: %v", err)
	}
	if len(rc.requests()) != 0 {
		t.Error("the untrusted server got the message")
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	if _, err := sendTo(t, newSender(t, Options{RootCAs: roots}), server.URL); err != nil {
		t.Errorf("a trusted one: %v", err)
	}
}

func TestNetworkErrorsNameTheHostAlone(t *testing.T) {
	rc := newReceiver(t, nil)
	url := rc.URL
	rc.Close()
	_, err := sendTo(t, newSender(t, Options{}), url+"/s3cr3t?key=hidden")
	if !isRetry(err) || !strings.Contains(err.Error(), "refused the connection") || strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("%v", err)
	}
}

// Connections are used again, and few are kept.
func TestConnectionsAreBounded(t *testing.T) {
	tr, ok := New(Options{}).file.client.Transport.(*http.Transport)
	if !ok || tr.MaxIdleConns == 0 || tr.MaxIdleConns > 16 || tr.IdleConnTimeout == 0 {
		t.Errorf("transport %+v", tr)
	}
}

func TestUnusableChannels(t *testing.T) {
	s := newSender(t, Options{})
	for name, settings := range map[string]map[string]string{"pigeon": {}, "webhook": {}, "email": {"host": "a:b"}} {
		if _, err := s.Send(t.Context(), fileChannel(name, settings), messages()["down"]); !isPermanent(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
