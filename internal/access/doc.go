// Package access is how a check gets past a server's login: the challenges of a
// 401 and, behind them, the discovery chain and tokens.
//
// It speaks no MCP. Everything it reads comes from parties that are not trusted,
// so each parser is bounded and total: it gives what it understood and never
// fails on, or stalls over, what it did not.
package access
