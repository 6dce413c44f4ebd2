//go:build unix

package store

import (
	"os"
	"syscall"
)

// holdFile says whether no other process holds the file, and holds it until the process ends, however it ends. It
// holds the file alone while first runs, and beside others from then on.
func holdFile(name string, first func(alone bool) error) (hold *os.File, err error) {
	hold, err = os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	alone := syscall.Flock(int(hold.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	err = first(alone)
	if err == nil {
		err = syscall.Flock(int(hold.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		_ = hold.Close()
		return nil, err
	}
	return hold, nil
}
