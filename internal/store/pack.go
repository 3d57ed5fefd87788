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
func (s *Store) pack(data []byte) []byte {
	var out bytes.Buffer
	w, ok := s.packers.Get().(*gzip.Writer) // to make one takes longer than most data
	if !ok {
		w, _ = gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is a known one
	}
	defer s.packers.Put(w)
	w.Reset(&out)
	_, _ = w.Write(data) // a buffer takes everything
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
