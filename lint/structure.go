package lint

// structureRules are the rules about names, addresses and the form of definitions.
func structureRules() []rule { return nil }

const (
	maxTextNote  = 16 << 10
	maxTextBlock = 64 << 10
)
