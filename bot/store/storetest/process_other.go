//go:build unix && !linux

package storetest

import "syscall"

// childAttributes lets a program run as another user.
func childAttributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}
