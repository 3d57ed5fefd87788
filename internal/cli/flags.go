package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
)

// flagGroup is a heading of a help text.
type flagGroup string

const (
	groupTransport  flagGroup = "Transport (one of them, or an argument)"
	groupConnection flagGroup = "Connection"
	groupCheck      flagGroup = "Check"
	groupDrift      flagGroup = "Approval"
	groupServe      flagGroup = "Monitor"
	groupKeep       flagGroup = "History"
	groupSignIn     flagGroup = "Signing in"
	groupOutput     flagGroup = "Output"
	groupOther      flagGroup = "Other"
)

func flagGroups() []flagGroup {
	return []flagGroup{groupTransport, groupConnection, groupCheck, groupDrift, groupServe, groupSignIn, groupKeep, groupOutput, groupOther}
}

const groupKey = "group"

func groupOf(f *pflag.Flag) flagGroup {
	if g := f.Annotations[groupKey]; len(g) > 0 {
		return flagGroup(g[0])
	}
	return groupOther
}

// grouped runs add and puts the flags that it defines under a heading.
func grouped(fs *pflag.FlagSet, group flagGroup, add func()) {
	known := flagNames(fs)
	add()
	fs.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(known, f.Name) && f.Annotations[groupKey] == nil {
			f.Annotations = map[string][]string{groupKey: {string(group)}}
		}
	})
}

// given is what a command line and the environment say.
type given struct {
	flags *pflag.FlagSet
	// fromEnv has the variable that filled a flag, by the flag's name.
	fromEnv map[string]string
	// notes are variables that were passed over, for people to read.
	notes []string
	// strict refuses what would only be a note.
	strict bool
	// dash is the number of arguments before "--", or -1.
	dash int
	// command is what was called, such as "mcpvigil verify".
	command string
}

// byFlag reports whether the flag stood on the command line.
func (g *given) byFlag(name string) bool {
	f := g.flags.Lookup(name)
	return f != nil && f.Changed && g.fromEnv[name] == ""
}

// has reports whether the flag was set at all.
func (g *given) has(name string) bool {
	f := g.flags.Lookup(name)
	return f != nil && f.Changed
}

// fill sets every flag that is not on the command line from the environment:
// --min-tools from MCPVIGIL_MIN_TOOLS and so on. An empty variable is as good as
// none. Lists are separated by line ends or commas.
func (g *given) fill(prefixes []string, lookup func(string) (string, bool)) error {
	var err error
	g.flags.VisitAll(func(f *pflag.Flag) {
		if err != nil || f.Changed || f.Name == "help" || f.Name == "version" {
			return
		}
		for _, prefix := range prefixes {
			name := prefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			if value, _ := lookup(name); value != "" {
				err = g.set(f, name, value)
				return
			}
		}
	})
	return err
}

func (g *given) set(f *pflag.Flag, variable, value string) error {
	values := []string{value}
	switch f.Value.Type() {
	case typeList, typeEffect, typeFinding, typeNetwork:
		values = splitList(value, func(string) bool { return true })
	case typeMask, typeIdentity, typeAlso, typeGroupRole: // which may hold commas
		values = strings.Split(strings.TrimSpace(value), "\n")
	case typeHeaders:
		values = splitList(value, func(s string) bool { return headLen(s, ":") > 0 })
	case typeAssignments:
		values = splitList(value, func(s string) bool { return headLen(s, "=") > 0 })
	case "bool":
		values = []string{truthValue(value)}
	}
	for _, v := range values {
		if err := f.Value.Set(v); err != nil {
			if e := (formatError{}); errors.As(err, &e) && e.known && !g.strict {
				// It is there for other commands, and must not break this one.
				g.notes = append(g.notes, fmt.Sprintf("%s is passed over: this command has no format %s, only %s", variable, plain.Line(v, maxShown), e.allowed))
				return nil
			}
			if mayHoldSecret(f) {
				v = ""
			}
			return usageErrorf(fmt.Sprintf("%s: %s", variable, flagText(f, err)), v)
		}
	}
	f.Changed = true
	g.fromEnv[f.Name] = variable
	return nil
}

// mayHoldSecret reports whether the flag's value must not be repeated.
func mayHoldSecret(f *pflag.Flag) bool {
	switch f.Value.Type() {
	case typeHeaders, typeAssignments, typeVariable, typeSecretFile:
		return true
	}
	return false
}

// flagText says why a flag refuses a value, in our words.
func flagText(f *pflag.Flag, err error) string {
	if f.Value.Type() == "bool" {
		return "neither true nor false"
	}
	return err.Error()
}

// splitList takes value apart at line ends if it has any, else at commas. A piece
// that starts no item belongs to the one before: a header's value may hold commas.
func splitList(value string, starts func(string) bool) []string {
	separator := ","
	if strings.Contains(strings.TrimSpace(value), "\n") {
		separator = "\n"
	}
	var items []string
	for piece := range strings.SplitSeq(value, separator) {
		trimmed := strings.TrimSpace(piece)
		if separator == "," && len(items) > 0 && !starts(trimmed) {
			items[len(items)-1] += separator + piece
		} else if trimmed != "" {
			items = append(items, trimmed)
		}
	}
	return items
}

// headLen is the length of what stands before mark, if that looks like a name.
func headLen(s, mark string) int {
	head, _, found := strings.Cut(s, mark)
	if !found || strings.ContainsAny(head, " \t\"/") {
		return 0
	}
	return len(head)
}

func truthValue(s string) string {
	switch strings.ToLower(s) {
	case "yes", "on":
		return "true"
	case "no", "off":
		return "false"
	}
	return s
}

// The types of flag values, as help texts show them.
const (
	typeList        = "name"
	typeHeaders     = "key:value"
	typeAssignments = "key=value"
	typeVariable    = "variable"
	typeSecretFile  = "secret file"
	typeFormat      = "format"
	typeSize        = "bytes"
	typePolicy      = "policy"
	typeEffect      = "CLASS=EFFECT"
	typeMask        = "mask"
	typeIdentity    = "identity"
	typeFinding     = "id"
	typeAlso        = "FORMAT=FILE"
	typeNetwork     = "network"
	typePeriod      = "time"
	typeGroupRole   = "GROUP=ROLE"
	typeRole        = "role"
)

// list is a flag that may be repeated. It refuses what check refuses.
type list struct {
	values *[]string
	kind   string
	check  func(string) error
}

func (l list) Type() string { return l.kind }
func (l list) String() string {
	if l.values == nil {
		return ""
	}
	return strings.Join(*l.values, ",")
}

func (l list) Set(s string) error {
	if l.check != nil {
		if err := l.check(s); err != nil {
			return err
		}
	}
	*l.values = append(*l.values, s)
	return nil
}

// span is a flag for a time: milliseconds as a plain number, or "1.5s".
type span struct{ d *time.Duration }

func (s span) Type() string { return "ms" }
func (s span) String() string {
	if s.d == nil || *s.d == 0 {
		return ""
	}
	return s.d.String()
}

func (s span) Set(v string) error {
	d, err := time.ParseDuration(v)
	if n, numeric := strconv.ParseFloat(v, 64); numeric == nil {
		d, err = time.Duration(n*float64(time.Millisecond)), nil
	}
	if err != nil || d <= 0 || d > 24*time.Hour {
		return fmt.Errorf("not a time; write milliseconds such as 5000, or 5s")
	}
	*s.d = d
	return nil
}

// quantity is a flag for a count that may be left out.
type quantity struct{ n **int }

func (q quantity) Type() string { return "n" }
func (q quantity) String() string {
	if q.n == nil || *q.n == nil {
		return ""
	}
	return strconv.Itoa(**q.n)
}

func (q quantity) Set(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return fmt.Errorf("not a whole number of zero or more")
	}
	*q.n = &n
	return nil
}

// count is a flag for a bound on how many are read, of which zero is none.
type count struct {
	n    *int
	most int
}

func (c count) Type() string { return "n" }
func (c count) String() string {
	if c.n == nil || *c.n == 0 {
		return ""
	}
	return strconv.Itoa(*c.n)
}

func (c count) Set(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > c.most {
		return fmt.Errorf("not a whole number from 1 to %d", c.most)
	}
	*c.n = n
	return nil
}

// size is a flag for a number of bytes, plain or such as 8MiB.
type size struct{ n *int64 }

// maxSize is the largest size. What is read is held in memory.
const maxSize = 1 << 30

func (s size) Type() string { return typeSize }
func (s size) String() string {
	if s.n == nil || *s.n == 0 {
		return ""
	}
	return strconv.FormatInt(*s.n, 10)
}

func (s size) Set(v string) error {
	digits := strings.TrimRight(v, "BKMGikb")
	unit, known := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9}[v[len(digits):]]
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || !known || n < 1 || n > maxSize/unit {
		return errors.New("not a number of bytes up to 1GiB; write 8388608, or 8MiB")
	}
	*s.n = n * unit
	return nil
}

// checked is a flag for one text, which check accepts.
type checked struct {
	s     *string
	kind  string
	check func(string) error
}

func (c checked) Type() string { return c.kind }
func (c checked) String() string {
	if c.s == nil {
		return ""
	}
	return *c.s
}

func (c checked) Set(v string) error {
	if err := c.check(v); err != nil {
		return err
	}
	*c.s = v
	return nil
}

var errSecretOnCommandLine = errors.New("a secret itself has no place on a command line, where every process can read it")

// isVariable refuses what cannot be the name of an environment variable, and
// what may be the secret that such a variable should hold.
func isVariable(s string) error {
	if config.LooksSecret(s) {
		return fmt.Errorf("not the name of an environment variable; %w", errSecretOnCommandLine)
	}
	if !config.ValidVariable(s) {
		return errors.New("not the name of an environment variable")
	}
	return nil
}

// isSecretFile refuses what looks like a secret and not like the path to one.
func isSecretFile(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("no path was given")
	}
	if config.Pipe(s) {
		return errors.New("a pipe, not a file")
	}
	if _, err := os.Stat(s); err != nil && config.LooksSecret(s) {
		return fmt.Errorf("no such file; %w", errSecretOnCommandLine)
	}
	return nil
}

// isReference is a pair whose value refers to a secret.
func isReference(check func(string) error) func(string) error {
	return func(s string) error {
		_, value, err := pair(s, "=")
		if err != nil {
			return err
		}
		return check(strings.TrimSpace(value))
	}
}

// formatValue is the --format flag.
type formatValue struct {
	format  *render.Format
	allowed []render.Format
}

func (f formatValue) Type() string { return typeFormat }
func (f formatValue) String() string {
	if f.format == nil {
		return ""
	}
	return string(*f.format)
}

func (f formatValue) Set(v string) error {
	format, err := render.ParseFormat(v)
	if err != nil || !slices.Contains(f.allowed, format) {
		return formatError{joinFormats(f.allowed), err == nil}
	}
	*f.format = format
	return nil
}

// formatError refuses a format that a command does not have.
type formatError struct {
	allowed string
	known   bool // by other commands
}

func (e formatError) Error() string { return "not one of " + e.allowed }

func joinFormats(formats []render.Format) string {
	var names []string
	for _, f := range formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// oneOf is a check for a list with a fixed choice.
func oneOf(choice ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(choice, s) {
			return fmt.Errorf("not one of %s", strings.Join(choice, ", "))
		}
		return nil
	}
}

// pair cuts "name<mark>value" and trims the name.
func pair(s, mark string) (name, value string, err error) {
	name, value, found := strings.Cut(s, mark)
	name = strings.TrimSpace(name)
	if !found || name == "" {
		return "", "", fmt.Errorf("not of the form NAME%sVALUE", mark)
	}
	return name, value, nil
}

func isPair(mark string) func(string) error {
	return func(s string) error {
		_, _, err := pair(s, mark)
		return err
	}
}

// shown makes a list of names fit for a message.
func shown(names []string) string { return plain.Line(strings.Join(names, ", "), maxShown) }

// masked hides what looks like a secret in part of a command line, which is one
// URL, however ill-formed, or words.
func masked(part string) string {
	if at := schemeStart.FindStringIndex(part); at != nil && strings.TrimSpace(part[:at[0]]) == "" {
		return strings.Join(config.ShowArgs(strings.Split(maskedURL(part), " ")), " ")
	}
	return strings.Join(maskedArgs(strings.Split(part, " ")), " ")
}

// maskedArgs is [config.ShowArgs] for a message about a command line, where a
// user name has as little to do as a password.
func maskedArgs(args []string) []string {
	out := slices.Clone(config.ShowArgs(args))
	for i := range out {
		out[i] = maskedURL(out[i])
	}
	return out
}

var (
	schemeStart = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)
	// Of what is no URL, userinfo may be all that stands before the last @.
	brokenUserinfo = regexp.MustCompile(`(?s)://.*@`)
	brokenQuery    = regexp.MustCompile(`(?s)([?&][^=&]*=)[^&#]*`)
)

// maskedURL hides userinfo and the values of the query in text that ends in a
// URL, also in one that is too broken to be parsed. Other text stays.
func maskedURL(s string) string {
	at := schemeStart.FindStringIndex(s)
	if at == nil {
		return s
	}
	before, raw := s[:at[0]], s[at[0]:]
	if _, err := url.Parse(raw); err == nil {
		return before + weburl.RedactText(raw)
	}
	return before + brokenQuery.ReplaceAllString(brokenUserinfo.ReplaceAllString(raw, "://***@"), "$1***")
}
