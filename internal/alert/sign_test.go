package alert

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

// verify is what a receiver does, from the text of the specification of Standard
// Webhooks: it shares no code with the sender.
func verify(secret string, r received, now time.Time) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	id, sent := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || id == "" {
		return errors.New("webhook-id or webhook-timestamp is missing")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > 5*time.Minute || age < -5*time.Minute {
		return errors.New("too old, or too new")
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id))
	mac.Write([]byte{'.'})
	mac.Write([]byte(sent))
	mac.Write([]byte{'.'})
	mac.Write(r.Body)
	want := mac.Sum(nil)
	for _, one := range strings.Split(r.Header.Get("webhook-signature"), " ") {
		version, given, _ := strings.Cut(one, ",")
		got, err := base64.StdEncoding.DecodeString(given)
		if version == "v1" && err == nil && subtle.ConstantTimeCompare(want, got) == 1 {
			return nil
		}
	}
	return errors.New("no signature fits")
}

func TestSignature(t *testing.T) {
	const second = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazfgQMZNGkA="
	rc := newReceiver(t, nil)
	c := fileChannel("webhook", map[string]string{"url": rc.URL, "secret": signing + ", " + second})
	m := messages()["down"]
	if _, err := newSender(t, Options{}).Send(t.Context(), c, m); err != nil {
		t.Fatal(err)
	}
	r, now := rc.last(t), time.Now()
	if got := r.Header.Get("webhook-id"); got != m.Key || r.Header.Get("Idempotency-Key") != m.Key {
		t.Errorf("webhook-id is %q, Idempotency-Key %q; the key is %q", got, r.Header.Get("Idempotency-Key"), m.Key)
	}
	for _, secret := range []string{signing, second} {
		if err := verify(secret, r, now); err != nil {
			t.Errorf("%v", err)
		}
	}
	if verify("whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32)), r, now) == nil {
		t.Error("it verifies with another secret")
	}
	if verify(signing, r, now.Add(time.Hour)) == nil {
		t.Error("it verifies an hour later")
	}
	for _, change := range []func(*received){
		func(r *received) { r.Body = append(r.Body, ' ') },
		func(r *received) { r.Header.Set("webhook-id", "other") },
		func(r *received) { r.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix()+1, 10)) },
	} {
		altered := received{r.Method, r.Path, r.Header.Clone(), append([]byte(nil), r.Body...)}
		change(&altered)
		if verify(signing, altered, now) == nil {
			t.Errorf("it verifies after a change: %+v", altered)
		}
	}
}

// The vector that the libraries of Standard Webhooks are tested with.
func TestSignatureVector(t *testing.T) {
	got := signature(signing, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestIdentifier(t *testing.T) {
	for _, key := range []string{"a", "7-surface-1/triggered/0.1/ops", strings.Repeat("k", 200)} {
		if got := identifier(key); got != key {
			t.Errorf("%q became %q", key, got)
		}
	}
	seen := map[string]bool{}
	for _, key := range []string{"", "a b", "a\r\nX: y", "größe", strings.Repeat("k", 201), strings.Repeat("k", 202)} {
		got := identifier(key)
		if got == key || !strings.HasPrefix(got, "sha256-") || seen[got] || got != identifier(key) {
			t.Errorf("%q became %q", key, got)
		}
		seen[got] = true
	}
}
