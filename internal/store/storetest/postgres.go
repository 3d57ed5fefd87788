package storetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is the PostgreSQL of this test binary.
//
//nolint:gochecknoglobals // starting one takes seconds: all tests of a binary share it
var cluster struct {
	sync.Mutex
	port      int
	databases int
	hold      *os.File // while it is open, the server runs
	err       error
}

const startTimeout = 90 * time.Second

// Postgres starts a PostgreSQL, once for each test binary, and gives the URL of a new,
// empty database in it, which is dropped when the test ends. The test fails when no
// PostgreSQL is installed.
//
// It listens on 127.0.0.1 only, trusts everybody there, keeps its data in a temporary
// folder without waiting for the disk, and ends with the test binary, however that ends.
func Postgres(t testing.TB) string {
	t.Helper()
	cluster.Lock()
	defer cluster.Unlock()
	if cluster.port == 0 && cluster.err == nil {
		cluster.port, cluster.err = start()
	}
	if cluster.err != nil {
		t.Fatalf("no PostgreSQL for the test: %v", cluster.err)
	}
	cluster.databases++
	name := "test_" + strconv.Itoa(cluster.databases)
	port := cluster.port
	if err := admin(port, "create database "+name); err != nil {
		t.Fatalf("make a database: %v", err)
	}
	t.Cleanup(func() {
		if err := admin(port, "drop database "+name+" with (force)"); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	return address(port, name)
}

func address(port int, database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", port, database)
}

func admin(port int, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, address(port, "postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// script makes a cluster in $1 with the programs in $2 and serves it on port $3, until
// its standard input ends, which the test binary holds open. A signal to the whole group
// of processes does not keep it from cleaning up.
const script = `
trap '' INT TERM HUP
"$2/initdb" -D "$1/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$1/log" 2>&1 || exit 1
"$2/postgres" -D "$1/data" -k "$1" -p "$3" -c listen_addresses=127.0.0.1 -c max_connections=300 \
  -c fsync=off -c full_page_writes=off -c synchronous_commit=off >>"$1/log" 2>&1 &
server=$!
cat >/dev/null
kill -INT $server
wait $server
rm -rf "$1"
`

func start() (port int, err error) {
	programs, err := programs()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("/tmp", "storetest") // short: a socket has its path in it
	if err != nil {
		return 0, err
	}
	if port, err = freePort(); err != nil {
		return 0, err
	}
	arguments := []string{"sh", "-c", script, "storetest", dir, programs, strconv.Itoa(port)}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if err := giveTo("postgres", dir); err != nil {
			return 0, err
		}
		arguments = append([]string{"runuser", "-u", "postgres", "--"}, arguments...)
	}
	held, hold, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	command := exec.CommandContext(context.Background(), arguments[0], arguments[1:]...)
	command.Dir, command.Stdin = dir, held
	if err := command.Start(); err != nil {
		return 0, err
	}
	_ = held.Close()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = admin(port, "select 1"); err == nil {
			// Nobody closes it: it ends with the process.
			cluster.hold = hold
			return port, nil
		}
	}
	_ = hold.Close()
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	return 0, fmt.Errorf("it does not answer: %w; its log:\n%s", err, log)
}

// programs is the folder of initdb and postgres, the newest.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	best, version := "", 0.0
	for _, path := range found {
		dir := filepath.Dir(path)
		if v, err := strconv.ParseFloat(filepath.Base(filepath.Dir(dir)), 64); err == nil && v > version {
			best, version = dir, v
		}
	}
	if best != "" {
		return best, nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("initdb is not installed: run scripts/system-deps.sh")
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

func freePort() (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	_, text, _ := strings.Cut(listener.Addr().String(), ":")
	port, err := strconv.Atoi(text)
	return port, errors.Join(err, listener.Close())
}

func giveTo(name, dir string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, -1)
}
