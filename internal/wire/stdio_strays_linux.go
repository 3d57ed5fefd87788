package wire

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of one look at the processes of the machine.
const (
	maxScanned = 4096
	maxStrays  = 512
	maxScan    = 50 * time.Millisecond
	maxPasses  = 16 // through what was scanned
)

// family finds the descendants of a server that left its process group. It knows
// them by their parents, by sessions that they began, and by the pipes they hold.
// All else that a process can shed, an orphan has shed: it is not found.
type family struct {
	leader int
	since  uint64              // when the leader started; 0: nothing can be found
	pipes  map[string]struct{} // as /proc names them

	mu    sync.Mutex
	over  bool      // the leader's id may be that of another process
	known []process // descendants when they were last looked for, in the group or not
}

// newFamily is for the server with the process id leader, and our ends of its
// pipes.
func newFamily(leader int, pipes ...*os.File) *family {
	f := &family{leader: leader, pipes: make(map[string]struct{})}
	if p, ok := readProcess(leader); ok {
		f.since = p.started
	}
	for _, pipe := range pipes {
		if info, err := pipe.Stat(); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				f.pipes[fmt.Sprintf("pipe:[%d]", stat.Ino)] = struct{}{}
			}
		}
	}
	return f
}

// remember notes who descends from the leader while it runs: when it has ended,
// they are orphans.
func (f *family) remember() { f.look(nil) }

// end is called before the id of the leader is given back.
func (f *family) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

// strays are the descendants that run and are not in the group of the leader.
// They are looked for anew each time.
func (f *family) strays() []stray { return f.look(f.holds) }

// alone reports whether the last look found no descendant at all, in the group
// or not.
func (f *family) alone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.known) == 0
}

// look finds descendants, also by holds if it is set, and remembers them.
func (f *family) look(holds func(process, time.Time) bool) (strays []stray) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || f.since == 0 {
		return nil
	}
	deadline := time.Now().Add(maxScan)
	all := scanProcesses(f.since, deadline)
	roots := make(map[int]struct{})
	for _, p := range all {
		if p.pid == f.leader || p.group == f.leader || slices.ContainsFunc(f.known, p.is) || holds != nil && holds(p, deadline) {
			roots[p.pid] = struct{}{}
		}
	}
	f.known = f.known[:0]
	for _, p := range descend(all, roots) {
		if p.pid == f.leader || p.ended || !p.ours() {
			continue
		}
		f.known = append(f.known, p) // who is in the group may leave it yet
		if p.group != f.leader && len(strays) < maxStrays {
			strays = append(strays, stray{p})
		}
	}
	return strays
}

// holds reports whether p has one of the pipes open.
func (f *family) holds(p process, deadline time.Time) bool {
	if p.ended || p.group == f.leader || !p.ours() || !f.hasPipe(p.pid, deadline) {
		return false
	}
	if p.parent != os.Getpid() {
		return true
	}
	// A child that we are just starting for something else has all our files
	// open until it executes its program. No such child exists under the lock.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return f.hasPipe(p.pid, deadline)
}

func (f *family) hasPipe(pid int, deadline time.Time) bool {
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return false
	}
	defer dir.Close()
	for time.Now().Before(deadline) {
		names, err := dir.Readdirnames(64)
		for _, name := range names {
			link, err := os.Readlink(dir.Name() + "/" + name)
			if _, ok := f.pipes[link]; ok && err == nil {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
	return false
}

// descend returns those of all that are roots or descend from one.
func descend(all []process, roots map[int]struct{}) (found []process) {
	// Parents first, so that one pass finds nearly everything.
	slices.SortFunc(all, func(a, b process) int {
		return cmp.Or(cmp.Compare(a.started, b.started), cmp.Compare(a.pid, b.pid))
	})
	home, _ := unix.Getsid(0)
	born := make(map[int]uint64)       // of those found, when they started
	sessions := make(map[int]struct{}) // that they began: nobody can join one
	for range maxPasses {
		before := len(found)
		for _, p := range all {
			if _, ok := born[p.pid]; ok {
				continue
			}
			_, root := roots[p.pid]
			_, session := sessions[p.session]
			// A child older than its parent is the child of an earlier
			// process with that id.
			parent, child := born[p.parent]
			if !root && !session && (!child || parent > p.started) {
				continue
			}
			born[p.pid] = p.started
			found = append(found, p)
			if p.session != home && p.session != 0 {
				sessions[p.session] = struct{}{}
			}
		}
		if len(found) == before {
			break
		}
	}
	return found
}

// process is what /proc says of one.
type process struct {
	pid, parent, group, session int
	// started is in ticks since the machine started. An id and it name a
	// process for ever; the id alone is used again.
	started uint64
	ended   bool // it only waits for its parent to hear of it
}

func (p process) is(other process) bool { return p.pid == other.pid && p.started == other.started }

// ours reports whether p runs as the user we run as.
func (p process) ours() bool {
	var stat unix.Stat_t
	return p.pid != os.Getpid() && unix.Stat("/proc/"+strconv.Itoa(p.pid), &stat) == nil && stat.Uid == uint32(os.Geteuid()) //nolint:gosec // user ids have 32 bits
}

// scanProcesses reads the processes that are not older than since, those with
// the highest ids first, which are mostly the youngest.
func scanProcesses(since uint64, deadline time.Time) (all []process) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1) // what was read before an error counts
	_ = dir.Close()
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	for i, pid := range slices.Backward(pids) {
		if len(pids)-i > maxScanned || !time.Now().Before(deadline) {
			break
		}
		if p, ok := readProcess(pid); ok && p.started >= since {
			all = append(all, p)
		}
	}
	return all
}

// readProcess reads /proc/PID/stat; see proc_pid_stat(5).
func readProcess(pid int) (p process, ok bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, false
	}
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	_ = unix.Close(fd)
	if err != nil {
		return process{}, false
	}
	// The name in parentheses may hold anything, also parentheses.
	rest := buf[:n]
	fields := bytes.Fields(rest[bytes.LastIndexByte(rest, ')')+1:])
	if len(fields) < 20 {
		return process{}, false
	}
	p = process{pid: pid, ended: bytes.ContainsAny(fields[0], "ZXx")}
	for i, at := range []*int{&p.parent, &p.group, &p.session} {
		if *at, err = strconv.Atoi(string(fields[1+i])); err != nil {
			return process{}, false
		}
	}
	p.started, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return p, err == nil
}

// stray is a process to be ended.
type stray struct{ p process }

func (s stray) id() int { return s.p.pid }

// alive reports whether it still runs.
func (s stray) alive() bool {
	p, ok := readProcess(s.p.pid)
	return ok && p.is(s.p) && !p.ended
}

func (s stray) terminate() { s.signal(unix.SIGTERM) }

func (s stray) kill() { s.signal(unix.SIGKILL) }

// signal never reaches another process that got the same id: the descriptor
// is bound to a process, and that it is the right one is seen after it was made.
func (s stray) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(s.p.pid, 0)
	if err == nil {
		defer unix.Close(fd) //nolint:errcheck // nothing was written
	}
	if !s.alive() {
		return
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		_ = unix.Kill(s.p.pid, sig) // an old kernel, or no descriptors
	}
}
