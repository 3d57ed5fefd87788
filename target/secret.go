package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Limits of a secret's value and of the command that prints it.
const (
	maxSecret     = 64 << 10
	secretTimeout = 10 * time.Second
)

// Secret refers to a value that must not be shown. It holds where the value
// comes from; the value itself is read by [Secret.Reveal], so that a rotated
// file or variable is seen by the next check. Every way of printing a Secret
// gives "***". The zero Secret is empty.
type Secret struct {
	// A pointer, so that printing a struct which holds a Secret in a field
	// that fmt cannot call methods on shows an address and not the value.
	from *origin
}

type origin struct {
	source secretSource
	ref    string
	argv   []string
}

type secretSource uint8

const (
	sourceLiteral secretSource = iota
	sourceEnv
	sourceFile
	sourceCommand
)

// Literal is a secret that the program already holds. Configuration files
// never make one.
func Literal(value string) Secret { return Secret{&origin{source: sourceLiteral, ref: value}} }

// FromEnv is a secret in an environment variable.
func FromEnv(name string) Secret { return Secret{&origin{source: sourceEnv, ref: name}} }

// FromFile is a secret in a file, such as a mounted Kubernetes secret. One
// line end at its end is not part of the value.
func FromFile(path string) Secret { return Secret{&origin{source: sourceFile, ref: path}} }

// FromCommand is a secret that a program prints on standard output within ten
// seconds. No shell is involved. One line end at its end is not part of it.
func FromCommand(argv ...string) Secret { return Secret{&origin{source: sourceCommand, argv: argv}} }

// FromProgram reports whether a program prints the value: reading it twice may give
// two values.
func (s Secret) FromProgram() bool { return s.from != nil && s.from.source == sourceCommand }

// IsZero reports whether s refers to nothing.
func (s Secret) IsZero() bool { return s.from == nil }

// Variable returns the name of the environment variable that s refers to, or
// "" when it refers to something else.
func (s Secret) Variable() string {
	if s.IsZero() || s.from.source != sourceEnv {
		return ""
	}
	return s.from.ref
}

// Path returns the path of the file that s refers to, or "" when it refers to
// something else.
func (s Secret) Path() string {
	if s.IsZero() || s.from.source != sourceFile {
		return ""
	}
	return s.from.ref
}

// Origin says where the value comes from, without the value.
func (s Secret) Origin() string {
	if s.IsZero() {
		return "nothing"
	}
	switch s.from.source {
	case sourceLiteral:
		return "a literal value"
	case sourceEnv:
		return "environment variable " + s.from.ref
	case sourceFile:
		return "file " + s.from.ref
	default:
		return "command " + s.from.argv[0]
	}
}

// Reveal reads the value. Its errors name the source, never the value. An
// empty value, and one with a control character, is an error.
func (s Secret) Reveal(ctx context.Context) (string, error) {
	value, err := s.read(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.Origin(), err)
	}
	if value == "" {
		return "", fmt.Errorf("%s: is empty or not set", s.Origin())
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }) {
		return "", fmt.Errorf("%s: holds a control character, such as a line end", s.Origin())
	}
	return value, nil
}

// RevealText is Reveal for values that may hold several lines, such as a key in
// PEM form.
func (s Secret) RevealText(ctx context.Context) (string, error) {
	value, err := s.read(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.Origin(), err)
	}
	if strings.TrimSpace(value) == "" {
		return "", fmt.Errorf("%s: is empty or not set", s.Origin())
	}
	return value, nil
}

func (s Secret) read(ctx context.Context) (string, error) {
	if s.IsZero() {
		return "", errors.New("no secret was configured")
	}
	switch s.from.source {
	case sourceLiteral:
		return s.from.ref, nil
	case sourceEnv:
		return os.Getenv(s.from.ref), nil
	case sourceFile:
		return readSecretFile(s.from.ref)
	default:
		return runSecretCommand(ctx, s.from.argv)
	}
}

func readSecretFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", errors.Unwrap(err) // the path is already in the origin
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", errors.New("cannot be read")
	}
	return trimValue(data)
}

func runSecretCommand(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout = &limitedBuffer{Buffer: &out, left: maxSecret + 1}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("not found on PATH")
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) && ctx.Err() == nil {
			return "", fmt.Errorf("ended with %s", exit.ProcessState)
		}
		if ctx.Err() != nil {
			return "", errors.New("did not end in time")
		}
		return "", errors.New("could not be run")
	}
	return trimValue(out.Bytes())
}

func trimValue(data []byte) (string, error) {
	if len(data) > maxSecret {
		return "", fmt.Errorf("is larger than %d bytes", maxSecret)
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	return string(bytes.TrimSuffix(data, []byte("\r"))), nil
}

// limitedBuffer keeps the first bytes and swallows the rest, so that the
// command is not blocked by a full pipe.
type limitedBuffer struct {
	*bytes.Buffer
	left int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	keep := min(len(p), b.left)
	b.Buffer.Write(p[:keep])
	b.left -= keep
	return len(p), nil
}

const masked = "***"

// String returns "***", or nothing for the zero Secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return masked
}

// GoString returns "***", so that %#v does not show the fields.
func (s Secret) GoString() string { return masked }

// MarshalText returns "***": a Secret cannot be stored by accident.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns "***".
func (s Secret) LogValue() slog.Value { return slog.StringValue(masked) }
