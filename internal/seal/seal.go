// Package seal encrypts what must not lie readable in a database: values of headers,
// settings of channels.
//
// A [Keyset] holds the key that seals, and older ones that still open (AES-256-GCM). What
// was sealed for one place opens for that place only: the additional data, such as
// "monitors/17/headers", has to be the same. The database then is worth nothing without
// the keyset, and lost with it.
package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// ErrOpen is what Open gives for data that none of the keys opens for that place.
var ErrOpen = errors.New("the encryption key does not open what is stored: it is not the key that sealed it, or the stored data was changed; start with the keyset that the database was made with")

// errEmpty is a keyset that no function of this package made.
var errEmpty = errors.New("there is no encryption key")

// Keyset seals and opens. It is safe for concurrent use. Printed, logged or marshalled, it
// is ***.
type Keyset struct {
	// One pointer: a Keyset within something else that is printed shows an address.
	keys *keys
}

type keys struct {
	mu     sync.RWMutex
	handle *keyset.Handle
	aead   tink.AEAD
}

// Generate makes a keyset with one new key.
func Generate() *Keyset {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		// There is no cause but a missing source of randomness, which crypto/rand
		// itself does not survive.
		panic("seal: make a key: " + err.Error())
	}
	k, err := of(handle)
	if err != nil {
		panic("seal: use a new key: " + err.Error())
	}
	return k
}

func of(handle *keyset.Handle) (*Keyset, error) {
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, err
	}
	return &Keyset{keys: &keys{handle: handle, aead: primitive}}, nil
}

// parse reads the JSON form, which is that of Tink without encryption.
func parse(text []byte) (*Keyset, error) {
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(text)))
	if err != nil {
		// The cause may quote the text.
		return nil, errors.New("this is no Tink keyset in JSON")
	}
	k, err := of(handle)
	if err != nil {
		return nil, errors.New("the keyset is not one for authenticated encryption (AEAD) that works here")
	}
	return k, nil
}

// FromText reads a keyset from what Text gives, base64 with or without padding and line
// breaks.
func FromText(text string) (*Keyset, error) {
	text = strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	if text == "" {
		return nil, errEmpty
	}
	decoded, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("the encryption key is not base64: give the content of the keyset file, as base64 writes it")
	}
	k, err := parse(decoded)
	if err != nil {
		return nil, fmt.Errorf("the encryption key cannot be used: %w", err)
	}
	return k, nil
}

// Text gives the keyset for an environment variable. It is a secret.
func (k *Keyset) Text() (string, error) {
	text, err := k.json()
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(text), nil
}

func (k *Keyset) json() ([]byte, error) {
	if k.empty() {
		return nil, errEmpty
	}
	k.keys.mu.RLock()
	defer k.keys.mu.RUnlock()
	var text bytes.Buffer
	if err := insecurecleartextkeyset.Write(k.keys.handle, keyset.NewJSONWriter(&text)); err != nil {
		return nil, errors.New("the keyset cannot be written as JSON") // the cause may quote it
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}

func (k *Keyset) empty() bool { return k == nil || k.keys == nil }

// Rotate adds a new key, which seals from now on; the older ones still open. The caller
// saves the keyset before it seals anything with it.
func (k *Keyset) Rotate() error {
	if k.empty() {
		return errEmpty
	}
	k.keys.mu.Lock()
	defer k.keys.mu.Unlock()
	manager := keyset.NewManagerFromHandle(k.keys.handle)
	id, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return fmt.Errorf("make a new encryption key: %w", err)
	}
	if err := manager.SetPrimary(id); err != nil {
		return fmt.Errorf("make a new encryption key: %w", err)
	}
	handle, err := manager.Handle()
	if err != nil {
		return fmt.Errorf("make a new encryption key: %w", err)
	}
	rotated, err := of(handle)
	if err != nil {
		return fmt.Errorf("make a new encryption key: %w", err)
	}
	k.keys.handle, k.keys.aead = rotated.keys.handle, rotated.keys.aead
	return nil
}

// Seal encrypts plain for the place that aad names. The same plain sealed twice differs.
func (k *Keyset) Seal(plain []byte, aad string) ([]byte, error) {
	if k.empty() {
		return nil, errEmpty
	}
	k.keys.mu.RLock()
	defer k.keys.mu.RUnlock()
	sealed, err := k.keys.aead.Encrypt(plain, []byte(aad))
	if err != nil {
		return nil, fmt.Errorf("seal %s: %w", aad, err)
	}
	return sealed, nil
}

// Open decrypts what Seal gave for the same aad. Its error wraps ErrOpen.
func (k *Keyset) Open(sealed []byte, aad string) ([]byte, error) {
	if k.empty() {
		return nil, errEmpty
	}
	k.keys.mu.RLock()
	defer k.keys.mu.RUnlock()
	plain, err := k.keys.aead.Decrypt(sealed, []byte(aad))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", aad, ErrOpen) // the cause says no more
	}
	return plain, nil
}

const hidden = "***"

// Format prints *** for every verb.
func (Keyset) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText gives ***.
func (Keyset) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue gives ***.
func (Keyset) LogValue() slog.Value { return slog.StringValue(hidden) }
