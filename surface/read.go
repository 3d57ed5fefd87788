package surface

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// maxFile is the largest file that Read takes.
const maxFile = 64 << 20

// The members of a saved surface beside those of the kinds.
const (
	memberFormat    = "surface"
	memberUnlisted  = "unlisted"
	memberCanonical = "canonicalBase64"

	format = 1
)

// Read reads a saved surface, or any JSON object with any of the members tools,
// prompts, resources, resourceTemplates, instructions and serverInfo, in itself or
// in its member result, up to 64 MiB. An inventory that is null or missing is taken
// for empty. Its errors say what is wrong with the file, and where.
func Read(r []byte) (*Surface, error) {
	if len(r) > maxFile {
		return nil, fmt.Errorf("the surface has %d bytes, the limit is %d", len(r), maxFile)
	}
	file, _, err := rawjson.Parse(r)
	if err != nil {
		return nil, notJSON(r, err)
	}
	if file.Kind() != rawjson.Object {
		return nil, fmt.Errorf("not a surface: it is a JSON %s, want an object", file.Kind())
	}
	content := file
	if !hasSurface(file) {
		content = file.Get("result")
	}
	if !hasSurface(content) {
		return nil, errors.New("not a surface: no tools, prompts, resources, resourceTemplates, instructions or serverInfo in it")
	}
	var b builder
	if err := b.read(content); err != nil {
		return nil, fmt.Errorf("not a surface: %w", err)
	}
	return b.surface(), nil
}

// notJSON says where a file stops being JSON.
func notJSON(file []byte, err error) error {
	var syntax *rawjson.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("the surface cannot be read: %w", err)
	}
	line := 1 + bytes.Count(file[:min(syntax.Offset, len(file))], []byte("\n"))
	return fmt.Errorf("the surface cannot be read: line %d: %w", line, err)
}

// hasSurface reports whether v has a part of a surface.
func hasSurface(v rawjson.Value) bool {
	for name := range v.Members() {
		switch name {
		case "tools", "prompts", "resources", "resourceTemplates", "instructions", "serverInfo":
			return true
		case memberFormat:
			if v.Get(name).Kind() == rawjson.Number {
				return true
			}
		}
	}
	return false
}

func (b *builder) read(content rawjson.Value) error {
	if version := content.Get(memberFormat); version.Kind() == rawjson.Number {
		if n, ok := version.Int(); !ok || n != format {
			return fmt.Errorf("its format is %s, this program reads %d", bytes.Clone(version.Raw()), format)
		}
		b.saved = true
		if err := b.readUnlisted(content.Get(memberUnlisted)); err != nil {
			return err
		}
	}
	b.identity(content)
	b.present(Protocol, content.Get(Protocol.Member()))
	if auth := content.Get(Auth.Member()); auth.Kind() == rawjson.Object {
		b.readAuth(auth)
	}
	for name, v := range content.Members() {
		for _, t := range kinds {
			// Some clients do not tell letter case apart.
			if t.name == "" || !strings.EqualFold(name, t.member) || v.IsNull() || slices.Contains(b.unlisted, t.kind) {
				continue
			}
			if v.Kind() != rawjson.Array {
				return fmt.Errorf("%s is a JSON %s, want an array", t.member, v.Kind())
			}
			for _, entry := range v.Elems() {
				b.add(t.kind, entry)
			}
		}
	}
	return nil
}

func (b *builder) readUnlisted(names rawjson.Value) error {
	listed := func(kind Kind) bool {
		return !slices.ContainsFunc(names.Elems(), func(v rawjson.Value) bool {
			name, _ := v.Text()
			return name == string(kind)
		})
	}
	for _, kind := range Kinds() {
		if kind.IsInventory() && !listed(kind) {
			b.unlisted = append(b.unlisted, kind)
		}
	}
	if len(b.unlisted) != names.Len() {
		return errors.New("unlisted has something else in it than tool, resource, resourceTemplate and prompt")
	}
	return nil
}

// readAuth takes the two documents, or the whole in its other form.
func (b *builder) readAuth(auth rawjson.Value) {
	if definition, ok := b.encoded(auth); ok {
		b.addDefinition(Auth, definition)
		return
	}
	b.auth(&AuthMetadata{Resource: auth.Get("resource").Raw(), Issuer: auth.Get("issuer").Raw()})
}

// encoded decodes a definition that plain JSON text could not hold.
func (b *builder) encoded(v rawjson.Value) ([]byte, bool) {
	if !b.saved || v.Len() != 1 {
		return nil, false
	}
	text, ok := v.Get(memberCanonical).Text()
	if !ok {
		return nil, false
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	inner, _, err := rawjson.Parse(raw)
	if err != nil {
		return nil, false
	}
	return rawjson.Canonical(inner), true
}
