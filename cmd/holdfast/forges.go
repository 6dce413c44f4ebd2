package main

import (
	"context"
	"fmt"

	"holdfast/bot/forge"
	"holdfast/bot/forge/folder"
	"holdfast/bot/forge/github"
	"holdfast/cmd/holdfast/config"
)

// folderAccount is the author of what the folder forge holds.
const folderAccount = "holdfast"

// openForge gives the forge that the configuration describes.
func openForge(ctx context.Context, f config.Forge) (forge.Publisher, error) {
	switch f.Type {
	case "folder":
		return folder.New(f.Path, folderAccount)
	case "github":
		options := github.Options{Owner: f.Owner, Repo: f.Name, BaseURL: f.BaseURL}
		var err error
		if options.Token, err = f.Token(); err != nil {
			return nil, err
		}
		if f.App != nil {
			key, err := f.App.PrivateKey()
			if err != nil {
				return nil, err
			}
			options.App = &github.App{ID: f.App.ID, InstallationID: f.App.InstallationID, PrivateKey: key}
		}
		return github.New(ctx, options)
	}
	return nil, fmt.Errorf("forge type %q: want github or folder", f.Type)
}
