package wire

import (
	"os"
	"testing"
)

// The test binary is also the stdio server of the tests: the variable says which.
const serverVariable = "MCPVIGIL_TEST_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(serverVariable); mode != "" {
		os.Exit(serve(mode))
	}
	os.Exit(m.Run())
}
