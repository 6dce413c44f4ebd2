package main

import (
	"database/sql/driver"
	"strings"

	"modernc.org/sqlite"
)

// driverInGo opens databases by the names that Gitea makes for the driver in C.
type driverInGo struct{ sqlite.Driver }

// Open implements driver.Driver.
func (d *driverInGo) Open(name string) (driver.Conn, error) { return d.Driver.Open(translate(name)) }

// translate writes a name's settings as the driver in Go reads them. A cache that connections share is left out: there
// one connection would wait for another's lock without end. Nothing is synced to disk: the data is throw-away.
func translate(name string) string {
	file, query, _ := strings.Cut(name, "?")
	settings := []string{"_pragma=synchronous(off)"}
	for _, setting := range strings.Split(query, "&") {
		switch key, value, _ := strings.Cut(setting, "="); key {
		case "", "cache":
		case "_busy_timeout", "_journal_mode":
			settings = append(settings, "_pragma="+key[1:]+"("+value+")")
		default:
			settings = append(settings, setting)
		}
	}
	return file + "?" + strings.Join(settings, "&")
}
