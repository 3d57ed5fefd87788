package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const (
	lockPoll = 25 * time.Millisecond
	lockWait = 30 * time.Second // longer than any holder takes
	// reserved is the room on disk that is taken before a token is asked for, so
	// that a full disk is found out while the old refresh token is still good.
	reserved = 8 << 10
)

// saved is the content of a token file: one client's tokens for one resource of
// one issuer. Its names on disk are those of agenthealth, and two more.
type saved struct {
	access, refresh            string
	expires                    time.Time
	issuer, resource, clientID string
	scopes                     []string // granted
	requested                  []string // requested_scope
	seed                       string   // refresh_token_sha256: of the configured token that the chain began with
}

// Format prints *** whatever the verb.
func (s saved) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// token is the saved access token.
func (s *saved) token() Token {
	return Token{value: Hide(s.access), Expires: s.expires, Scopes: s.scopes, Audience: readJWT(s.access).audience}
}

// parseSaved reads a token file. Its error is a clause about the file and quotes
// nothing of it.
func parseSaved(data []byte) (*saved, error) {
	m, err := parseObject(data)
	if err != nil {
		return nil, err
	}
	s := &saved{
		access: m.text("access_token"), refresh: m.text("refresh_token"),
		issuer: m.text("issuer"), resource: m.text("resource"), clientID: m.text("client_id"),
		scopes: splitScopes(m.text("scope")), requested: splitScopes(m.text("requested_scope")),
		seed: m.text("refresh_token_sha256"),
	}
	if at := m.object.Get("expires_at"); at.Exists() && !at.IsNull() {
		if s.expires, err = parseTime(at.Lexeme(), at.Raw()); err != nil {
			return nil, errors.New("has an expires_at that is no time")
		}
	}
	switch {
	case len(m.wrong) > 0:
		return nil, fmt.Errorf("has a %s that is no string", plain.Line(m.wrong[0], maxShow))
	case s.access == "" && s.refresh == "":
		return nil, errors.New("holds no token")
	case s.access != "" && !isBearerToken(s.access), !isVisible(s.refresh):
		return nil, errors.New("holds a token with characters that none can have")
	case s.issuer == "" || s.resource == "" || s.clientID == "":
		return nil, errors.New("does not say for which issuer, resource and client_id it is")
	}
	return s, nil
}

// parseTime reads RFC 3339 text or a number of seconds since 1970.
func parseTime(number string, raw []byte) (time.Time, error) {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 0 && n < 1<<40 {
		return time.Unix(n, 0).UTC(), nil
	}
	var t time.Time
	err := json.Unmarshal(raw, &t)
	return t.UTC(), err
}

func (s *saved) encode() ([]byte, error) {
	data, err := json.MarshalIndent(struct {
		Access    string    `json:"access_token,omitempty"`
		Refresh   string    `json:"refresh_token,omitempty"`
		Expires   time.Time `json:"expires_at"`
		Issuer    string    `json:"issuer"`
		Resource  string    `json:"resource"`
		ClientID  string    `json:"client_id"`
		Scope     string    `json:"scope,omitempty"`
		Requested string    `json:"requested_scope,omitempty"`
		Seed      string    `json:"refresh_token_sha256,omitempty"`
	}{
		s.access, s.refresh, s.expires.UTC().Truncate(time.Second), s.issuer, s.resource, s.clientID,
		joinScopes(s.scopes), joinScopes(s.requested), s.seed,
	}, "", "  ")
	if err == nil && len(data) >= maxDocument {
		return nil, fmt.Errorf("would be larger than %d KiB", maxDocument>>10)
	}
	return append(data, '\n'), err
}

// covers reports whether every scope was granted, or asked for and answered:
// servers leave some, such as offline_access, out of what they say they granted.
func (s *saved) covers(scopes []string) bool {
	for _, scope := range scopes {
		if !slices.Contains(s.scopes, scope) && !slices.Contains(s.requested, scope) {
			return false
		}
	}
	return true
}

// unsafeError is why a file or directory is not fit to hold tokens.
type unsafeError string

func (e unsafeError) Error() string { return string(e) }

// tokenFile is a token file by its path. Beside it lie, under the same name, a
// lock (.lock), which stays, and the next content (.new), which a killed process
// can leave behind and the next writer removes.
type tokenFile struct {
	path string
	hint string // how to get a good one
}

func (f tokenFile) name() string { return filepath.Base(f.path) }

func (f tokenFile) fail(err error) *Error {
	text := "cannot be used"
	e := &Error{Reason: ReasonTokenFile, Hint: f.hint, Err: err}
	if bad, ok := errors.AsType[unsafeError](err); ok {
		text = bad.Error()
	} else if path, ok := errors.AsType[*fs.PathError](err); ok {
		text = "cannot be used: " + path.Err.Error()
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) {
		e.Unknown, e.Hint = true, "make room, or let the directory be written; the file itself is in order"
	}
	e.Text = fmt.Sprintf("token file %s %s", plain.Line(f.path, maxShow), plain.Line(text, maxShow))
	return e
}

// failBeside is fail for a file that lies beside the token file.
func (f tokenFile) failBeside(suffix string, err error) *Error {
	e := tokenFile{path: f.path + suffix, hint: "remove it; it belongs to the token file beside it, which stays"}.fail(err)
	e.Text = strings.TrimPrefix(e.Text, "token ")
	return e
}

// load reads the file. It is nil without an error when there is none.
func (f tokenFile) load() (*saved, *Error) {
	d, err := openDirectory(filepath.Dir(f.path), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, f.fail(err)
	}
	defer d.close()
	return f.loadFrom(d)
}

// replaceable reports why a login must not replace what stands at the path: a
// link, and a file that holds anything but tokens. A token file that others could
// read is replaced, which mends it.
func (f tokenFile) replaceable() *Error {
	info, err := os.Lstat(f.path)
	switch {
	case err != nil:
		return nil // it is not there, or hold will say why not
	case !info.Mode().IsRegular():
		return f.fail(unsafeError("is not a regular file"))
	case info.Size() == 0:
		return nil
	}
	file, err := os.Open(f.path)
	if err != nil {
		return f.fail(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxDocument+1))
	if err != nil {
		return f.fail(err)
	}
	if _, err := parseSaved(data); err != nil || len(data) > maxDocument {
		return f.fail(unsafeError("holds something else than tokens, which a login would destroy"))
	}
	return nil
}

func (f tokenFile) loadFrom(d *directory) (*saved, *Error) {
	file, err := d.read(f.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, f.fail(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxDocument+1))
	if err != nil {
		return nil, f.fail(err)
	}
	if len(data) > maxDocument {
		return nil, f.fail(unsafeError(fmt.Sprintf("is larger than %d KiB", maxDocument>>10)))
	}
	s, err := parseSaved(data)
	if err != nil {
		return nil, f.fail(unsafeError(err.Error()))
	}
	return s, nil
}

// held is a token file that this process alone may replace.
type held struct {
	tokenFile
	dir  *directory
	lock *os.File
	next *os.File // reserved room, or nil
}

// hold takes the lock of the file, and makes its directory if there is none. It
// waits for other holders, in this process and others, until ctx ends.
func (f tokenFile) hold(ctx context.Context) (*held, *Error) {
	d, err := openDirectory(filepath.Dir(f.path), true)
	if err != nil {
		return nil, f.fail(err)
	}
	lock, err := d.lockFile(f.name() + ".lock")
	if err != nil {
		d.close()
		return nil, f.failBeside(".lock", err)
	}
	h := &held{tokenFile: f, dir: d, lock: lock}
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		got, err := tryLock(lock)
		if got {
			return h, nil
		}
		if err != nil {
			h.release()
			return nil, f.fail(err)
		}
		select {
		case <-waiting.Done():
			h.release()
			if ctx.Err() != nil {
				return nil, aborted(ctx)
			}
			return nil, &Error{
				Reason: ReasonTokenFile, Unknown: true, Err: waiting.Err(),
				Text: "token file " + plain.Line(f.path, maxShow) + " is being renewed by another process",
				Hint: "try again; if nothing else runs, look for a process that hangs",
			}
		case <-time.After(lockPoll):
		}
	}
}

func (h *held) load() (*saved, *Error) { return h.loadFrom(h.dir) }

// reserve makes sure that save can succeed.
func (h *held) reserve() *Error {
	name := h.name() + ".new"
	if err := h.dir.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h.failBeside(".new", err)
	}
	next, err := h.dir.create(name)
	if err != nil {
		return h.failBeside(".new", err)
	}
	h.next = next
	if _, err := next.Write(make([]byte, reserved)); err != nil {
		return h.failBeside(".new", err)
	}
	if err := next.Sync(); err != nil {
		return h.failBeside(".new", err)
	}
	return nil
}

// save replaces the content at once: a reader, and whoever comes after a crash,
// sees the old one or the new one.
func (h *held) save(s *saved) *Error {
	data, err := s.encode()
	if err != nil {
		return h.fail(unsafeError(err.Error()))
	}
	if h.next == nil {
		if problem := h.reserve(); problem != nil {
			return problem
		}
	}
	if _, err := h.next.WriteAt(data, 0); err != nil {
		return h.fail(err)
	}
	if err := h.next.Truncate(int64(len(data))); err != nil {
		return h.fail(err)
	}
	if err := h.next.Sync(); err != nil {
		return h.fail(err)
	}
	err = h.next.Close()
	h.next = nil
	if err == nil {
		err = h.dir.rename(h.name()+".new", h.name())
	}
	if err != nil {
		return h.fail(err)
	}
	return nil
}

// release gives the lock back and drops what was not saved.
func (h *held) release() {
	if h.next != nil {
		_ = h.next.Close()                  // it is thrown away
		_ = h.dir.remove(h.name() + ".new") // the next writer removes it too
	}
	_ = h.lock.Close() // and the lock goes with it
	h.dir.close()
}
