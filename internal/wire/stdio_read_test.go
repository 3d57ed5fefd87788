package wire

import "testing"

func TestTellingLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"node", "file:///srv/crash.mjs:1\nthrow new Error(\"DATABASE_URL is required\")\n      ^\n\nError: DATABASE_URL is required\n    at file:///srv/crash.mjs:1:7\n    at ModuleJob.run (node:internal)\n\nNode.js v22.1.0", "Error: DATABASE_URL is required"},
		{"node with a code", "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module '/srv/x.js'\n    at Module._load (node:internal)\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v22.1.0", "Error: Cannot find module '/srv/x.js'"},
		{"python", "Traceback (most recent call last):\n  File \"s.py\", line 1, in <module>\n    import nothing\nModuleNotFoundError: No module named 'nothing'", "ModuleNotFoundError: No module named 'nothing'"},
		{"go", "panic: no key\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:4 +0x18\nexit status 2", "panic: no key"},
		{"an error and a hint", "fatal: no such database\nhint: create it first", "fatal: no such database"},
		{"no error", "starting\nport 80 is taken\n", "port 80 is taken"},
		{"nothing", "\n\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := tellingLine(c.text); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
