package netguard

import "syscall"

// Winsock's error numbers; package syscall's own constants of these names are
// not what the system returns.
func errnos() errnoTable {
	return errnoTable{
		refused:     []syscall.Errno{10061},
		reset:       []syscall.Errno{10054, 10053, 10058, 10052},
		timedOut:    []syscall.Errno{10060},
		unreachable: []syscall.Errno{10065, 10064},
		noRoute:     []syscall.Errno{10051, 10050, 10049},
		descriptors: []syscall.Errno{10024, 10055},
		forbidden:   []syscall.Errno{10013},
	}
}
