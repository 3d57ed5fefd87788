package main

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/demo"
)

func TestCheck(t *testing.T) {
	server := httptest.NewServer(&demo.Server{})
	defer server.Close()
	if !check(context.Background(), []string{server.URL, server.URL + "/mcp"}) {
		t.Error("two servers that work are not usable")
	}
	if check(context.Background(), []string{server.URL, "http://127.0.0.1:1/mcp"}) {
		t.Error("a dead port is usable")
	}
}
