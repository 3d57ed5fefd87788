package netguard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// ProxyError is a failure of a proxy, or of the setting that names it: the
// server behind it was not reached. It holds no credentials.
type ProxyError struct {
	Proxy    string // host:port, "" when the setting holds no usable URL
	Variable string // the environment variable that names the proxy, if known
	Status   int    // of the answer to CONNECT, or 0
	Err      error
}

// Error names the proxy and its variable.
func (e *ProxyError) Error() string {
	name := strings.TrimSpace("proxy " + e.Proxy)
	if e.Variable != "" {
		name += " from " + e.Variable
	}
	if e.Err != nil {
		return name + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s answered CONNECT with %d %s", name, e.Status, http.StatusText(e.Status))
}

func (e *ProxyError) Unwrap() error { return e.Err }

// Timeout makes the answer of an enclosing *url.Error right.
func (e *ProxyError) Timeout() bool { return isTimeout(e.Err) }

var errProxySetting = errors.New("the value is not a proxy URL")

// ProxyFor tells which proxy a request for u would use, and the environment
// variable it is named by. It gives nil and "" when there is none, because none
// is set, the options rule it out, NO_PROXY lists the host, or the host is a loopback one. A nil proxy
// with a variable means that the variable holds no usable URL; requests then
// fail with a *ProxyError.
func ProxyFor(o Options, u *url.URL) (proxy *url.URL, variable string) {
	proxy, variable, _ = newProxies(o).choose(u)
	return proxy, variable
}

// setting is one proxy variable.
type setting struct {
	name, value string
	broken      bool
}

type proxies struct {
	http, https setting
	match       func(*url.URL) (*url.URL, error) // nil: no proxies
}

func newProxies(o Options) proxies {
	if o.NoProxy || o.Policy != nil && !o.Policy.AllowPrivate {
		return proxies{}
	}
	environ := o.Environ
	if environ == nil {
		environ = os.Getenv
	}
	p := proxies{http: readSetting(environ, "HTTP_PROXY"), https: readSetting(environ, "HTTPS_PROXY")}
	except := readSetting(environ, "NO_PROXY")
	config := httpproxy.Config{HTTPProxy: p.http.url(), HTTPSProxy: p.https.url(), NoProxy: except.value}
	p.match = config.ProxyFunc()
	return p
}

func readSetting(environ func(string) string, name string) setting {
	for _, name := range []string{name, strings.ToLower(name)} {
		if value := environ(name); value != "" {
			return setting{name: name, value: value, broken: !usableProxy(value)}
		}
	}
	return setting{}
}

// url gives what httpproxy should see. It would silently ignore a broken value;
// a stand-in makes it still decide whether the setting applies.
func (s setting) url() string {
	if s.broken {
		return "http://broken.invalid"
	}
	return s.value
}

// usableProxy knows the spellings that httpproxy and net/http accept together.
func usableProxy(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" || u.Host == "" {
		u, err = url.Parse("http://" + value)
	}
	if err != nil || u.Hostname() == "" {
		return false
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return true
	}
	return false
}

func (p proxies) choose(u *url.URL) (proxy *url.URL, variable string, err error) {
	if p.match == nil {
		return nil, "", nil
	}
	proxy, err = p.match(u)
	if proxy == nil || err != nil {
		return nil, "", err
	}
	source := p.http
	if u.Scheme == "https" {
		source = p.https
	}
	if source.broken {
		return nil, source.name, &ProxyError{Variable: source.name, Err: errProxySetting}
	}
	return proxy, source.name, nil
}
