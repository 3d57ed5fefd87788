package alert

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

func genericChannel(base string) map[string]string {
	return map[string]string{"url": "generic+" + base + "/s3cr3t-path?@X-Key=s3cr3t-key"}
}

func TestShoutrrr(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	rc := newReceiver(t, nil)
	s := newSender(t, Options{})
	m := messages()["changed"]
	detail, err := s.Send(t.Context(), fileChannel("shoutrrr", genericChannel(rc.URL)), m)
	if err != nil || detail != "generic took the message" {
		t.Fatalf("%q, %v", detail, err)
	}
	n := m.note()
	if r := rc.last(t); string(r.Body) != n.text() || r.Path != "/s3cr3t-path" || r.Header.Get("X-Key") != "s3cr3t-key" {
		t.Errorf("got %+v", r)
	}
	rc = newReceiver(t, status(500, "s3cr3t-path is broken"))
	if _, err := s.Send(t.Context(), fileChannel("shoutrrr", genericChannel(rc.URL)), m); !isRetry(err) || strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%v", err)
	}
	if _, err := s.Send(t.Context(), fileChannel("shoutrrr", map[string]string{"url": "telegram://wrong@telegram"}), m); !isRetry(err) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a URL that the service refuses: %v", err)
	}
}

// A service that hangs costs a slot until it ends, and no more than the slots.
func TestShoutrrrHang(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	release, arrived := make(chan struct{}), make(chan struct{}, shoutrrrSlots)
	rc := newReceiver(t, func(http.ResponseWriter, received) { arrived <- struct{}{}; <-release })
	s := newSender(t, Options{})
	c := fileChannel("shoutrrr", genericChannel(rc.URL))
	short := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := s.Send(ctx, c, messages()["down"])
		return err
	}
	for range shoutrrrSlots {
		if err := short(); !isRetry(err) || !strings.Contains(err.Error(), "in time") {
			t.Fatalf("%v", err)
		}
		<-arrived
	}
	if err := short(); !isRetry(err) || !strings.Contains(err.Error(), "still being sent") {
		t.Errorf("%v", err)
	}
	if n := len(rc.requests()); n != shoutrrrSlots {
		t.Errorf("%d sends at a time", n)
	}
	close(release)
	for range shoutrrrSlots { // all slots are free again when the sends are over
		s.slots <- struct{}{}
	}
}
