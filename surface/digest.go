package surface

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// digestDomain comes before what is hashed, with a purpose and a zero byte, so that
// no digest of one purpose or version is ever one of another.
const digestDomain = "mcpvigil/surface/1/"

// digests are those of a definition. v is the same, parsed.
func (s *splitter) digests(kind Kind, v rawjson.Value, definition []byte) Digests {
	s.split(kind, v)
	return Digests{
		Raw:         s.digest("raw", definition),
		Text:        s.digest("text", s.text),
		Shape:       s.digest("shape", s.shape),
		Annotations: s.digest("annotations", s.annotations),
		Meta:        s.digest("meta", s.meta),
	}
}

func (s *splitter) digest(purpose string, form []byte) Digest {
	s.buf = append(s.buf[:0], digestDomain...)
	s.buf = append(s.buf, purpose...)
	s.buf = append(s.buf, 0)
	s.buf = append(s.buf, form...)
	return sha256.Sum256(s.buf)
}

// rootDigest covers the items, and that inventories are missing.
func rootDigest(s *Surface) Digest {
	var form []byte
	field := func(b string) {
		form = binary.AppendUvarint(form, uint64(len(b)))
		form = append(form, b...)
	}
	for _, kind := range s.unlisted {
		field("unlisted")
		field(string(kind))
	}
	for i := range s.items {
		field(string(s.items[i].Kind))
		field(s.items[i].Name)
		form = append(form, s.items[i].Digests.Raw[:]...)
	}
	var hash splitter
	return hash.digest("root", form)
}
