package netguard

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The values of Detail["sub"] of a tls-untrusted failure.
const (
	SubSelfSigned          = "self-signed"          // the certificate is its own issuer
	SubMissingIntermediate = "missing-intermediate" // the chain stops before a trusted root
	SubExpired             = "expired"
	SubNotYetValid         = "not-yet-valid"
	SubNameMismatch        = "name-mismatch"     // valid, for other names
	SubUnknownAuthority    = "unknown-authority" // a chain to a root that is not trusted here
	SubInvalid             = "invalid"           // forbidden use, broken constraint, weak signature
)

const maxCertificateNames = 8

// certificateFailure is about certificates that failed verification. All texts
// in them are the server's; Classify makes them safe.
func certificateFailure(err error, where string) (Failure, bool) {
	var chain []*x509.Certificate
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		chain = e.UnverifiedCertificates
	}
	f := Failure{Reason: ReasonTLSUntrusted, Detail: map[string]string{"chain": strconv.Itoa(len(chain))}}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		describeInvalid(&f, where, invalid)
	} else if mismatch, ok := errors.AsType[x509.HostnameError](err); ok {
		names := certificateNames(mismatch.Certificate)
		f.Detail["sub"], f.Detail["sni"], f.Detail["names"] = SubNameMismatch, mismatch.Host, names
		f.Text = fmt.Sprintf("the certificate of %s is not for %s but for %s", where, mismatch.Host, names)
		f.Hint = "use a name that the certificate has, or have it issued for this one"
	} else if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		describeUnknown(&f, where, chain, unknown.Cert)
	} else if roots, ok := errors.AsType[x509.SystemRootsError](err); ok {
		f.Detail["sub"], f.Local = SubUnknownAuthority, true
		f.Text = fmt.Sprintf("no trusted root certificates are installed here to verify %s with: %v", where, roots)
		f.Hint = "install the system's CA certificates, or give a CA file"
	} else if len(chain) > 0 {
		f.Detail["sub"] = SubInvalid
		f.Text = fmt.Sprintf("the certificate of %s is not valid: %v", where, innermost(err))
	} else {
		return Failure{}, false
	}
	return f, true
}

func describeInvalid(f *Failure, where string, e x509.CertificateInvalidError) {
	subject := name(e.Cert.Subject)
	f.Detail["issuer"] = name(e.Cert.Issuer)
	switch {
	case e.Reason != x509.Expired:
		f.Detail["sub"] = SubInvalid
		f.Text = fmt.Sprintf("the certificate %s of %s is not valid: %v", subject, where, e)
	case time.Now().Before(e.Cert.NotBefore):
		f.Detail["sub"] = SubNotYetValid
		f.Text = fmt.Sprintf("the certificate %s of %s is valid only from %s", subject, where, e.Cert.NotBefore.UTC().Format(time.RFC3339))
		f.Hint = "check the clock of this machine and the date of issue"
	default:
		f.Detail["sub"] = SubExpired
		f.Text = fmt.Sprintf("the certificate %s of %s expired at %s", subject, where, e.Cert.NotAfter.UTC().Format(time.RFC3339))
		f.Hint = "renew the certificate"
	}
}

// describeUnknown tells apart why no trusted root was found. A server that sends
// its leaf alone most likely forgot the intermediate; so does one whose chain has
// a gap. A whole chain that ends at an unknown root, or just below one, comes
// from an authority that is not trusted here.
func describeUnknown(f *Failure, where string, chain []*x509.Certificate, cert *x509.Certificate) {
	if len(chain) == 0 && cert != nil {
		chain = []*x509.Certificate{cert}
	}
	if len(chain) == 0 {
		f.Detail["sub"], f.Text = SubUnknownAuthority, "the certificate of "+where+" is signed by an unknown authority"
		return
	}
	end := chainEnd(chain)
	issuer := name(end.Issuer)
	f.Detail["issuer"] = issuer
	length := counted(len(chain), "certificate")
	switch {
	case selfSigned(chain[0]):
		f.Detail["sub"] = SubSelfSigned
		f.Text = fmt.Sprintf("the certificate %s of %s is self-signed", name(chain[0].Subject), where)
		f.Hint = "use a certificate of a trusted authority, or trust this one with a CA file"
	case end == chain[0]:
		f.Detail["sub"] = SubMissingIntermediate
		f.Text = fmt.Sprintf("%s sent a chain of %s, without that of its issuer %s, which is not a trusted root", where, length, issuer)
		f.Hint = "configure the server to send the full chain; if the issuer is a private authority, give its CA file"
	default:
		f.Detail["sub"] = SubUnknownAuthority
		f.Text = fmt.Sprintf("%s sent a chain of %s that ends at %s, which is not trusted here", where, length, issuer)
		f.Hint = "give the CA file of the authority if you trust it"
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// chainEnd follows issuers from the leaf through what the server sent.
func chainEnd(chain []*x509.Certificate) *x509.Certificate {
	end := chain[0]
	for range chain {
		next := issuerOf(end, chain)
		if next == nil || next == end {
			break
		}
		end = next
	}
	return end
}

func issuerOf(cert *x509.Certificate, chain []*x509.Certificate) *x509.Certificate {
	if bytes.Equal(cert.RawIssuer, cert.RawSubject) {
		return nil
	}
	for _, candidate := range chain {
		if bytes.Equal(candidate.RawSubject, cert.RawIssuer) {
			return candidate
		}
	}
	return nil
}

func selfSigned(cert *x509.Certificate) bool {
	return bytes.Equal(cert.RawIssuer, cert.RawSubject) &&
		cert.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature) == nil
}

// name is the shortest name a reader will recognise.
func name(n pkix.Name) string {
	if n.CommonName != "" {
		return strconv.Quote(n.CommonName)
	}
	return strconv.Quote(n.String())
}

func certificateNames(cert *x509.Certificate) string {
	names := append([]string(nil), cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no host name at all"
	}
	if more := len(names) - maxCertificateNames; more > 0 {
		names = append(names[:maxCertificateNames], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// handshakeFailure is about TLS that never came up, or was ended by an alert.
func handshakeFailure(err error, where string) (Failure, bool) {
	record, notTLS := errors.AsType[tls.RecordHeaderError](err)
	if errors.Is(err, http.ErrSchemeMismatch) || notTLS && string(record.RecordHeader[:]) == "HTTP/" {
		return Failure{
			Reason: ReasonTLSHandshake,
			Text:   where + " speaks plain http, not TLS",
			Hint:   "use http:// for this endpoint, or turn TLS on at the server",
		}, true
	}
	if notTLS {
		return Failure{Reason: ReasonTLSHandshake, Text: where + " does not speak TLS: " + record.Msg}, true
	}
	alert, ok := strings.CutPrefix(innermost(err).Error(), "tls: ")
	if e, is := errors.AsType[*HandshakeError](err); is && e.Unidentified && !isTimeout(err) {
		return Failure{
			Reason: ReasonTLSHandshake,
			Text:   where + " asked for a client certificate and closed the connection when it got none",
			Hint:   "configure a client certificate that the server trusts",
			Detail: map[string]string{"alert": "certificate required"},
		}, true
	}
	if !ok {
		return Failure{}, false
	}
	f := Failure{Reason: ReasonTLSHandshake, Detail: map[string]string{"alert": alert}}
	f.Text = fmt.Sprintf("the TLS handshake with %s failed: %s", where, alert)
	if op, isOp := errors.AsType[*net.OpError](err); isOp && op.Op == "remote error" {
		f.Text = fmt.Sprintf("%s ended the TLS handshake: %s", where, alert)
	}
	switch {
	case strings.Contains(alert, "certificate required"), strings.Contains(alert, "bad certificate"), strings.Contains(alert, "unknown certificate"):
		f.Hint = "the server asks for a client certificate that it trusts"
	case strings.Contains(alert, "protocol version"):
		f.Hint = "the server must offer TLS 1.2 or later"
	case strings.Contains(alert, "unrecognized name"):
		f.Hint = "the server has no certificate for this host name"
	}
	return f, true
}
