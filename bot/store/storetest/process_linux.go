package storetest

import "syscall"

// childAttributes lets a program run as another user, and the kernel kill it when this process dies.
func childAttributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGQUIT, Credential: as}
}
