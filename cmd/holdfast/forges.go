package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"holdfast/bot/forge"
	"holdfast/bot/forge/folder"
	"holdfast/bot/forge/gitea"
	"holdfast/bot/forge/github"
	"holdfast/bot/forge/gitlab"
	"holdfast/bot/forge/transport"
	"holdfast/cmd/holdfast/config"
)

// folderAccount is the author of what the folder forge holds.
const folderAccount = "holdfast"

// openForge gives the forge that the configuration describes. Carrier carries its requests; nil means a plain one.
func openForge(ctx context.Context, f config.Forge, carrier http.RoundTripper) (forge.Publisher, error) {
	switch f.Type {
	case "folder":
		return folder.New(f.Path, folderAccount)
	case "github":
		options := github.Options{Owner: f.Owner, Repo: f.Name, BaseURL: f.BaseURL, Transport: transport.Options{Base: carrier}}
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
	case "gitlab":
		token, err := f.Token()
		if err != nil {
			return nil, err
		}
		return gitlab.New(gitlab.Options{
			Project: f.Owner + "/" + f.Name, BaseURL: f.BaseURL, Token: token, Kind: gitlab.TokenKind(f.TokenKind), Transport: transport.Options{Base: carrier},
		})
	case "gitea":
		token, err := f.Token()
		if err != nil {
			return nil, err
		}
		return gitea.New(gitea.Options{Owner: f.Owner, Repo: f.Name, BaseURL: f.BaseURL, Token: token, Transport: transport.Options{Base: carrier}})
	}
	return nil, fmt.Errorf("forge type %q: want github, gitlab, gitea or folder", f.Type)
}

// openHook gives what reads the webhook deliveries of a kind of forge. Account is the bot's own there, or empty.
func openHook(kind string, secret []byte, account string) (forge.Hook, error) {
	switch kind {
	case "github":
		return github.NewHook(secret, account)
	case "gitea":
		return gitea.NewHook(secret, account)
	case "gitlab":
		options := gitlab.HookOptions{Account: account}
		if text := string(secret); strings.HasPrefix(text, "whsec_") { // GitLab's signing tokens begin so
			options.SigningToken = text
		} else {
			options.Token = text
		}
		return gitlab.NewHook(options)
	}
	return nil, fmt.Errorf("webhook type %q: want github, gitlab or gitea", kind)
}
