// Command argobox is the Argo CD of the lab in one binary: application controller, repo server, a Redis that lives in
// memory for what these two tell each other, and the kustomize that the repo server calls. The first argument names
// the program to be; a file name (or link) of kustomize does too.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	reposerver "github.com/argoproj/argo-cd/v2/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
	kustomize "sigs.k8s.io/kustomize/kustomize/v5/commands"
)

func main() {
	command := &cobra.Command{Use: "argobox", SilenceUsage: true}
	repo := reposerver.NewCommand()
	repo.Use = "repo-server"
	command.AddCommand(controllerCommand(), repo, redisCommand())
	if filepath.Base(os.Args[0]) == "kustomize" {
		command = kustomize.NewDefaultCommand()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command.ExecuteContext(ctx); err != nil {
		stop()
		os.Exit(1)
	}
}

func redisCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "redis ADDRESS",
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			redis := miniredis.NewMiniRedis()
			if err := redis.StartAddr(args[0]); err != nil {
				return fmt.Errorf("redis on %s: %w", args[0], err)
			}
			defer redis.Close()
			<-command.Context().Done()
			return nil
		},
	}
}
