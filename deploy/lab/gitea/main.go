// Command gitea is the forge of the lab: Gitea as it is, built without cgo. Its own program reaches SQLite through a
// driver in C; this one registers a driver in Go under the same name.
package main

import (
	"database/sql"
	"os"
	"runtime"
	"time"

	"code.gitea.io/gitea/cmd"
	"code.gitea.io/gitea/modules/log"
	_ "code.gitea.io/gitea/modules/markup/markdown" // registers itself
	"code.gitea.io/gitea/modules/setting"
	"github.com/urfave/cli/v3"
)

// version is set by the linker.
var version = "development"

func main() {
	built := " built with " + runtime.Version()
	setting.AppVer, setting.AppBuiltWith, setting.AppStartTime = version, built, time.Now().UTC()
	// What Gitea's build tag sqlite does, with another driver.
	setting.EnableSQLite3 = true
	setting.SupportedDatabaseTypes = append(setting.SupportedDatabaseTypes, "sqlite3")
	sql.Register("sqlite3", &driverInGo{})

	cli.OsExiter = func(code int) {
		log.GetManager().Close() // what is logged last is written too
		os.Exit(code)
	}
	app := cmd.NewMainApp(cmd.AppVersion{Version: version, Extra: built})
	_ = cmd.RunMainApp(app, os.Args...) // it prints its error, and exits by OsExiter
	log.GetManager().Close()
}
