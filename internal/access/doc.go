// Package access is how a check gets past a server's login: the challenges of a
// 401 and, behind them, the discovery chain, tokens and the login of a person.
//
// [Audit] walks the chain that a new client walks, without logging in, and says
// which rung is broken. [NewSource] gets tokens for a [Grant] and keeps them in a
// token file that processes share. [StartLogin] is the one interactive part: an
// authorization code with PKCE, which ends in a token file that checks read.
//
// It speaks no MCP. Everything it reads comes from parties that are not trusted,
// so each parser is bounded and total: it gives what it understood and never
// fails on, or stalls over, what it did not. Documents are at most 64 KiB, no
// redirect is followed, plain http is for loopback alone, and credentials go to
// the endpoints of a validated issuer and nowhere else.
//
// Texts, hints and URLs in an [Error], a [Rung] and a [Note] are safe to show.
// Types that hold a secret print as ***.
package access
