package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// jsonFormat reads bodies strictly, and writes everything that cannot be seen as an
// escape.
func jsonFormat() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			body, err := json.Marshal(v)
			if err != nil {
				return err
			}
			_, err = w.Write(append(plain.JSON(body), '\n'))
			return err
		},
		Unmarshal: func(data []byte, v any) error {
			if err := json.Unmarshal(data, v); err != nil {
				return syntax(err)
			}
			// The library reads a body twice: first for validation, into any.
			if parsed, ok := v.(*any); ok {
				return strict(data, *parsed)
			}
			return nil
		},
	}
}

// syntax says what is wrong with JSON without quoting it.
func syntax(err error) error {
	var s *json.SyntaxError
	if errors.As(err, &s) {
		return fmt.Errorf("it is no JSON (byte %d)", s.Offset)
	}
	return err
}

// strict refuses what a decoder would read as something else than was sent.
func strict(data []byte, parsed any) error {
	_, flaws, err := rawjson.Parse(data)
	switch {
	case err != nil:
		return errors.New("it is nested too deeply")
	case flaws.InvalidUTF8 > 0:
		return errors.New("it is not UTF-8")
	case len(flaws.Duplicates) > 0:
		return fmt.Errorf("two members have the same name, at %s", plain.Line(flaws.Duplicates[0], 100))
	}
	return storable(parsed)
}

// storable refuses texts that a database refuses, and names that only a decoder which
// is lax about case would know.
func storable(v any) error {
	switch v := v.(type) {
	case string:
		if bad(v) {
			return errors.New("a text has the character U+0000")
		}
	case []any:
		for _, e := range v {
			if err := storable(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, e := range v {
			if bad(name) || strings.ContainsFunc(name, func(r rune) bool { return 'A' <= r && r <= 'Z' || r == 'ſ' || r == '\u212a' }) {
				return fmt.Errorf("no member has the name %s", plain.Line(name, 100))
			}
			if err := storable(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// bad reports whether s is no text that can be stored.
func bad(s string) bool { return strings.ContainsRune(s, 0) || !utf8.ValidString(s) }
