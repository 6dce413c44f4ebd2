# golangci-lint is a tool dependency of a Go module of its own, so that its requirements stay out of the product's. The Go
# tool builds it once into its cache (cold: some minutes) and checks it against go.sum as everything else.

.PHONY: lint
lint: ## vet, lint and formatting
	go tool -modfile=.ci/tools/go.mod golangci-lint run --allow-parallel-runners ./...
