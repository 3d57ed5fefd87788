package surface

import "slices"

// Cloaked compares what two clients were told at the same time: own is what this
// program was told under its own name, other what it was told as identity. The
// negotiated revision may differ between them, and so may spellings, and what
// changes by itself: texts under the masks of o, and dates, versions and integers in
// any text; inventories
// that either did not list to the end are left out. Each item that differs is one
// change: of class [CloakedSurface] when both had the same credential, of
// [CredentialDependent] when they had not.
func Cloaked(own, other *Surface, identity string, sameCredential bool, o CompareOptions) []Change {
	class := CredentialDependent
	rule := `, by credential, as the specification of 2026-07-28 allows`
	if sameCredential {
		class = CloakedSurface
		rule = `, though the credential is the same: the specification of 2026-07-28 (server/tools) says that the set of tools ` +
			`"MUST NOT vary per-connection or as a side effect of other requests on the connection"`
	}
	o.IgnoreProtocol = true
	var out []Change
	for _, c := range Compare(own, other, o) {
		if c.Effect == Silent || slices.Contains(own.unlisted, c.Kind) {
			continue
		}
		if _, volatile := c.Volatile(); volatile {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].Kind == c.Kind && out[last].Item == c.Item {
			if out[last].Pointer != c.Pointer {
				out[last].Pointer, out[last].Before, out[last].After = "", nil, nil
			}
			continue
		}
		c.Class, c.Identity, c.Renamed = class, identity, ""
		c.Detail = seenDifference(c) + rule
		out = append(out, c)
	}
	return Policy{}.Apply(out)
}

// seenDifference says what the other identity was told. More than one difference of
// an item is not listed.
func seenDifference(c Change) string {
	switch {
	case c.Pointer != "" || c.Before != nil && c.After != nil:
		return "told differently to this identity"
	case c.After == nil:
		return "not told to this identity"
	default:
		return "told to this identity only"
	}
}
