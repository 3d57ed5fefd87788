package alert

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const shoutrrrTimeout = 20 * time.Second

// errService stands for the library's own error, which quotes the URL.
var errService = errors.New("its URL is not what the service needs, or the service refused the login")

func shoutrrrKind() kind {
	return kind{
		Type: Type{
			Name:      "shoutrrr",
			Doc:       "Other services (Telegram, Matrix, Gotify, Pushover, …) through the library shoutrrr. It does not follow the policy on addresses, so only an administrator may use it.",
			AdminOnly: true,
			Fields: []Field{
				{Name: "url", Doc: "The URL of the service, in the form of shoutrrr.", Example: "telegram://TOKEN@telegram?chats=@channel", Required: true, Secret: true, check: shoutrrrURL},
			},
		},
		place: func(s settings) string { return shoutrrrService(s.get("url")) },
		send:  sendShoutrrr,
	}
}

// shoutrrrService is the service of a URL; the rest of it can be secret.
func shoutrrrService(raw string) string {
	scheme, _, ok := strings.Cut(raw, "://")
	if !ok {
		return ""
	}
	service, _, _ := strings.Cut(strings.ToLower(scheme), "+")
	if !slices.Contains((&router.ServiceRouter{}).ListServices(), service) || service == "logger" {
		return ""
	}
	return service
}

func shoutrrrURL(value string) (text, hint string) {
	if _, err := url.Parse(value); err != nil || shoutrrrService(value) == "" {
		services := slices.DeleteFunc((&router.ServiceRouter{}).ListServices(), func(s string) bool { return s == "logger" })
		slices.Sort(services)
		return "is not a URL of a service that is known", "it starts with one of " + strings.Join(services, ", ") + " and ://"
	}
	return "", ""
}

// sendShoutrrr waits for the library at most shoutrrrTimeout. A send that is not over by
// then cannot be ended: it keeps one of a few slots until it is.
func sendShoutrrr(ctx context.Context, d *delivery) (string, error) {
	service, raw := shoutrrrService(d.settings.get("url")), d.settings.get("url")
	ctx, cancel := context.WithTimeout(ctx, shoutrrrTimeout)
	defer cancel()
	select {
	case d.sender.slots <- struct{}{}:
	case <-ctx.Done():
		return "", passing("%s: earlier messages are still being sent", service)
	}
	n, done := d.note(), make(chan error, 1)
	go func() {
		defer func() { <-d.sender.slots }()
		done <- shoutrrr(raw, n.text())
	}()
	select {
	case <-ctx.Done():
		return "", passing("%s did not take the message in time", service)
	case err := <-done:
		if err != nil {
			d.knowAll(raw)
			return "", passing("%s did not take the message: %s", service, plain.Line(d.secrets.String(innermost(err)), maxTitle))
		}
	}
	return service + " took the message", nil
}

// shoutrrr calls the library, which is trusted neither to return nor not to panic.
func shoutrrr(raw, text string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the library failed")
		}
	}()
	services, err := router.New(nil)
	if err != nil {
		return err
	}
	service, err := services.Locate(raw)
	if err != nil {
		return errService
	}
	return service.Send(text, &types.Params{})
}

// knowAll makes every part of the URL a secret, its host too: which part of it is one
// depends on the service.
func (d *delivery) knowAll(raw string) {
	u, err := url.Parse(raw)
	if err != nil {
		return
	}
	d.secrets.Add(u.Hostname())
	for segment := range strings.SplitSeq(u.Path, "/") {
		d.secrets.Add(segment)
	}
	for _, values := range u.Query() {
		for _, value := range values {
			d.secrets.Add(value)
			for _, part := range list(value) {
				d.secrets.Add(part)
			}
		}
	}
	if _, opaque, ok := strings.Cut(raw, "://"); ok {
		d.secrets.Add(opaque)
	}
}

// innermost is what the deepest error says: those around it name the request.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return fmt.Sprint(err)
		}
		err = next
	}
}
