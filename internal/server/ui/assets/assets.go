// Package assets holds what pages load: one style sheet, a few scripts, and the vendored
// libraries, whose licences are in lib/LICENSES.
//
// The parts of the style sheet, css/*.css, are joined in the order of their names.
// Addresses hold a hash of everything, so that browsers may keep what they loaded.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed css/*.css js/*.js lib/*.js lib/*.css img/*.svg
var files embed.FS

// StyleSheet is the name of the one style sheet.
const StyleSheet = "app.css"

// Files are the assets, ready to be sent.
type Files struct {
	version string
	all     map[string]file
}

type file struct {
	body, packed []byte
	kind         string
}

// Load reads them.
func Load() (*Files, error) {
	f := &Files{all: map[string]file{}}
	sum := sha256.New()
	var style bytes.Buffer
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s\n%d\n", name, len(body))
		_, _ = sum.Write(body)
		if strings.HasPrefix(name, "css/") || path.Ext(name) == ".css" {
			_, _ = style.Write(append(body, '\n'))
			return nil
		}
		return f.add(path.Base(name), body)
	})
	if err == nil {
		err = f.add(StyleSheet, style.Bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("read the assets: %w", err)
	}
	f.version = hex.EncodeToString(sum.Sum(nil))[:16]
	return f, nil
}

func (f *Files) add(name string, body []byte) error {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(body); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	f.all[name] = file{body: body, packed: packed.Bytes(), kind: mime.TypeByExtension(path.Ext(name))}
	return nil
}

// Path is the address of an asset, such as app.css.
func (f *Files) Path(name string) string { return "/assets/" + f.version + "/" + name }

// ServeHTTP answers GET /assets/{version}/{name}.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, ok := f.all[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", one.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if r.PathValue("version") == f.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body := one.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = one.packed
	}
	_, _ = w.Write(body)
}
