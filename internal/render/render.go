// Package render writes reports for people and for programs: the human layout
// of mcp-healthcheck, JSON, YAML, JUnit XML and the Prometheus text format; the
// long explanation of doctor; the inventories of inspect; and what changed in a
// surface and was found in it, as SARIF and Markdown, too.
//
// Whatever a server said passes through internal/plain here, once, whether or
// not it already did on its way into the report, because this is the last place
// before a terminal. Every function writes its whole output with one Write and
// returns that Write's error; a report is never changed.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/probe"
)

// Format is a way of writing reports.
type Format string

// The formats.
const (
	Human      Format = "human"
	JSON       Format = "json"
	YAML       Format = "yaml"
	JUnit      Format = "junit"
	Prometheus Format = "prometheus"
	SARIF      Format = "sarif"
	Markdown   Format = "markdown"
	// SavedSurface is what [surface.Surface.Save] writes.
	SavedSurface Format = "surface"
)

// Formats returns every format of a report, without aliases.
func Formats() []Format { return []Format{Human, JSON, YAML, JUnit, Prometheus} }

// DriftFormats returns every format of a verification, without aliases.
func DriftFormats() []Format { return []Format{Human, JSON, JUnit, SARIF, Markdown} }

// ParseFormat accepts the name of any format, and text and terminal for [Human].
func ParseFormat(name string) (Format, error) {
	switch f := Format(strings.ToLower(name)); f {
	case Human, JSON, YAML, JUnit, Prometheus, SARIF, Markdown, SavedSurface:
		return f, nil
	case "text", "terminal":
		return Human, nil
	}
	return "", fmt.Errorf("%q is not a format (human, json, yaml, junit, prometheus, sarif, markdown or surface)", name)
}

// Options change how reports are written. The zero value is the plain default.
type Options struct {
	// Program and Version make the title of human output. Empty: mcpvigil, no version.
	Program, Version string
	// Colour allows ANSI colours in human output. The caller knows whether a
	// terminal is there to show them.
	Colour bool
	// Verbose adds details, stages, certificate, server and hints of notes to
	// human output.
	Verbose bool
	// Sources says for doctor where each report's target was found, such as the
	// file of a client. It is as long as the reports, or nil.
	Sources []string
}

func (o Options) source(i int) string {
	if i >= len(o.Sources) {
		return ""
	}
	return o.Sources[i]
}

// Bounds on what is shown of one text, in runes.
const (
	maxLine = 1000
	maxName = 120
	maxCurl = 16 << 10
)

// line makes one text fit for one line of output.
func line(s string) string { return plain.Line(s, maxLine) }

// name makes an identifier fit for a column.
func name(s string) string { return plain.Line(s, maxName) }

// Reports writes reports in the given format. One report is written as itself;
// several, and none, as a list.
func Reports(w io.Writer, format Format, reports []*probe.Report, o Options) error {
	var out []byte
	var err error
	switch format {
	case Human, "":
		out = human(reports, o)
	case JSON:
		out, err = jsonReports(reports)
	case YAML:
		out, err = yamlReports(reports)
	case JUnit:
		out, err = junit(reports)
	case Prometheus:
		out = prometheus(reports)
	default:
		err = fmt.Errorf("%q is not a format", format)
	}
	if err != nil {
		return fmt.Errorf("write report as %s: %w", format, err)
	}
	_, err = w.Write(out)
	return err
}

// batch is the document for several reports.
type batch struct {
	Version int             `json:"version"`
	Reports []*probe.Report `json:"reports"`
}

func jsonReports(reports []*probe.Report) ([]byte, error) {
	var v any = batch{Version: 1, Reports: reports}
	if len(reports) == 1 {
		v = reports[0]
	}
	return indentJSON(v)
}

// indentJSON marshals v for people to read, safe for a terminal.
func indentJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return plain.JSON(b.Bytes()), nil
}
