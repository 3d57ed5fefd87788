package monitorpage

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/changes"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// surfacePart is how many items are shown at a time, maxFindings how many findings beside
// one, and maxSeen how many surfaces.
const (
	surfacePart = 200
	maxFindings = 5
	maxListed   = 50
	maxFilter   = 200
	maxSeen     = 50
)

// surfaceData is what the list of a surface shows.
type surfaceData struct {
	Monitor *ops.Monitor
	Volume  *volume
	Kind    surface.Kind
	Text    string
	Flagged bool
	// Rows are a part of what matches, Found how many do.
	Rows  []row
	Found int
	// More is the address of the part after it.
	More string
	// Seen are the last surfaces that the monitor showed.
	Seen []ops.Sighting
	// Now: it is what the server showed last.
	Now bool
}

func (p *pages) surface(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	query := q.URL.Query()
	digest := query.Get("digest")
	if digest == "" {
		digest = m.Status.Digest
	}
	if digest == "" {
		return p.show(q, &m, "/surface", noSurface(&m))
	}
	v, err := p.library.open(q.Context(), p.ops, q.Actor, digest)
	if err != nil {
		return err
	}
	d := surfaceData{
		Monitor: &m, Volume: v, Kind: kindOf(query.Get("kind"), v), Flagged: query.Get("flagged") != "",
		Now: v.digest == m.Status.Digest,
	}
	d.Text, _ = beginning(strings.TrimSpace(query.Get("q")), maxFilter)
	matching := v.match(d.Kind, d.Text, d.Flagged)
	d.Found = len(matching)
	from := min(offset(q), d.Found)
	d.Rows = matching[from:min(from+surfacePart, d.Found)]
	if next := from + surfacePart; next < d.Found {
		d.More = d.path(d.Kind) + "&from=" + strconv.Itoa(next)
	}
	if q.Partial() {
		return q.Part(itemList(&d))
	}
	seen, err := p.ops.Sightings(q.Context(), q.Actor, m.ID)
	if err != nil {
		return err
	}
	d.Seen = seen.Items[:min(len(seen.Items), maxSeen)]
	return p.show(q, &m, "/surface", surfaceTab(&d))
}

// path is the address of the list of a kind, filtered as this one is.
func (d *surfaceData) path(kind surface.Kind) string {
	values := url.Values{"kind": {string(kind)}}
	if d.Text != "" {
		values.Set("q", d.Text)
	}
	if d.Flagged {
		values.Set("flagged", "yes")
	}
	if !d.Now {
		values.Set("digest", d.Volume.digest)
	}
	return shell.MonitorPath(d.Monitor.ID, "/surface") + "?" + values.Encode()
}

// kindOf is the kind that is asked for, or the first that the surface has items of.
func kindOf(asked string, v *volume) surface.Kind {
	order := kinds()
	for _, k := range order {
		if string(k.Kind) == asked {
			return k.Kind
		}
	}
	for _, k := range order {
		if len(v.rows[k.Kind]) > 0 {
			return k.Kind
		}
	}
	return surface.Tool
}

// kindName is a kind with its English name.
type kindName struct {
	Kind surface.Kind
	Name string
}

// kinds are all kinds, what agents read most first.
func kinds() []kindName {
	return []kindName{
		{surface.Tool, "Tools"},
		{surface.Resource, "Resources"},
		{surface.ResourceTemplate, "Resource templates"},
		{surface.Prompt, "Prompts"},
		{surface.Instructions, "Instructions"},
		{surface.Server, "Server"},
		{surface.Capabilities, "Capabilities"},
		{surface.Protocol, "Protocol"},
		{surface.Auth, "Login"},
	}
}

// itemPath is the address of one item of a surface.
func itemPath(monitor int64, v *volume, kind surface.Kind, index int, end string) string {
	return shell.MonitorPath(monitor, "/items/"+string(kind)+"/"+strconv.Itoa(index)+end) + "?digest=" + url.QueryEscape(v.digest)
}

// itemData is one item, to be read in full.
type itemData struct {
	Monitor *ops.Monitor
	Volume  *volume
	Item    *surface.Item
	Index   int
	// Title, Description and URI are the texts in it; Raw are its members.
	Title, Description string
	Described          string // where the description is
	Arguments          []argument
	Schemas            []member
	Hints              []string
	Rest               []member
	Findings           []lint.Finding
	// Marked is the item with what is found in it, at most maxListed findings.
	Marked *changes.Item
}

func (p *pages) find(q *shell.Request) (*itemData, error) {
	m, err := p.monitor(q)
	if err != nil {
		return nil, err
	}
	digest := q.URL.Query().Get("digest")
	if digest == "" {
		digest = m.Status.Digest
	}
	index, err := strconv.Atoi(q.PathValue("index"))
	if err != nil || digest == "" {
		return nil, shell.NotFound(q)
	}
	v, err := p.library.open(q.Context(), p.ops, q.Actor, digest)
	if err != nil {
		return nil, err
	}
	kind := surface.Kind(q.PathValue("kind"))
	items := v.surface.Of(kind)
	if index < 0 || index >= len(items) {
		return nil, shell.NotFound(q)
	}
	d := &itemData{Monitor: &m, Volume: v, Item: &items[index], Index: index, Findings: v.about(kind, items[index].Name)}
	d.Marked = &changes.Item{ID: string(kind) + "-" + strconv.Itoa(index), Kind: kind, Name: d.Item.Name, After: v.named(kind, d.Item.Name)}
	for _, f := range d.Findings[:min(len(d.Findings), maxListed)] {
		d.Marked.Findings = append(d.Marked.Findings, changes.Finding{Finding: f})
	}
	slices.SortStableFunc(d.Marked.Findings, changes.Gravest)
	d.read(q)
	return d, nil
}

func (p *pages) item(q *shell.Request) error {
	d, err := p.find(q)
	if err != nil {
		return err
	}
	if q.Partial() {
		return q.Part(itemBody(d, 3))
	}
	return p.show(q, d.Monitor, "/items", itemPage(d))
}

// definition answers with the whole of an item, as JSON that shows what cannot be seen.
func (p *pages) definition(q *shell.Request) error {
	d, err := p.find(q)
	if err != nil {
		return err
	}
	h := q.Writer().Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", `attachment; filename="definition.json"`)
	q.Writer().WriteHeader(http.StatusOK)
	_, _ = q.Writer().Write(plain.JSON(d.Item.Definition))
	return nil
}
