package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func sealed(t *testing.T, k *Keyset, plain, aad string) []byte {
	t.Helper()
	out, err := k.Seal([]byte(plain), aad)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func opens(k *Keyset, data []byte, aad, want string) error {
	got, err := k.Open(data, aad)
	if err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("opened %q, want %q", got, want)
	}
	return nil
}

func TestSealOpen(t *testing.T) {
	k := Generate()
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		aad, other := rapid.String().Draw(t, "aad"), rapid.String().Draw(t, "other")
		data, err := k.Seal(plain, aad)
		if err != nil {
			t.Fatal(err)
		}
		if len(plain) > 8 && bytes.Contains(data, plain) {
			t.Fatal("what is sealed can be read")
		}
		if err := opens(k, data, aad, string(plain)); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Open(data, other); other != aad && !errors.Is(err, ErrOpen) {
			t.Fatalf("opened for another place: %v", err)
		}
		data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= 1
		if _, err := k.Open(data, aad); !errors.Is(err, ErrOpen) {
			t.Fatalf("opened after a change: %v", err)
		}
	})
	if bytes.Equal(sealed(t, k, "same", "a"), sealed(t, k, "same", "a")) {
		t.Error("the same plain text sealed twice is the same")
	}
	if _, err := Generate().Open(sealed(t, k, "x", "a"), "a"); !errors.Is(err, ErrOpen) {
		t.Errorf("another key: %v", err)
	}
}

func TestRotate(t *testing.T) {
	k := Generate()
	before := sealed(t, k, "old", "a")
	first, err := k.Text()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Rotate(); err != nil {
		t.Fatal(err)
	}
	after := sealed(t, k, "new", "a")
	if err := errors.Join(opens(k, before, "a", "old"), opens(k, after, "a", "new")); err != nil {
		t.Error(err)
	}
	unrotated, err := FromText(first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unrotated.Open(after, "a"); !errors.Is(err, ErrOpen) {
		t.Errorf("the old key alone opens what the new one sealed: %v", err)
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := k.Save(path); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(opens(loaded, before, "a", "old"), opens(loaded, after, "a", "new")); err != nil {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	k := Generate()
	text, err := k.Text()
	if err != nil {
		t.Fatal(err)
	}
	data := sealed(t, k, "x", "a")
	for name, spelling := range map[string]string{
		"as given": text, "without padding": strings.TrimRight(text, "="),
		"in lines": text[:40] + "\n" + text[40:] + "\n", "spaces around": "  " + text + " ",
	} {
		again, err := FromText(spelling)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := opens(again, data, "a", "x"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	mac := `{"primaryKeyId":1,"key":[{"keyData":{"typeUrl":"type.googleapis.com/google.crypto.tink.HmacKey","value":"EgQIAxAgGiAAAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHw==","keyMaterialType":"SYMMETRIC"},"status":"ENABLED","keyId":1,"outputPrefixType":"TINK"}]}`
	for _, c := range []struct{ name, text, want string }{
		{"empty", " ", "no encryption key"},
		{"no base64", "not!base64", "not base64"},
		{"no keyset", base64.StdEncoding.EncodeToString([]byte("hush-hush")), "no Tink keyset"},
		{"no keys", base64.StdEncoding.EncodeToString([]byte(`{"primaryKeyId":1,"key":[]}`)), "keyset"},
		{"another kind of key", base64.StdEncoding.EncodeToString([]byte(mac)), "not one for authenticated encryption"},
	} {
		_, err := FromText(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: error %v, want one with %q and nothing of the text", c.name, err, c.want)
		}
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := Generate().Save(path); err != nil {
		t.Fatal(err)
	}
	k := Generate()
	if err := k.Save(path); err != nil { // in place of the first
		t.Fatal(err)
	}
	loaded, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := opens(loaded, sealed(t, k, "x", "a"), "a", "x"); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err != nil {
		t.Errorf("mode 0400: %v", err)
	}
}

func TestUnusableFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "missing"), "no such file"},
		{"directory", dir, "no regular file"},
		{"empty", write("empty", nil), "no Tink keyset"},
		{"cut off", write("cut", []byte(`{"primaryKeyId":`)), "no Tink keyset"},
		{"huge", write("huge", make([]byte, maxFile+1)), "too large"},
	} {
		if runtime.GOOS == "windows" && c.name == "missing" {
			continue // worded otherwise
		}
		if _, err := Load(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, _, err := LoadOrCreate(write("bad", []byte("x"))); err == nil {
		t.Error("a file that cannot be used was replaced")
	}
	if err := Generate().Save(filepath.Join(dir, "no", "such", "directory")); err == nil {
		t.Error("saved into nothing")
	}
}

func TestLoadOrCreateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	const processes = 8
	made := make([]*Keyset, processes)
	var created sync.Map
	var group sync.WaitGroup
	for i := range processes {
		group.Go(func() {
			k, mine, err := LoadOrCreate(path)
			if err != nil {
				t.Error(err)
			}
			if mine {
				created.Store(i, true)
			}
			made[i] = k
		})
	}
	group.Wait()
	count := 0
	created.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("%d keysets were made", count)
	}
	data := sealed(t, made[0], "x", "a")
	for i, k := range made {
		if err := opens(k, data, "a", "x"); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestNothingIsShown(t *testing.T) {
	k := Generate()
	text, err := k.Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, value := range []any{k, *k} {
			if got := fmt.Sprintf(verb, value); got != "***" {
				t.Errorf("%s prints %s", verb, got)
			}
		}
		within := fmt.Sprintf(verb, struct{ k Keyset }{*k})
		if strings.Contains(within, "Gcm") || strings.Contains(within, text[:20]) {
			t.Errorf("%s prints %s within another value", verb, within)
		}
	}
	if got, err := json.Marshal(map[string]any{"pointer": k, "value": *k}); err != nil || string(got) != `{"pointer":"***","value":"***"}` {
		t.Errorf("JSON %s, %v", got, err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "key", k)
	if !strings.Contains(log.String(), "key=***") {
		t.Errorf("logged %s", log.String())
	}
}

func TestZeroKeyset(t *testing.T) {
	for name, k := range map[string]*Keyset{"nil": nil, "zero": {}} {
		if _, err := k.Seal(nil, ""); err == nil {
			t.Errorf("%s seals", name)
		}
		if _, err := k.Open(nil, ""); err == nil {
			t.Errorf("%s opens", name)
		}
		if err := errors.Join(k.Rotate(), k.Save(filepath.Join(t.TempDir(), "key"))); err == nil || !strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
