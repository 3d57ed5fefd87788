package config

import (
	"os"
	"path/filepath"
)

// Found is a client's configuration file that exists.
type Found struct{ Client, Path string }

// FindClients returns the configuration files of MCP clients that exist for
// the user whose home directory is home, and for the project in cwd. goos
// names the operating system as [runtime.GOOS] does; getenv gives APPDATA,
// XDG_CONFIG_HOME, CODEX_HOME and CLAUDE_CONFIG_DIR, and may be nil. Whether a
// file lists any server is left to [ReadClients].
func FindClients(home, cwd string, getenv func(string) string, goos string) []Found {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	var out []Found
	seen := map[string]bool{}
	for _, f := range clientPaths(home, cwd, getenv, goos) {
		info, err := os.Stat(f.Path)
		if err != nil || !info.Mode().IsRegular() || seen[f.Path] {
			continue
		}
		seen[f.Path] = true
		out = append(out, f)
	}
	return out
}

func clientPaths(home, cwd string, getenv func(string) string, goos string) []Found {
	var out []Found
	add := func(client string, dir string, rest ...string) {
		if dir != "" {
			out = append(out, Found{client, filepath.Join(append([]string{dir}, rest...)...)})
		}
	}
	apps := appDir(home, getenv, goos)
	add("Claude Desktop", apps, "Claude", "claude_desktop_config.json")
	add("Claude Code", getenv("CLAUDE_CONFIG_DIR"), ".claude.json")
	add("Claude Code", home, ".claude.json")
	add("Claude Code", cwd, ".mcp.json")
	add("Cursor", home, ".cursor", "mcp.json")
	add("Cursor", cwd, ".cursor", "mcp.json")
	for _, product := range []string{"Code", "Code - Insiders", "VSCodium"} {
		if apps == "" {
			break
		}
		user := filepath.Join(apps, product, "User")
		add("VS Code", user, "mcp.json")
		add("VS Code", user, "settings.json")
		add("Cline", user, "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")
	}
	add("VS Code", cwd, ".vscode", "mcp.json")
	add("VS Code", cwd, ".vscode", "settings.json")
	add("Windsurf", home, ".codeium", "windsurf", "mcp_config.json")
	if dir := getenv("CODEX_HOME"); dir != "" {
		add("Codex", dir, "config.toml")
	} else {
		add("Codex", home, ".codex", "config.toml")
	}
	add("Codex", cwd, ".codex", "config.toml")
	add("Gemini CLI", home, ".gemini", "settings.json")
	add("Gemini CLI", cwd, ".gemini", "settings.json")
	if goos == "windows" {
		add("Zed", apps, "Zed", "settings.json")
	} else {
		add("Zed", home, ".config", "zed", "settings.json")
	}
	add("Zed", cwd, ".zed", "settings.json")
	return out
}

// appDir is where desktop programs keep their settings.
func appDir(home string, getenv func(string) string, goos string) string {
	switch goos {
	case "windows":
		if dir := getenv("APPDATA"); dir != "" {
			return dir
		}
		if home == "" {
			return ""
		}
		return filepath.Join(home, "AppData", "Roaming")
	case "darwin":
		if home == "" {
			return ""
		}
		return filepath.Join(home, "Library", "Application Support")
	}
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".config")
}
