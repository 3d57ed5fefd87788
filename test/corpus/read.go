package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/surface"
)

// What is read at most. The largest tool list known has 1 MB.
const (
	maxFile  = 16 << 20 // bytes
	maxFiles = 2000     // in each folder
	maxCases = 10000    // in each file
)

// corpus is what a folder holds.
type corpus struct {
	benign  []server
	drift   []upgrade
	attacks []attackFile
	// skipped are files that were not measured, and why. Their names are untrusted.
	skipped []string
}

// server is one honest server.
type server struct {
	name    string
	madeUp  bool // texts written to mislead the lint, not a server
	surface *surface.Surface
}

// upgrade is a server before and after an honest change of version.
type upgrade struct {
	name, from, to string
	before, after  *surface.Surface
}

// attackFile is a file of attacks.
type attackFile struct {
	name    string
	attacks []attack
}

// attack is one poisoned tool.
type attack struct {
	name, kind string
	before     *surface.Surface // nil when only the poisoned tool is known
	after      *surface.Surface
}

// read reads a folder. Files that are not of the shape are left out by name; a
// folder without anything to measure is an error.
func read(dir string) (*corpus, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the corpus: %w", err)
	}
	c := &corpus{}
	for _, entry := range entries {
		var err error
		switch name := entry.Name(); name {
		case "benign":
			err = c.readFolder(dir, name, c.readBenign)
		case "poisoned":
			err = c.readFolder(dir, name, c.readAttacks)
		case "drift":
			err = c.readDrift(dir, name)
		default:
			c.skip(name, errors.New("not a part of a corpus"))
		}
		if err != nil {
			return nil, err
		}
	}
	if len(c.benign)+len(c.drift)+len(c.attacks) == 0 {
		return nil, fmt.Errorf("%s: nothing to measure in benign, drift or poisoned", dir)
	}
	return c, nil
}

func (c *corpus) skip(file string, why error) {
	c.skipped = append(c.skipped, fmt.Sprintf("%s: %v", file, why))
}

// readFolder hands every JSON file of a folder to each.
func (c *corpus) readFolder(dir, folder string, each func(name string, data []byte) error) error {
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil {
		return fmt.Errorf("read the corpus: %w", err)
	}
	if len(entries) > maxFiles {
		return fmt.Errorf("read the corpus: %s has %d files, %d at most are read", folder, len(entries), maxFiles)
	}
	for _, entry := range entries {
		file := filepath.Join(folder, entry.Name())
		name, isJSON := strings.CutSuffix(entry.Name(), ".json")
		if !isJSON {
			c.skip(file, errors.New("not a JSON file"))
			continue
		}
		data, err := readFile(filepath.Join(dir, file))
		if err == nil {
			err = each(name, data)
		}
		if err != nil {
			c.skip(file, err)
		}
	}
	return nil
}

func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("over %d bytes", maxFile)
	}
	return data, nil
}

func (c *corpus) readBenign(name string, data []byte) error {
	s, err := surface.Read(data)
	if err != nil {
		return err
	}
	c.benign = append(c.benign, server{name: name, madeUp: strings.HasPrefix(name, "_"), surface: s})
	return nil
}

// readDrift pairs each version of a package with the next one.
func (c *corpus) readDrift(dir, folder string) error {
	type snapshot struct {
		name, version string
		surface       *surface.Surface
	}
	var all []snapshot
	err := c.readFolder(dir, folder, func(file string, data []byte) error {
		i := strings.LastIndexByte(file, '_')
		if i < 0 {
			return errors.New("not named PACKAGE_VERSION.json")
		}
		s, err := surface.Read(data)
		if err != nil {
			return err
		}
		all = append(all, snapshot{file[:i], file[i+1:], s})
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b snapshot) int {
		return cmp.Or(cmp.Compare(a.name, b.name), compareVersions(a.version, b.version))
	})
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.name == b.name {
			c.drift = append(c.drift, upgrade{a.name, a.version, b.version, a.surface, b.surface})
		}
	}
	return nil
}

// compareVersions orders versions part by part, numbers by value, and a
// pre-release ("1.0.0-rc.1") before its release.
func compareVersions(a, b string) int {
	coreA, preA, isPreA := strings.Cut(a, "-")
	coreB, preB, isPreB := strings.Cut(b, "-")
	switch order := compareParts(coreA, coreB); {
	case order != 0:
		return order
	case isPreA && isPreB:
		return compareParts(preA, preB)
	case isPreA:
		return -1
	case isPreB:
		return 1
	}
	return 0
}

func compareParts(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		x, errA := strconv.ParseUint(a, 10, 64)
		y, errB := strconv.ParseUint(b, 10, 64)
		if errA == nil && errB == nil {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(a, b)
	})
}

// attackJSON is one case of a file of attacks. What the lint reads stays as it is
// in the file, byte for byte.
type attackJSON struct {
	ID, Kind          string
	Tool              json.RawMessage
	Before, After     json.RawMessage
	InstructionsAfter json.RawMessage `json:"instructions_after"`
}

func (c *corpus) readAttacks(name string, data []byte) error {
	var file struct{ Cases []attackJSON }
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	if n := len(file.Cases); n == 0 || n > maxCases {
		return fmt.Errorf("%d cases, want 1 to %d", n, maxCases)
	}
	f := attackFile{name: name}
	for i, raw := range file.Cases {
		a, err := readAttack(raw)
		if err != nil {
			c.skip(fmt.Sprintf("%s, case %d", name, i+1), err)
			continue
		}
		f.attacks = append(f.attacks, a)
	}
	c.attacks = append(c.attacks, f)
	return nil
}

func readAttack(raw attackJSON) (attack, error) {
	a := attack{name: raw.ID, kind: raw.Kind}
	var err error
	switch {
	case raw.Tool != nil && raw.Before == nil && raw.After == nil:
		a.after, err = toolSurface(raw.Tool, raw.InstructionsAfter)
	case raw.Tool == nil && raw.Before != nil && raw.After != nil:
		if a.before, err = toolSurface(raw.Before, nil); err == nil {
			a.after, err = toolSurface(raw.After, raw.InstructionsAfter)
		}
	default:
		err = errors.New(`neither a "tool" nor a "before" and an "after"`)
	}
	if err != nil {
		return attack{}, err
	}
	// Public sets have no ids.
	if tools := a.after.Of(surface.Tool); a.name == "" && len(tools) > 0 {
		a.name = tools[0].Name
	}
	return a, nil
}

// toolSurface is the surface of a server with one tool.
func toolSurface(tool, instructions json.RawMessage) (*surface.Surface, error) {
	text := `{"tools":[` + string(tool) + `]`
	if instructions != nil {
		text += `,"instructions":` + string(instructions)
	}
	return surface.Read([]byte(text + `}`))
}
