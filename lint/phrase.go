package lint

// phraseRules are the rules about what a text says.
func phraseRules() []rule { return nil }
