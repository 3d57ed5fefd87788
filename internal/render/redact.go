package render

import (
	"bytes"
	"encoding/json"
)

// redactJSON returns raw with redact applied to each string, as it reads once
// its escapes are undone, and to each number. What they leave alone stays byte
// for byte, and the whole stays JSON: a number that is a secret becomes a string.
func redactJSON(raw []byte, redact func([]byte) []byte) []byte {
	var out bytes.Buffer
	for len(raw) > 0 {
		start := bytes.IndexAny(raw, `"-0123456789`)
		if start < 0 {
			start = len(raw)
		}
		out.Write(raw[:start])
		if raw = raw[start:]; len(raw) == 0 {
			break
		}
		token := raw[:tokenLen(raw)]
		raw = raw[len(token):]
		text := token
		if s := ""; token[0] == '"' && json.Unmarshal(token, &s) == nil {
			text = []byte(s)
		}
		if clean := redact(text); !bytes.Equal(clean, text) {
			token, _ = json.Marshal(string(clean)) // a string always can
		}
		out.Write(token)
	}
	return out.Bytes()
}

// tokenLen is the length of the string or number that raw begins with.
func tokenLen(raw []byte) int {
	if raw[0] != '"' {
		n := len(raw) - len(bytes.TrimLeft(raw, "+-.0123456789eE"))
		return max(n, 1)
	}
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}
