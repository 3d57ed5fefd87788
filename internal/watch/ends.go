package watch

import (
	"fmt"
	"time"
)

// endsSoon is how long before its end a certificate or a credential is told of.
const endsSoon = 14 * 24 * time.Hour

// seeEnds writes an event when the certificate or the credential ends soon. The tokens
// of a login are renewed by who has them, so that their end is no news.
func (d *decider) seeEnds() {
	d.seeEnd(EventCertificateEnds, "the certificate", d.st.CertificateEnds, &d.st.CertificateSaid)
	if d.m.Definition.AuthMode != AuthLogin {
		d.seeEnd(EventCredentialEnds, "the credential", d.st.CredentialEnds, &d.st.CredentialSaid)
	}
}

// seeEnd says an end once. Another one that is not that much later than the one said is
// of something that is renewed all the time, or of another location, and no news.
func (d *decider) seeEnd(name, what string, ends time.Time, said *time.Time) {
	if ends.IsZero() || ends.Sub(d.now) > endsSoon || !said.IsZero() && ends.Sub(*said) < endsSoon {
		return
	}
	*said = cut(ends)
	verb := "ends"
	if !ends.After(d.now) {
		verb = "ended"
	}
	d.event(Event{
		Name: name, Axis: Availability, Text: fmt.Sprintf("%s %s on %s", what, verb, ends.UTC().Format("2006-01-02 15:04 MST")),
		Data: &Facts{Location: d.o.Location},
	})
}
