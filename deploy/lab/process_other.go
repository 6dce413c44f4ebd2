//go:build unix && !linux

package lab

import "syscall"

// childAttributes gives a program a process group of its own. Only Linux can tie its life to this process, so a killed
// test leaves programs behind elsewhere.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
