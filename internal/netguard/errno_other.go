//go:build !windows

package netguard

import "syscall"

func errnos() errnoTable {
	return errnoTable{
		refused:     []syscall.Errno{syscall.ECONNREFUSED},
		reset:       []syscall.Errno{syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE},
		timedOut:    []syscall.Errno{syscall.ETIMEDOUT},
		unreachable: []syscall.Errno{syscall.EHOSTUNREACH, syscall.EHOSTDOWN},
		// EADDRNOTAVAIL is what a host without the address family says.
		noRoute:     []syscall.Errno{syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL},
		descriptors: []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM},
		forbidden:   []syscall.Errno{syscall.EACCES, syscall.EPERM},
	}
}
