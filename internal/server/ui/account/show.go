package account

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"

	"github.com/mcpvigil/mcpvigil/internal/people"
)

func gone(err error) bool { return errors.Is(err, people.ErrNotFound) }

// removal names the form that removes a passkey.
func removal(id int64) string { return "passkey-" + strconv.FormatInt(id, 10) }

// code is a QR code as what an SVG draws: squares of one unit with a margin of four.
type code struct {
	size int
	path string
}

func (c code) box() string { return fmt.Sprintf("0 0 %d %d", c.size, c.size) }

// picture draws a text as a QR code.
func picture(text string) (code, error) {
	const margin = 4 // of light around it, which scanners need
	drawn, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return code{}, fmt.Errorf("draw a QR code: %w", err)
	}
	bounds := drawn.Bounds()
	var path strings.Builder
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if r, _, _, _ := drawn.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+margin, y+margin)
			}
		}
	}
	return code{size: bounds.Dx() + 2*margin, path: path.String()}, nil
}

// grouped is a secret in groups of four, as people type it.
func grouped(secret string) string {
	var groups []string
	for len(secret) > 4 {
		groups, secret = append(groups, secret[:4]), secret[4:]
	}
	return strings.Join(append(groups, secret), " ")
}

// hostOf is an address without the port, which says nothing to people.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// device says what a browser calls itself in two words, for people to know it again.
func device(agent string) (browser, system string) {
	for _, known := range []struct{ mark, name string }{
		{"Edg/", "Edge"},
		{"OPR/", "Opera"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"HeadlessChrome/", "Chrome"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
		{"curl/", "curl"},
	} {
		if strings.Contains(agent, known.mark) {
			browser = known.name
			break
		}
	}
	for _, known := range []struct{ mark, name string }{
		{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"},
	} {
		if strings.Contains(agent, known.mark) {
			system = known.name
			break
		}
	}
	return browser, system
}
