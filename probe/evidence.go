package probe

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/target"
)

// certificateWarning is how many days before its end a certificate is noted.
const certificateWarning = 14

// firstStages are the stages of the first exchange, or the start of a stdio
// server.
func (r *run) firstStages() *Stages {
	if r.t.Kind() == target.Stdio {
		if r.session == nil || r.session.Spawn() == 0 {
			return nil
		}
		d := MillisOf(r.session.Spawn())
		return &Stages{Spawn: &d}
	}
	x := r.log.Exchanges()
	if len(x) == 0 || x[0].Stages == nil {
		return nil
	}
	return stagesOf(*x[0].Stages)
}

func stagesOf(s wire.Stages) *Stages {
	ms := func(d time.Duration) *Millis {
		if d < 0 {
			return nil
		}
		m := MillisOf(d)
		return &m
	}
	return &Stages{DNS: ms(s.DNS), TCP: ms(s.TCP), TLS: ms(s.TLS), FirstByte: ms(s.FirstByte)}
}

// connectTime is the time until the connection stood; for stdio, until the
// server sent its first message.
func (r *run) connectTime() time.Duration {
	if r.t.Kind() == target.Stdio && r.session != nil {
		return r.session.Spawn()
	}
	var sum time.Duration
	if x := r.log.Exchanges(); len(x) > 0 && x[0].Stages != nil && x[0].Stages.TCP >= 0 {
		for _, d := range []time.Duration{x[0].Stages.DNS, x[0].Stages.TCP, x[0].Stages.TLS} {
			sum += max(0, d)
		}
	}
	return sum
}

// connected reports whether any request reached a server.
func (r *run) connected() bool {
	return slices.ContainsFunc(r.log.Exchanges(), func(x wire.Exchange) bool { return x.Status != 0 || x.Stages != nil && x.Stages.TCP >= 0 })
}

// firstResponse is the time from the start of the first exchange to the first
// byte of its answer; for stdio from the start of the process to its first
// message.
func (r *run) firstResponse() (time.Duration, bool) {
	if r.t.Kind() == target.Stdio {
		if r.session == nil {
			return 0, false
		}
		return r.session.Spawn(), true
	}
	x := r.log.Exchanges()
	if len(x) == 0 || x[0].Stages == nil || x[0].Stages.FirstByte < 0 {
		return 0, false
	}
	return r.connectTime() + x[0].Stages.FirstByte, true
}

// takeEvidence moves what was exchanged into the report.
func (r *run) takeEvidence() {
	for _, x := range r.log.Exchanges() {
		e := Exchange{
			Step: stepOf(x), Method: x.Method, HTTPMethod: x.HTTPMethod, URL: plain.Line(r.redact.String(x.URL), 400),
			Status: x.Status, ContentType: x.ContentType, Duration: x.Duration, Bytes: x.Bytes,
		}
		if x.Stages != nil {
			e.Stages = stagesOf(*x.Stages)
		}
		if x.Err != nil {
			e.Err = plain.Line(r.redact.String(x.Err.Error()), 400)
		}
		if x.HTTPMethod != "" {
			e.Curl = func() string { return plain.Line(r.redact.String(curl(x)), 4000) }
		}
		r.report.Evidence = append(r.report.Evidence, e)
		r.takeCertificate(x)
	}
}

// stepOf names the step an exchange belongs to. The opening as a whole decides
// connect, authentication and initialize; its messages are listed as the last.
func stepOf(x wire.Exchange) string {
	switch x.Method {
	case "server/discover", "initialize", "notifications/initialized":
		return StepInitialize
	}
	return x.Step
}

func (r *run) takeCertificate(x wire.Exchange) {
	c := x.Certificate
	if c == nil || r.report.Certificate != nil {
		return
	}
	out := &Certificate{Subject: r.safe(c.Subject.String()), Issuer: r.safe(c.Issuer.String()), NotAfter: c.NotAfter.UTC()}
	out.DaysLeft = int(time.Until(c.NotAfter).Hours() / 24)
	for _, name := range c.DNSNames[:min(len(c.DNSNames), 20)] {
		out.Names = append(out.Names, r.safe(name))
	}
	for _, ip := range c.IPAddresses[:min(len(c.IPAddresses), 20)] {
		out.Names = append(out.Names, ip.String())
	}
	r.report.Certificate = out
	if out.DaysLeft < certificateWarning {
		r.log.Note(string(reasonCertificateExpiring), fmt.Sprintf("the certificate ends in %d days, on %s", out.DaysLeft, out.NotAfter.Format(time.DateOnly)), "")
	}
}

// curl writes a shell line that repeats an exchange. Headers that hold a
// credential refer to variables, and the values of a query are left out.
func curl(x wire.Exchange) string {
	var b strings.Builder
	b.Grow(512 + len(x.Body))
	b.WriteString("curl -sS -i")
	if x.HTTPMethod != "POST" {
		b.WriteString(" -X " + x.HTTPMethod)
	}
	names := make([]string, 0, len(x.Header))
	for name := range x.Header {
		if name != "Accept-Encoding" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		for _, value := range x.Header[name] {
			b.WriteString(" -H ")
			shellQuote(&b, name, ": ", value)
		}
	}
	for _, name := range x.SecretHeaders {
		b.WriteString(" -H ")
		shellQuote(&b, name, ": ") // a header's name may hold what a shell acts on
		b.WriteString(`"$` + variableFor(name) + `"`)
	}
	if len(x.Body) > 0 {
		b.WriteString(" --data-raw ")
		shellQuote(&b, string(x.Body))
	}
	b.WriteString(" ")
	shellQuote(&b, x.URL)
	return b.String()
}

// shellQuote writes parts as one word of a POSIX shell.
func shellQuote(b *strings.Builder, parts ...string) {
	b.WriteByte('\'')
	for _, part := range parts {
		b.WriteString(strings.ReplaceAll(part, "'", `'\''`))
	}
	b.WriteByte('\'')
}

// variableFor turns a header name into the name of a variable to fill in.
func variableFor(header string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(header))
	if name == "" || name[0] <= '9' {
		name = "_" + name
	}
	return name
}
