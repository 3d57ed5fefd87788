package lint

import "slices"

// rule is a [Rule] with its code: one of the three functions, or several.
type rule struct {
	Rule

	// text is called with the strings that have one of the traits, or one of the
	// words (in lower case), or of their folded form if folded is set.
	text   func(*text)
	traits trait
	words  []string
	folded bool
	// item is called with every item, before its texts; surface once, with an item
	// that stands for the whole surface.
	item    func(*item)
	surface func(*item)
}

// ruleset is every rule, in the order of documentation.
func ruleset() []rule {
	return slices.Concat(hiddenRules(), blankRules(), nameRules(), linkRules(), markupRules(), schemaRules(), formRules(), encodedRules(), rotatedRules(), phraseRules())
}

// Rules returns every rule.
func Rules() []Rule {
	var rules []Rule
	for _, r := range ruleset() {
		rules = append(rules, r.Rule)
	}
	return rules
}

// ruleMask is a set of rules, by their number in the ruleset.
type ruleMask uint64

const allRules = ^ruleMask(0)

// dispatch finds the rules to try on a string.
type dispatch struct {
	rules   []rule
	folded  ruleMask // those that see the folded form
	byTrait []traitRules
	byWord  map[string]ruleMask
	short   [maxTrigger + 1][256]bool // first bytes of the words of each length
}

type traitRules struct {
	traits trait
	mask   ruleMask
}

// maxTrigger is the length of the longest word that rules may name.
const maxTrigger = 24

func newDispatch(rules []rule) *dispatch {
	d := &dispatch{rules: rules, byWord: map[string]ruleMask{}}
	for i, r := range rules {
		bit := ruleMask(1) << i
		if r.folded {
			d.folded |= bit
		}
		if r.traits != 0 {
			d.byTrait = append(d.byTrait, traitRules{r.traits, bit})
		}
		for _, w := range r.words {
			d.byWord[w] |= bit
			d.short[min(len(w), maxTrigger)][w[0]] = true
		}
	}
	return d
}

// sight is what one look at a string tells.
type sight struct {
	mask   ruleMask // the rules that may find something in it
	traits trait
}

func (d *dispatch) sight(s string) sight {
	of := d.look(s)
	if of.traits&(hasNonASCII|hasSplit) == 0 {
		return of
	}
	seen := of
	folded := fold(s, of.traits&^hasSplit)
	if folded != s {
		seen = d.look(folded)
		of.traits |= seen.traits & hasSplit
	}
	if of.traits&hasSplit != 0 {
		seen = d.look(mend(folded))
	}
	of.mask = of.mask&^d.folded | seen.mask&d.folded
	return of
}

func (d *dispatch) look(s string) (of sight) {
	of.traits = look(s, func(word string) { of.mask |= d.trigger(word) })
	for _, t := range d.byTrait {
		if t.traits&of.traits != 0 {
			of.mask |= t.mask
		}
	}
	return of
}

func (d *dispatch) trigger(word string) ruleMask {
	if len(word) > maxTrigger {
		return 0
	}
	first := word[0]
	if 'A' <= first && first <= 'Z' {
		first += 'a' - 'A'
	}
	if !d.short[len(word)][first] {
		return 0
	}
	var buf [maxTrigger]byte
	for i := range len(word) {
		c := word[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	return d.byWord[string(buf[:len(word)])]
}
