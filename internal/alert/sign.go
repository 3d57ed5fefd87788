package alert

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const secretPrefix = "whsec_"

// signingKey reads one secret in the form of Standard Webhooks: whsec_ and 24 to 64
// bytes in base64.
func signingKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("not 24 to 64 bytes in base64")
	}
	return key, nil
}

// signature is the value of the header webhook-signature: one signature for each
// secret, so that receivers know either while one replaces the other.
func signature(secrets, id string, at time.Time, body []byte) string {
	var all []string
	for _, secret := range list(secrets) {
		key, err := signingKey(secret)
		if err != nil {
			continue // Validate refused it
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}

// list reads values that commas or white space separate.
func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}
