// Package config reads what a person wrote down about their servers and turns
// it into targets: mcpvigil.yaml (and agenthealth.yaml v1, of which it is a
// superset) through [Load] and [Parse], and the configuration files of MCP
// clients through [FindClients] and [ReadClients]. [Import] turns the second
// kind into the first.
//
// Two kinds of mistake are kept apart. One in the file itself (an unknown key,
// a wrong type, a cycle) refuses the whole file, with every mistake listed by
// line and column in an [*Errors]. One that only shows on this machine (a
// variable that is not set, an unreadable file) becomes the [target.Problem]
// of the target concerned, so that the others can still be checked.
//
// The Go types in definition.go are the only definition of the format: the
// strict decoder, the JSON Schema ([Schema]) and the tables of
// docs/configuration.md are derived from them. No value of a secret passes
// through this package's errors.
package config

//go:generate go test -run TestSchemaFile|TestReferenceTables -update .

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/target"
)

// Limits of one configuration file.
const (
	MaxBytes   = 4 << 20
	MaxDepth   = 140    // nesting of YAML nodes
	MaxTargets = 10_000 // top-level targets, and entries of the tree they span
	maxChain   = 64     // targets in one chain of dependencies
	maxAliased = 50_000 // YAML nodes reached through aliases
)

// DefaultInterval is how often a monitor checks when nothing says otherwise.
const DefaultInterval = 10 * time.Minute

// DefaultConcurrency is how many targets are checked at a time.
const DefaultConcurrency = 16

// File is a configuration that was read without a mistake.
type File struct {
	// Name is the path it was read from, as it was given.
	Name    string
	Version string
	// Concurrency is how many targets may be checked at a time.
	Concurrency int
	Defaults    Defaults
	// Targets are the top-level targets in the order of the file.
	Targets []*target.Target
	// Monitors has one entry for each of Targets, in the same order.
	Monitors []Monitor
	// Nodes are the targets that have an id, inline dependencies included. A
	// reference to an id leads to the same pointer.
	Nodes map[string]*target.Target
	// Channels, Escalations and Windows are those of a monitor, and Lockfile is the
	// path of what was approved, or empty.
	Channels    []Channel
	Escalations []watch.Escalation
	Windows     []watch.Window
	Lockfile    string
	// Warnings are in the order in which they were found: targets that share a
	// name, escalations that are not defined, and what is not on this machine.
	Warnings []Warning
	lines    []string
	byName   map[string]*target.Target // of the top-level ones, the first of a name
}

// Defaults apply to targets that do not say otherwise.
type Defaults struct {
	// Interval is never zero.
	Interval time.Duration
	// Timeout is zero when the file does not set it.
	Timeout time.Duration
}

// Options change how a file is read. The zero value reads the environment and
// the files of this process.
type Options struct {
	// LookupEnv replaces [os.LookupEnv] for ${NAME} and for the test whether a
	// referenced variable is set.
	LookupEnv func(string) (string, bool)
	// Portable reads the definitions only: no environment and no file is looked
	// at, and ${NAME} stays as it is written. For validating on another machine.
	Portable bool
	// AgentHealth reads the file as agenthealth does: 5 s an attempt by default
	// and no ${NAME} anywhere. [Load] and [Parse] also set it for files that are
	// called agenthealth.yaml or agenthealth.yml.
	AgentHealth bool
}

// Load reads the configuration file at path. Mistakes in the content are an
// [*Errors]; a file that cannot be read is another error, with a hint.
func Load(path string) (*File, error) { return LoadWith(path, Options{}) }

// LoadWith is [Load] with options.
func LoadWith(path string, opts Options) (*File, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, opts)
}

func readBounded(path string) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, explainOpen(path, err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory; give a file, such as %s", path, filepath.Join(path, "mcpvigil.yaml"))
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, explainOpen(path, err)
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB; split it into several files", path, MaxBytes>>20)
	}
	return data, nil
}

var errPipe = errors.New("a pipe or socket, not a file")

// openFile is [os.Open], but that it waits for nobody: see [Pipe].
func openFile(path string) (*os.File, error) {
	if Pipe(path) {
		return nil, errPipe
	}
	return os.Open(path)
}

// Pipe reports whether path names a pipe or a socket, to open which takes
// somebody at the other end and may take for ever. What /dev and /proc name is
// open already, such as /dev/stdin and what a shell makes of <(command).
func Pipe(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return false
	}
	path = filepath.ToSlash(filepath.Clean(path))
	return !strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/proc/")
}

func explainOpen(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist; check the path: %w", path, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be read by this user; change its permissions: %w", path, fs.ErrPermission)
	case errors.Is(err, errPipe):
		return fmt.Errorf("%s is %w; give a file, or /dev/stdin", path, errPipe)
	default:
		return fmt.Errorf("read configuration: %w", err)
	}
}

// Parse reads a configuration from data; name stands for it in errors.
func Parse(name string, data []byte, opts Options) (*File, error) {
	if base := strings.ToLower(filepath.Base(name)); base == "agenthealth.yaml" || base == "agenthealth.yml" {
		opts.AgentHealth = true
	}
	if opts.LookupEnv == nil {
		opts.LookupEnv = os.LookupEnv
	}
	d := &decoder{file: name, lines: strings.Split(string(data), "\n")}
	var conf fileConfig
	if root := d.document(data); root != nil {
		d.decode(root, &conf)
	}
	if len(d.errs) > 0 {
		// What follows would only repeat the mistakes in other words.
		if d.blocked {
			return nil, d.errors()
		}
	}
	b := &builder{decoder: d, opts: opts, nodes: map[string]*node{}}
	file := b.file(&conf)
	if len(d.errs) > 0 {
		return nil, d.errors()
	}
	return file, nil
}
