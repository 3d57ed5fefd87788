package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"github.com/mcpvigil/mcpvigil/target"
)

// Limits of a client's file. Claude Code keeps its history in the same file.
const (
	maxClientBytes = 64 << 20
	maxClientDepth = 1000
)

// ErrNoServers is returned for a client's file that lists no MCP servers.
var ErrNoServers = errors.New("lists no MCP servers")

// ClientFile is the part of an MCP client's configuration file that lists
// servers.
type ClientFile struct {
	Client  string // the client's name, such as "Claude Desktop"
	Path    string
	Servers []ClientServer
	// Warnings are about enabled servers: members that are probably misspelt, and
	// programs that are not on this machine.
	Warnings []Warning
}

// ClientServer is one server that a client is configured to use.
type ClientServer struct {
	Name string
	// Project is the directory the entry is limited to, in Claude Code.
	Project string
	// Disabled entries are listed, but the client does not start them.
	Disabled bool
	// Target is never nil. An entry that cannot be used carries a Problem that
	// names the file and the server.
	Target *target.Target
	// written is how the file has what [Import] carries over.
	written written
}

// Enabled returns the servers that are not disabled.
func (f *ClientFile) Enabled() []ClientServer {
	return slices.DeleteFunc(slices.Clone(f.Servers), func(s ClientServer) bool { return s.Disabled })
}

// Targets returns the targets of the servers that are not disabled.
func (f *ClientFile) Targets() []*target.Target {
	var out []*target.Target
	for _, s := range f.Servers {
		if !s.Disabled {
			out = append(out, s.Target)
		}
	}
	return out
}

// ReadClients reads the servers of a client's configuration file: Claude
// Desktop, Claude Code, Cursor, VS Code, Windsurf, Codex, Gemini CLI, Cline and
// Zed. The format is told by the content, the variables that the client would
// replace by the path. Comments and trailing commas are accepted; members that
// are not known are ignored. The error wraps [ErrNoServers] when there are none.
func ReadClients(path string) (*ClientFile, error) { return ReadClientsWith(path, Options{}) }

// ReadClientsWith is [ReadClients] with options; only LookupEnv counts.
func ReadClientsWith(path string, opts Options) (*ClientFile, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxClientBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read client configuration: %w", err)
	}
	if len(data) > maxClientBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxClientBytes>>20)
	}
	if opts.LookupEnv == nil {
		opts.LookupEnv = os.LookupEnv
	}
	return parseClients(path, data, opts)
}

// section is one list of servers in a client's file, in order.
type section struct {
	key     string // the member that holds it
	project string
	names   []string
	entries map[string]any
	places  places
}

// ParseClients is [ReadClientsWith] for a file that somebody sent; name stands for it in
// errors, and tells the client where it is known. Without opts.LookupEnv no variable is
// set: those of this process are none of the sender's.
func ParseClients(name string, data []byte, opts Options) (*ClientFile, error) {
	if len(data) > maxClientBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxClientBytes>>20)
	}
	if opts.LookupEnv == nil {
		opts.LookupEnv = func(string) (string, bool) { return "", false }
	}
	opts.Portable = true // what is on this machine is nothing to warn of
	return parseClients(name, data, opts)
}

func parseClients(path string, data []byte, opts Options) (*ClientFile, error) {
	if deeper(data, maxClientDepth) {
		return nil, fmt.Errorf("%s is nested more than %d deep", path, maxClientDepth)
	}
	var sections []section
	var err error
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if text := bytes.TrimLeft(data, " \t\r\n"); bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("/")) {
		sections, err = jsonSections(path, data)
	} else {
		sections, err = tomlSections(path, data)
	}
	if err != nil {
		return nil, err
	}
	out := &ClientFile{Path: path}
	home, _ := opts.LookupEnv("HOME")
	for _, s := range sections {
		client := clientOf(path, s, home)
		if out.Client == "" {
			out.Client = client.name
		}
		for _, name := range s.names {
			r := &entryReader{path: path, name: name, client: client, lookup: opts.LookupEnv, project: s.project, places: s.places}
			server := r.server(s.entries[name])
			out.Servers = append(out.Servers, server)
			if !server.Disabled && !opts.Portable && len(out.Warnings) < keptErrors {
				out.Warnings = append(out.Warnings, r.warnings()...)
			}
		}
	}
	if len(out.Servers) == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrNoServers)
	}
	return out, nil
}

// jsonReader collects the sections of a client's file in JSON.
type jsonReader struct {
	path     string
	lines    *lineIndex
	sections []section
}

func jsonSections(path string, data []byte) ([]section, error) {
	root, err := hujson.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s is not valid JSON%s", path, jsonPosition(err))
	}
	r := &jsonReader{path: path, lines: indexLines(data)}
	for _, key := range []string{"mcpServers", "mcp.servers", "servers", "context_servers"} {
		if v := memberOf(&root, key); v != nil {
			if err := r.add(key, "", v); err != nil {
				return nil, err
			}
		}
	}
	if v := memberOf(&root, "mcp"); v != nil {
		if v := memberOf(v, "servers"); v != nil {
			if err := r.add("servers", "", v); err != nil {
				return nil, err
			}
		}
	}
	err = eachProject(&root, r.add)
	return r.sections, err
}

func (r *jsonReader) add(key, project string, v *hujson.Value) error {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return fmt.Errorf("%s: %q must be an object with one member a server", r.lines.at(v.StartOffset).in(r.path), key)
	}
	s := section{key: key, project: project, entries: map[string]any{}, places: places{}}
	r.lines.jsonPlaces(s.places, v, 3)
	for i := range obj.Members {
		m := &obj.Members[i]
		name := nameOf(*m)
		plain := m.Value.Clone() // the places are those of the file as it is
		plain.Standardize()
		var entry any
		if err := json.Unmarshal(plain.Pack(), &entry); err != nil {
			return fmt.Errorf("%s: server %s is not valid JSON", r.lines.at(m.Value.StartOffset).in(r.path), quoteKey(name))
		}
		if _, again := s.entries[name]; !again {
			s.names = append(s.names, name)
		}
		s.entries[name] = entry
	}
	r.sections = append(r.sections, s)
	return nil
}

// eachProject adds the servers that Claude Code keeps by project.
func eachProject(root *hujson.Value, add func(key, project string, v *hujson.Value) error) error {
	v := memberOf(root, "projects")
	if v == nil {
		return nil
	}
	projects, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	for i := range projects.Members {
		if v := memberOf(&projects.Members[i].Value, "mcpServers"); v != nil {
			if err := add("mcpServers", nameOf(projects.Members[i]), v); err != nil {
				return err
			}
		}
	}
	return nil
}

func nameOf(m hujson.ObjectMember) string {
	name, _ := m.Name.Value.(hujson.Literal) // the parser takes nothing else
	return name.String()
}

func memberOf(v *hujson.Value, name string) *hujson.Value {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	for i := range obj.Members {
		if nameOf(obj.Members[i]) == name {
			return &obj.Members[i].Value
		}
	}
	return nil
}

// jsonPosition keeps only the line and column of a parser's error, whose text
// may quote the file.
func jsonPosition(err error) string {
	var line, column int
	if _, scan := fmt.Sscanf(err.Error(), "hujson: line %d, column %d", &line, &column); scan == nil {
		return fmt.Sprintf(" at line %d, column %d", line, column)
	}
	return ""
}

// deeper reports whether brackets outside of strings nest deeper than limit.
func deeper(data []byte, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"' || quoted && c == '\n': // a string ends with its line
			quoted = !quoted && c == '"'
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

func tomlSections(path string, data []byte) ([]section, error) {
	var root map[string]any
	if err := toml.Unmarshal(data, &root); err != nil {
		where := ""
		var de *toml.DecodeError
		if errors.As(err, &de) {
			line, column := de.Position()
			where = fmt.Sprintf(" at line %d, column %d", line, column)
		}
		return nil, fmt.Errorf("%s is neither JSON nor valid TOML%s", path, where)
	}
	v, ok := root["mcp_servers"]
	if !ok {
		return nil, nil
	}
	servers, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: mcp_servers must be a table with one entry a server", tomlPlaces(data, "mcp_servers")[""].in(path))
	}
	s := section{key: "mcp_servers", entries: servers, places: tomlPlaces(data, "mcp_servers")}
	for name := range servers {
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	return []section{s}, nil
}

// client is what differs between the programs that read such files.
type client struct {
	name string
	// shell replaces ${NAME} and ${NAME:-default}, bare also $NAME, editor
	// ${env:NAME}, ${input:NAME}, ${workspaceFolder} and ${userHome}.
	shell, bare, editor bool
	// sseURL says that url means HTTP+SSE.
	sseURL bool
	// folder is the directory that the client has open, where it is known.
	folder string
	// base is where relative paths start when there is no folder.
	base string
}

// unknownClient is the name of a client that the file does not give away.
const unknownClient = "MCP client"

// clientOf tells the client by the path and the content of its file.
func clientOf(path string, s section, home string) client {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	dir := filepath.Dir(abs)
	c := clientNamed(filepath.Base(abs), dir, s)
	switch c.base = dir; filepath.Base(dir) {
	case ".vscode", ".cursor", ".gemini", ".codex", ".zed":
		c.base = filepath.Dir(dir)
	}
	if c.folder == home { // the file is the user's, not a project's
		c.folder = ""
	}
	return c
}

func clientNamed(base, dir string, s section) client {
	parent := filepath.Base(dir)
	switch {
	case s.key == "mcp_servers":
		return client{name: "Codex"}
	case s.key == "context_servers":
		return client{name: "Zed"}
	case base == "claude_desktop_config.json":
		return client{name: "Claude Desktop"}
	case base == ".mcp.json":
		return client{name: "Claude Code", shell: true, folder: dir}
	case base == ".claude.json" || s.project != "":
		return client{name: "Claude Code", shell: true, folder: s.project}
	case parent == ".vscode":
		return client{name: "VS Code", editor: true, folder: filepath.Dir(dir)}
	case s.key == "servers" || s.key == "mcp.servers":
		return client{name: "VS Code", editor: true}
	case parent == ".cursor":
		return client{name: "Cursor", editor: true, folder: filepath.Dir(dir)}
	case parent == ".gemini" || hasMember(s, "httpUrl"):
		return client{name: "Gemini CLI", shell: true, bare: true, sseURL: true}
	case parent == "windsurf" || hasMember(s, "serverUrl"):
		return client{name: "Windsurf", editor: true}
	case base == "cline_mcp_settings.json":
		return client{name: "Cline", editor: true}
	}
	return client{name: unknownClient, shell: true, editor: true}
}

func hasMember(s section, name string) bool {
	for _, e := range s.entries {
		if m, ok := e.(map[string]any); ok && m[name] != nil {
			return true
		}
	}
	return false
}
