package lint

// encodedRules are the rules about text in another form.
func encodedRules() []rule { return nil }
