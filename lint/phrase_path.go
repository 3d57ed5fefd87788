package lint

import "strings"

// A path is worth something to a thief in one of two degrees.
const (
	// pathDocumented is a file that honest tools name and explain: .env, .npmrc,
	// ~/.kube/config. Naming it says nothing, handing over its contents does.
	pathDocumented = 1
	// pathSecret is a file that a tool's text has hardly a reason to name: private
	// keys, passwords, histories, the settings of agents.
	pathSecret = 2
)

// secretFiles are names of files and folders, in lower case, wherever they are.
var secretFiles = map[string]int{
	"id_rsa": pathSecret, "id_dsa": pathSecret, "id_ecdsa": pathSecret, "id_ed25519": pathSecret,
	"authorized_keys": pathSecret, ".gnupg": pathSecret, ".pgpass": pathSecret, ".my.cnf": pathSecret,
	".netrc": pathDocumented, "_netrc": pathDocumented, ".git-credentials": pathSecret, ".htpasswd": pathSecret,
	".bash_history": pathSecret, ".zsh_history": pathSecret, ".python_history": pathSecret,
	".mysql_history": pathSecret, ".psql_history": pathSecret, ".node_repl_history": pathDocumented,
	".vault-token": pathSecret, "wallet.dat": pathSecret, "logins.json": pathSecret, "key4.db": pathSecret,
	"cookies.sqlite": pathSecret, "login.keychain": pathSecret, "login.keychain-db": pathSecret,
	"claude_desktop_config.json": pathSecret, "mcp.json": pathDocumented, "mcp_config.json": pathDocumented,
	".mcp.json": pathDocumented, ".claude.json": pathSecret, ".env": pathDocumented, ".envrc": pathDocumented,
	".npmrc": pathDocumented, ".pypirc": pathDocumented, ".dockercfg": pathDocumented,
	".kube": pathDocumented, ".ssh": pathSecret, ".aws": pathDocumented, ".azure": pathDocumented,
	".cursor": pathDocumented, ".claude": pathDocumented, ".codeium": pathDocumented, ".gemini": pathDocumented,
	".codex": pathDocumented, ".continue": pathDocumented, ".windsurf": pathDocumented,
}

// secretPaths are runs of names that are only telling together, in lower case.
var secretPaths = []struct {
	run    string
	degree int
}{
	{".aws/credentials", pathSecret},
	{"/etc/shadow", pathSecret},
	{"/etc/sudoers", pathSecret},
	{"/etc/passwd", pathSecret},
	{"etc/passwd", pathSecret},
	{".claude/settings", pathSecret},
	{".codeium/windsurf/mcp_config.json", pathSecret},
	{"cursor/mcp.json", pathSecret},
	{"/proc/self/environ", pathSecret},
	{"/proc/1/environ", pathSecret},
	{".config/gh/hosts", pathSecret},
	{".config/gcloud", pathSecret},
	{".docker/config.json", pathDocumented},
	{"/run/secrets/kubernetes.io", pathSecret},
	{"ethereum/keystore", pathSecret},
	{".ssh/config", pathDocumented},
	{".ssh/known_hosts", pathDocumented},
	{"library/keychains", pathSecret},
}

// secrecy gives the degree of a path, or 0. Public keys are no secret.
func secrecy(path string) int {
	if strings.IndexByte(path, '.') < 0 && strings.IndexByte(path, '/') < 0 && strings.IndexByte(path, '_') < 0 {
		return 0
	}
	if len(path) > 400 {
		path = path[:400]
	}
	path = strings.ReplaceAll(strings.ToLower(path), `\`, "/")
	if strings.HasSuffix(path, ".pub") {
		return 0
	}
	degree := 0
	for _, p := range secretPaths {
		if strings.Contains(path, p.run) && (p.degree == pathSecret || strings.HasSuffix(path, p.run)) {
			return p.degree
		}
	}
	for name := range strings.SplitSeq(path, "/") {
		if stem, ok := strings.CutPrefix(name, ".env."); ok && stem != "" && !strings.HasPrefix(stem, "example") &&
			!strings.HasPrefix(stem, "sample") && !strings.HasPrefix(stem, "template") {
			name = ".env"
		}
		degree = max(degree, secretFiles[name])
	}
	return degree
}

// settingOf reports a path that is the usual value of a setting, to judge by the name
// of the parameter: a kubeconfig, the key of an SSH client. No program has a password
// file of the system for a setting.
func settingOf(path, name string, degree int) bool {
	path, name = strings.ToLower(path), strings.ToLower(name)
	for _, kind := range []struct {
		degree     int
		path, name string
	}{
		{pathDocumented, "", "config"},
		{pathDocumented, "", "env"},
		{pathDocumented, "", "path"},
		{pathDocumented, "", "file"},
		{pathDocumented, "", "dir"},
		{pathDocumented, "", "folder"},
		{pathDocumented, "", "home"},
		{pathDocumented, "", "settings"},
		{pathDocumented, "", "profile"},
		{pathSecret, ".ssh", "key"},
		{pathSecret, ".ssh", "identity"},
		{pathSecret, ".ssh", "ssh"},
		{pathSecret, "credentials", "credential"},
		{pathSecret, "config", "config"},
		{pathSecret, "mcp", "config"},
	} {
		if degree == kind.degree && strings.Contains(path, kind.path) && strings.Contains(name, kind.name) {
			return true
		}
	}
	return false
}

// property is the name of the innermost property that a place is in, or "".
func property(p *path) string {
	for i := len(p.steps) - 1; i > 0; i-- {
		if p.steps[i-1].isName && p.steps[i-1].name == "properties" {
			return p.steps[i].name
		}
	}
	return ""
}

// pathWords are words of the paths, one of which stands in each.
func pathWords() []string {
	return []string{
		"id", "authorized", "gnupg", "pgpass", "my", "netrc", "git", "htpasswd", "bash", "zsh", "python", "mysql", "psql",
		"node", "vault", "wallet", "logins", "key4", "cookies", "keychain", "claude", "mcp", "env", "envrc", "npmrc",
		"pypirc", "dockercfg", "kube", "ssh", "aws", "azure", "cursor", "codeium", "gemini", "codex", "continue",
		"windsurf", "shadow", "sudoers", "passwd", "environ", "gh", "gcloud", "docker", "secrets", "keystore", "keychains",
	}
}
