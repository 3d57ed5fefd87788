package e2e_test

// Where things are on the overview.
const (
	overviewFilter = "#filter input[type=search]"
	overviewRow    = "li.monitor"
)
