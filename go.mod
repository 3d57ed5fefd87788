module github.com/mcpvigil/mcpvigil

go 1.26
