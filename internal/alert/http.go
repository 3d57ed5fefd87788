package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
)

const (
	maxAnswer  = 64 << 10
	maxWait    = time.Hour
	jsonMedium = "application/json"
)

// request is one POST.
type request struct {
	url    string
	header http.Header
	body   []byte
}

// postJSON sends v to url and gives what was answered.
func (d *delivery) postJSON(ctx context.Context, url string, header http.Header, v any) (string, error) {
	body, err := encode(v)
	if err != nil {
		return "", permanent("write the message: %w", err)
	}
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", jsonMedium)
	return d.post(ctx, request{url, header, body})
}

// encode is json.Marshal that leaves <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// post sends r once. Its answer is not yet safe to show.
func (d *delivery) post(ctx context.Context, r request) (string, error) {
	ctx, trail := netguard.Follow(ctx, nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(r.body))
	if err != nil {
		return "", permanent("setting url is not a URL that can be called")
	}
	req.Header = r.header
	req.Header.Set("User-Agent", d.sender.options.UserAgent)
	req.Header.Set("Idempotency-Key", identifier(d.Key))
	resp, err := d.client.Do(req)
	if err != nil {
		return "", networkError(trail.Explain(err))
	}
	defer resp.Body.Close()
	answer, err := readAnswer(resp.Body, d.secrets.String)
	if err != nil && resp.StatusCode < http.StatusMultipleChoices {
		// The receiver has the message: it said so before its answer broke off.
		answer = ""
	}
	return judge(resp, answer)
}

// networkError says what happened to a request without naming more than the host.
func networkError(err error) error {
	f := netguard.Classify(err)
	text := f.Text
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	if f.Reason == netguard.ReasonAddressNotAllowed {
		return permanent("%s", text)
	}
	return passing("%s", text)
}

// readAnswer reads at most maxAnswer bytes. A secret that the limit cuts in two could
// not be recognised, so what it may have left of one is dropped.
func readAnswer(body io.Reader, redact func(string) string) (string, error) {
	b, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	answer := redact(string(b))
	if len(b) == maxAnswer {
		answer = answer[:max(0, len(answer)-maxSetting)]
	}
	return strings.TrimSpace(answer), err
}

// judge tells from the status whether the message arrived, and whether another attempt
// could help.
func judge(resp *http.Response, answer string) (string, error) {
	said := fmt.Sprintf("answered %d", resp.StatusCode)
	if answer != "" {
		said += ": " + answer
	}
	switch status := resp.StatusCode; {
	case status >= 200 && status < 300:
		return said, nil
	case status >= 300 && status < 400:
		return "", permanent("%s answered %d, a redirect, which is not followed; set the address that it leads to",
			resp.Request.URL.Host, status)
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusMisdirectedRequest,
		status == http.StatusLocked, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		return "", &RetryError{Err: fmt.Errorf("%s %s", resp.Request.URL.Host, said), After: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	}
	return "", permanent("%s %s", resp.Request.URL.Host, said)
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3).
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		wait = time.Duration(min(max(seconds, 0), maxWait.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxWait)
}
