package store

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// mostUnpacked bounds what a packed value may become.
const mostUnpacked = 256 << 20

// pack makes data smaller.
func pack(data []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is a known one
	_, _ = w.Write(data)                              // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// unpack is the inverse of pack.
func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(r, mostUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if len(data) > mostUnpacked {
		return nil, fmt.Errorf("unpack: more than %d bytes", mostUnpacked)
	}
	return data, nil
}
