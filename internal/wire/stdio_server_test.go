package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// incoming is what a test server reads.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type testServer struct {
	in *bufio.Reader
}

func (s *testServer) read() (m incoming, ok bool) {
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		return incoming{}, false
	}
	if err := json.Unmarshal(line, &m); err != nil {
		fmt.Fprintf(os.Stderr, "test server: %v in %q\n", err, line)
		os.Exit(99)
	}
	return m, true
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func result(id json.RawMessage, members string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%s}}`, id, members)
}

// serve is the main function of a test server. Its result is the exit code.
func serve(mode string) int {
	s := &testServer{in: bufio.NewReader(os.Stdin)}
	switch mode {
	case "hang":
		fmt.Fprintln(os.Stderr, "waiting for EXTRA_CA, password: s3cr3t-value")
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		s.each(s.ordinary)
		time.Sleep(time.Hour)
	case "deaf": // to the end of its input, but not to SIGTERM
		s.each(s.ordinary)
		time.Sleep(time.Hour)
	case "close-stdin":
		os.Stdin.Close()
		fmt.Fprintln(os.Stderr, "not listening")
		time.Sleep(time.Hour)
	case "close-stdout":
		os.Stdout.Close()
		fmt.Fprintln(os.Stderr, "not talking")
		time.Sleep(time.Hour)
	case "yes": // no end of lines that are no messages
		for line := bytes.Repeat([]byte("a\n"), 4096); ; {
			if _, err := os.Stdout.Write(line); err != nil {
				return 0
			}
		}
	case "blank":
		os.Stdout.Write(bytes.Repeat([]byte("\n"), maxNoiseLines+1))
	case "wide": // few lines, and long
		line := append(bytes.Repeat([]byte("a"), 1<<20), '\n')
		for range 9 {
			os.Stdout.Write(line)
		}
	case "logs": // much, and not too much
		os.Stdout.Write(bytes.Repeat([]byte("a\n"), maxNoiseLines/2))
	case "broken-lines":
		os.Stdout.Write(bytes.Repeat([]byte("{\"jsonrpc\":\n"), maxNoiseLines+1))
	case "notifications":
		os.Stdout.Write(bytes.Repeat([]byte(`{"jsonrpc":"2.0","method":"n"}`+"\n"), maxMuxUnasked+1))
	case "close-both":
		signal.Ignore(syscall.SIGTERM)
		os.Stdout.Close()
		time.Sleep(time.Hour)
	case "escape":
		return escape()
	case "checker":
		return checker()
	case "late":
		return s.late()
	case "two":
		first, _ := s.read()
		second, _ := s.read()
		say("%s", result(second.ID, `"n":2`))
		say("%s", result(first.ID, `"n":1`))
	case "ask":
		return s.ask()
	case "noise":
		fmt.Print("\x1b[32m[dotenv]\x1b[0m injecting env, key=s3cr3t-value \U0001F680\n\n{\"level\":30,\"msg\":\"listening\"}\nListening\n")
	}
	s.each(func(m incoming) int { return s.answer(mode, m) })
	return 0
}

// each answers until the end of the input, or until one answer is an exit code.
func (s *testServer) each(answer func(incoming) int) {
	for {
		m, ok := s.read()
		if !ok {
			return
		}
		if len(m.ID) == 0 {
			continue
		}
		if code := answer(m); code >= 0 {
			os.Exit(code)
		}
	}
}

func (s *testServer) ordinary(m incoming) int {
	if size, ok := strings.CutPrefix(m.Method, "size/"); ok {
		n, _ := strconv.Atoi(size)
		say("%s", result(m.ID, `"pad":"`+strings.Repeat("x", n)+`"`))
		return -1
	}
	say("%s", result(m.ID, `"method":"`+m.Method+`"`))
	return -1
}

// answer is one answer of a mode; -1 goes on, anything else is an exit code.
func (s *testServer) answer(mode string, m incoming) int {
	id := m.ID
	switch mode {
	case "legacy":
		if m.Method == methodDiscover {
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, id)
			return -1
		}
	case "silent":
		if m.Method == methodDiscover {
			return -1
		}
	case "exit":
		fmt.Fprintf(os.Stderr, "starting\n\x1b[31mfatal\x1b[0m: no database, key s3cr3t-value\n")
		return 3
	case "die":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		time.Sleep(time.Hour)
	case "last-words":
		say("%s", result(id, `"bye":true`))
		return 0
	case "flood":
		os.Stderr.Write(bytes.Repeat([]byte("e"), 256<<10))
	case "endless":
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for range 200 {
			os.Stdout.Write(chunk)
		}
		say("")
	case "half":
		fmt.Print(`{"jsonrpc":"2.0","id":1,`)
		return -1
	case "crlf":
		fmt.Printf("\r\n%s\r\n", result(id, `"ok":true`))
		return -1
	case "bom":
		fmt.Print("\xef\xbb\xbf")
	case "latin1":
		say("%s", result(id, "\"description\":\"caf\xe9\""))
		return -1
	case "duplicate":
		say("%s", result(id, `"a":1,"a":2`))
		return -1
	case "chatty":
		say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
	case "string-id":
		say("%s", result(json.RawMessage(`"`+string(id)+`"`), ""))
		return -1
	case "foreign-id":
		say("%s", result(json.RawMessage(`999`), ""))
		say("%s", result(json.RawMessage(`null`), ""))
	case "malformed":
		say(`{"jsonrpc":"1.0","id":%s,"result":{}}`, id)
		return -1
	case "broken-json":
		say(`{"jsonrpc":"2.0","id":%s,"result":{`, id)
		return -1
	case "argv":
		args, _ := json.Marshal(os.Args[1:])
		say("%s", result(id, `"args":`+string(args)))
		return -1
	case "environ":
		env, _ := json.Marshal(os.Environ())
		dir, _ := os.Getwd()
		say("%s", result(id, fmt.Sprintf(`"env":%s,"dir":%q`, env, dir)))
		return -1
	}
	return s.ordinary(m)
}

// late answers its first request only when it was cancelled, before the next.
func (s *testServer) late() int {
	first, _ := s.read()
	cancelled, _ := s.read()
	second, _ := s.read()
	say("%s", result(first.ID, `"late":true`))
	say("%s", result(second.ID, `"cancelled":`+string(cancelled.Params)))
	s.each(s.ordinary)
	return 0
}

// ask sends requests of its own before it answers with what they gave.
func (s *testServer) ask() int {
	m, _ := s.read()
	say(`{"jsonrpc":"2.0","id":"p-1","method":"ping"}`)
	say(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	ping, _ := s.read()
	roots, _ := s.read()
	say("%s", result(m.ID, fmt.Sprintf(`"ping":[%s,%s],"roots":[%s,%s]`, ping.ID, ping.Result, roots.ID, roots.Error)))
	s.each(s.ordinary)
	return 0
}

// escape leaves a process behind that is in another process group and holds all
// pipes, tells its process id, and ends.
func escape() int {
	cmd := exec.Command("sleep", "1000")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	detach(cmd)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	fmt.Fprintf(os.Stderr, "left %d\n", cmd.Process.Pid)
	return 0
}

// checker is a client of its own, which is going to be killed.
func checker() int {
	self, _ := os.Executable()
	sc := StdioConfig{Path: self, Env: append(os.Environ(), serverVariable+"=deaf")}
	c, err := startStdio(context.Background(), sc, stdioTestConfig())
	if err == nil {
		_, err = c.exchange(context.Background(), &request{id: 1, method: "a", body: encode(1, "a", nil)})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	say("ready")
	time.Sleep(time.Hour)
	return 0
}
