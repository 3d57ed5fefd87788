package surface

import "testing"

// TestCompareUnopened: of a server that was asked for its login alone nothing else
// reads as removed.
func TestCompareUnopened(t *testing.T) {
	auth := &AuthMetadata{Issuer: []byte(`{"issuer":"https://as.acme.com"}`)}
	full := Input{
		Opening:  []byte(`{"serverInfo":{"name":"a","version":"1"},"capabilities":{"tools":{}},"instructions":"i"}`),
		Protocol: "2025-11-25", Tools: entries(`{"name":"t"}`), Auth: auth,
	}
	checkTold(t, Compare(New(full), New(Input{Auth: auth}), CompareOptions{}))
	// One that was opened and has lost all of that says so.
	full.Resources, full.ResourceTemplates, full.Prompts = List{Listed: true}, List{Listed: true}, List{Listed: true}
	checkTold(t, Compare(New(full), New(Input{Auth: auth, Tools: full.Tools}), CompareOptions{}),
		"server-identity /name name removed", "server-version /version version removed", "protocol-version removed",
		"capabilities /tools capability removed", "instructions text removed")
}
