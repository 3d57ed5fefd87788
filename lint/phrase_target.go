package lint

import (
	"iter"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// exfilled finds addresses that something is sent to: by order, not by a person.
func (r *reader) exfilled(t *text) {
	b := r.book
	for i := range r.tokens {
		k := &r.tokens[i]
		if k.form&formTarget == 0 || !reachable(t.s, k) || b.quotedAt(r.tokens, i) {
			continue
		}
		verb := r.sender(i)
		if verb < 0 || b.negated(r.tokens, verb) || b.before(r.tokens, verb, 12, "can") {
			continue
		}
		always := b.before(r.tokens, i, 120, "always") || b.after(r.tokens, i, 60, "always")
		argument := k.start > 0 && t.s[k.start-1] == '='
		goods := b.between(r.tokens, verb, i, "goods") || argument
		whole := b.after(r.tokens, i, 80, "whole") && b.after(r.tokens, i, 80, "goods")
		severity := Severity("")
		switch {
		case always && (!sample(t.s[k.start:k.end]) || goods), whole && !sample(t.s[k.start:k.end]):
			severity = Block
		case always, goods:
			severity = Note
		case k.form&(formEmail|formPhone) != 0 && !sample(t.s[k.start:k.end]) && !b.before(r.tokens, i, 120, "support"):
			// Nobody's address stands in the text of a tool, but for questions.
			severity = Note
		}
		if severity == "" {
			continue
		}
		start := min(r.tokens[verb].start, k.start)
		end := max(r.tokens[verb].end, k.end)
		r.found(ruleExfil, severity, int(start), int(end), "")
	}
}

// reachable leaves out the addresses that nothing can be sent to, and the links of
// Markdown, which are for reading.
func reachable(s string, k *token) bool {
	if k.form&formURL == 0 {
		return true
	}
	if strings.HasSuffix(s[:k.start], "](") {
		return false
	}
	scheme, _, _ := strings.Cut(lowerASCII(s[k.start:k.end]), "://")
	switch scheme {
	case "http", "https", "ftp", "ftps", "ws", "wss", "sftp", "smtp":
		return true
	}
	return false
}

// sender is the verb that sends to the target at token i, or -1. It stands before
// the target, with a word of direction next to the target.
func (r *reader) sender(i int) int {
	b := r.book
	toward := false
	for n := i - 1; n >= 0 && n >= i-14 && !r.tokens[n+1].opens; n-- {
		if i-n <= 7 && b.is(r.tokens[n], "toward") {
			toward = true
		}
		if i-n <= 3 && b.is(r.tokens[n], "docs") {
			return -1
		}
		if b.is(r.tokens[n+1], "address") {
			continue // an e-mail address
		}
		if (b.is(r.tokens[n], "send") || r.sendingTool(n)) && (toward || i-n == 1 && b.is(r.tokens[n], "cc") && r.text.s[r.tokens[i].start-1] != '=') {
			return n
		}
	}
	return -1
}

// sendingTool reports a token such as send_email.
func (r *reader) sendingTool(n int) bool {
	k := &r.tokens[n]
	return k.form&formIdent != 0 && strings.HasPrefix(lowerASCII(r.text.s[k.start:k.end]), "send")
}

// sample reports a name that RFC 2606 and RFC 6761 reserve, as documentation uses.
func sample(address string) bool {
	host := lowerASCII(address)
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	} else if _, rest, ok := strings.Cut(host, "://"); ok {
		host = rest
	}
	host, _, _ = strings.Cut(host, "/")
	host, _, _ = strings.Cut(host, ":")
	host = strings.TrimRight(host, ".")
	for _, name := range []string{"example.com", "example.org", "example.net", "localhost"} {
		if host == name || strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	for _, suffix := range []string{".test", ".invalid", ".localhost"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return strings.HasPrefix(host, "127.") || host == "acme.com" || host == "domain.com" || host == "email.com"
}

// crossed finds texts that steer the use of a tool which this server does not have.
func (r *reader) crossed(t *text) {
	for i := range r.tokens {
		name, ok := r.foreign(t, i)
		if !ok {
			continue
		}
		from, until, sure := r.occasion(i)
		if from < 0 && (r.summoned(i) && r.acts(name) || r.chained(i)) && !r.book.quotedAt(r.tokens, i) && !r.related(t, name) && !t.item.parameters()[name] {
			r.found(ruleCross, Note, int(r.tokens[i].start), int(r.tokens[i].end), "tells a model to call a tool that this server does not have")
			continue
		}
		if from < 0 || r.book.quotedAt(r.tokens, i) || r.related(t, name) {
			continue
		}
		severity := r.steering(from, until)
		if severity == Note && (!sure || r.tokens[i].form&formIdent == 0) {
			severity = "" // too often no tool at all
		}
		victim := t.scan.names.server[name]
		if severity == Note && victim != "" {
			severity = Block
		}
		if severity == "" || t.item.parameters()[name] {
			continue
		}
		message := "tells a model what to do when it uses a tool of another server"
		if victim != "" {
			message += ", " + plain.Line(victim, 80)
		}
		r.found(ruleCross, severity, int(r.tokens[from].start), int(r.tokens[i].end), message)
	}
}

// foreign reports whether token i may be the name of a tool that is not of this
// server. It may still be that of a parameter: the item is asked last, as a text that
// depends on it is read again for each.
func (r *reader) foreign(t *text, i int) (name string, ok bool) {
	k := &r.tokens[i]
	if k.form&formWord == 0 || k.form&formNumber != 0 {
		return "", false
	}
	name = t.s[k.start:k.end]
	neighbour := len(t.scan.names.server) > 0 && t.scan.names.server[name] != ""
	named := k.form&formIdent != 0 && !dotted(t.s, k) || neighbour
	if !named {
		// A plain word, with "tool" after it.
		if k.word != 0 || i+1 >= len(r.tokens) || r.tokens[i+1].opens || !r.book.is(r.tokens[i+1], "tool") {
			return "", false
		}
	}
	if t.scan.names.own[name] {
		return "", false
	}
	if i+1 < len(r.tokens) && !r.tokens[i+1].opens && r.book.is(r.tokens[i+1], "field") ||
		i > 0 && !k.opens && r.book.is(r.tokens[i-1], "field") {
		return "", false
	}
	return name, true
}

// dotted reports a part of a longer name, as in result.nextToken.
func dotted(s string, k *token) bool {
	start, end := int(k.start), int(k.end)
	return start > 0 && s[start-1] == '.' || end+1 < len(s) && s[end] == '.' && s[end+1] > ' '
}

// related reports a name that is the start or the end of one of the server's own
// names, as people shorten them, or the other way round.
func (r *reader) related(t *text, name string) bool {
	if r.own == nil {
		r.own, r.ownParts = map[string]bool{}, map[string]bool{}
		for own := range t.scan.names.own {
			whole := snake(own)
			r.own[whole] = true
			for part := range edges(whole) {
				r.ownParts[part] = true
			}
		}
	}
	name = snake(name)
	if r.ownParts[name] {
		return true
	}
	for part := range edges(name) {
		if r.own[part] {
			return true
		}
	}
	return false
}

// longestName is where the names of tools are cut before they are compared.
const longestName = 128

// snake writes sendEmail and send-email as send_email.
func snake(name string) string {
	name = cut(name, longestName)
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			if i > 0 && 'a' <= name[i-1] && name[i-1] <= 'z' {
				b.WriteByte('_')
			}
			c |= 0x20
		case c == '-' || c == '.' || c == '/' || c == ' ':
			c = '_'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// edges gives a name and what it begins and ends with, in whole words.
func edges(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(name) {
			return
		}
		for i := range len(name) {
			if name[i] == '_' && (!yield(name[:i]) || !yield(name[i+1:])) {
				return
			}
		}
	}
}

// occasion reports whether token i names a tool whose use is the occasion for what
// the text asks: where that begins, and the last token of it. It is sure when the
// text says that it is a tool.
func (r *reader) occasion(i int) (from, until int, sure bool) {
	b := r.book
	from, until = -1, i
	for n := i - 1; n >= 0 && n >= i-6 && !r.tokens[n+1].opens; n-- {
		if b.is(r.tokens[n], "occasion") {
			from = n
			break
		}
	}
	if from < 0 {
		return -1, i, false
	}
	used := b.between(r.tokens, from, i, "using")
	for n := i + 1; n < len(r.tokens) && n <= i+3 && !r.tokens[n].opens && !b.is(r.tokens[n], "this"); n++ {
		if b.is(r.tokens[n], "tool") || b.is(r.tokens[n], "used") {
			used, until = true, n
			sure = sure || b.is(r.tokens[n], "tool") || b.is(r.tokens[n], "called")
		}
	}
	if !used {
		return -1, i, false
	}
	return from, until, sure || b.between(r.tokens, from, i, "using")
}

// summoned reports an order to call the tool that token i names.
func (r *reader) summoned(i int) bool {
	if r.tokens[i].form&formIdent == 0 {
		return false
	}
	for n := i - 1; n >= 0 && n >= i-2 && !r.tokens[n+1].opens; n-- {
		if r.book.is(r.tokens[n], "using") {
			for m := n - 1; m >= 0 && m >= n-3 && !r.tokens[m+1].opens; m-- {
				if r.book.is(r.tokens[m], "need") {
					return true
				}
			}
		}
	}
	return false
}

// chained reports that this tool is to be followed by the one that token i names.
func (r *reader) chained(i int) bool {
	return i >= 3 && !r.tokens[i].opens && r.tokens[i].form&formIdent != 0 && r.book.is(r.tokens[i-1], "by") &&
		r.book.is(r.tokens[i-2], "followed") && r.book.before(r.tokens, i-2, 30, "need")
}

// acts reports the name of a tool that does something in the world or hands out
// secrets. Honest texts name tools they do not have too: create_session, list_files.
func (r *reader) acts(name string) bool {
	for part := range strings.SplitSeq(snake(name), "_") {
		if n, ok := r.book.words[part]; ok && has(r.book.classes["deed"], n) {
			return true
		}
	}
	return false
}

// steering judges what is asked after the occasion, tokens from to after.
func (r *reader) steering(from, after int) Severity {
	b := r.book
	severity := Severity("")
	modify, same := -1, true
	for n := after + 1; n < len(r.tokens) && n <= after+24; n++ {
		k := r.tokens[n]
		same = same && !k.opens
		if k.opens && modify < 0 && n > after+12 {
			break
		}
		if b.is(k, "modify") {
			modify = n
		}
		if modify >= 0 && n-modify <= 7 && n > modify && (b.is(k, "aim") || k.form&formTarget != 0) {
			return Block
		}
		if b.is(k, "strong") || same && b.is(k, "alter") || b.is(r.tokens[from], "instead") && r.usesThis(n) {
			severity = Note
		}
	}
	return severity
}

// usesThis reports "call this tool" at token n.
func (r *reader) usesThis(n int) bool {
	return n+2 < len(r.tokens) && r.book.is(r.tokens[n], "using") && r.book.is(r.tokens[n+1], "this") && r.book.is(r.tokens[n+2], "tool")
}

// paths finds files that are worth something to a thief.
func (r *reader) paths(t *text) {
	if t.role == roleKey || t.role == roleName {
		return
	}
	for i := range r.tokens {
		k := &r.tokens[i]
		if k.form&formPath == 0 {
			continue
		}
		if severity := r.path(t, i); severity != "" {
			r.found(rulePath, severity, int(k.start), int(k.end), "")
		}
	}
}

func (r *reader) path(t *text, i int) Severity {
	k := &r.tokens[i]
	path := t.s[k.start:k.end]
	degree := secrecy(path)
	switch t.role {
	case roleEnum, roleDefault, roleConst, roleExample:
		if len(r.tokens) > 3 {
			break
		}
		if t.role == roleExample || t.role == roleDefault && settingOf(path, property(&t.item.path), degree) {
			return Note
		}
		return Block
	}
	if r.book.before(r.tokens, i, 60, "no") || r.book.after(r.tokens, i, 60, "refused") {
		return ""
	}
	switch {
	case r.handedOver(i), degree == pathSecret && r.stolen(i):
		return Block
	case degree == pathSecret, r.next(i, "give"):
		return Note
	}
	return ""
}

// handedOver reports an order to read the file that token i names and to pass on what
// is in it.
func (r *reader) handedOver(i int) bool {
	b := r.book
	reading := b.before(r.tokens, i, 90, "read")
	handing := b.before(r.tokens, i, 90, "hand")
	passing := b.after(r.tokens, i, 120, "hand")
	contents := b.before(r.tokens, i, 40, "contents") || b.after(r.tokens, i, 90, "contents")
	return reading && passing && contents || handing && contents || contents && b.before(r.tokens, i, 90, "duty")
}

// stolen reports an order to read a file, or to fall back on it, for which a tool has no
// honest reason.
func (r *reader) stolen(i int) bool {
	b := r.book
	reading := b.before(r.tokens, i, 60, "obtain")
	switch {
	case (reading || b.after(r.tokens, i, 40, "obtain")) && r.passedOn(i):
		return true
	case reading && b.before(r.tokens, i, 90, "ritual"):
		return true
	case b.before(r.tokens, i, 60, "using") && r.called(i):
		return true
	case r.next(i, "fallback") && r.next(i, "to"), b.before(r.tokens, i, 40, "doubt"):
		return true
	}
	return false
}

// passedOn reports a word for what was read after a word for passing it on: include it,
// send its first line, put what it says.
func (r *reader) passedOn(i int) bool {
	b := r.book
	for n := i + 1; n < len(r.tokens) && !r.tokens[n].opens && int(r.tokens[n].start-r.tokens[i].end) <= 120; n++ {
		if !b.is(r.tokens[n], "leak") {
			continue
		}
		for m := n + 1; m < len(r.tokens) && m <= n+3 && !r.tokens[m].opens; m++ {
			if b.is(r.tokens[m], "loot") {
				return true
			}
		}
	}
	return false
}

// called reports that token i is an argument of a tool that the text says to call: a
// name, and "with" or the name of a parameter between it and the token.
func (r *reader) called(i int) bool {
	with := false
	for n := i - 1; n >= 0 && n >= i-8 && !r.tokens[n+1].opens; n-- {
		k := &r.tokens[n]
		with = with || r.book.is(*k, "with") || r.book.is(*k, "open")
		if with && (k.form&formIdent != 0 || dotted(r.text.s, k)) {
			return r.next(n, "using")
		}
	}
	return false
}

// next reports whether a word of the class stands among the three before token i.
func (r *reader) next(i int, class string) bool {
	for n := i - 1; n >= 0 && n >= i-3 && !r.tokens[n+1].opens; n-- {
		if r.book.is(r.tokens[n], class) {
			return true
		}
	}
	return false
}
