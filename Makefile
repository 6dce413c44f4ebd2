# Targets for whoever builds Holdfast. `make` alone prints this list.
export CGO_ENABLED := 0
export GOFLAGS := -buildvcs=false
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

.DEFAULT_GOAL := help
.PHONY: help build test test-short test-race fmt generate verify golden fuzz e2e bench bench-codify demo cover image clean

help: ## print this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

build: ## build bin/holdfast
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/holdfast ./cmd/holdfast

test: lab prism ## every test, the real control plane included
	go test -timeout 25m ./...

test-short: ## the tests that need no lab
	go test -short ./...

test-race: ## the tests that need no lab, with the race detector
	CGO_ENABLED=1 go test -race -short ./...

fmt: ## format the Go code
	gofmt -w $$(git ls-files '*.go')

generate: ## rewrite what is generated: tables of Kubernetes' types and defaults, JSON schemas
	go run ./gitops/typed/internal/gen
	go run ./gitops/typed/internal/learn
	go generate ./...

verify: ## fail when a generated file is stale; nothing is written, and no lab is needed
	go run ./gitops/typed/internal/gen -check
	go run ./gitops/typed/internal/learn -check
	go test -count 1 -run '^TestSchemas$$' ./cmd/holdfast/config

golden: ## rewrite the golden files of the tests that need no lab
	go test -short $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u) -update

FUZZTIME ?= 20s
fuzz: ## run every fuzz target for FUZZTIME
	@go list ./... | while read -r p; do \
	  for f in $$(go test -list '^Fuzz' "$$p" 2>/dev/null | grep '^Fuzz'); do \
	    echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) "$$p" || exit 1; done; done

e2e: lab ## the same drifts under the real Flux, the real Argo CD and Holdfast, which writes PEERS.md; and all on a real Gitea
	go run ./deploy/lab/build gitea
	HOLDFAST_E2E=1 go test -count 1 -timeout 20m ./bot/forge/gitea ./deploy/lab
	HOLDFAST_E2E=1 go test -count 1 -timeout 30m -run Gitea ./cmd/holdfast
	HOLDFAST_E2E=1 go test -count 1 -timeout 20m -v -run '^(TestPeers|TestExamples)$$' ./cmd/holdfast

bench: lab build ## the figures of BENCHMARKS.md, as ratios in one run
	go run ./deploy/bench

bench-codify: lab ## codify measured by random changes of public repositories, which are cloned beside the project
	go run ./deploy/bench/codify

demo: build ## the main job on a recorded cluster: findings, pull request, signed branch
	./deploy/demo/run.sh bin/holdfast

IMAGE_ARCHITECTURES ?= amd64
CA_CERTIFICATES ?= /etc/ssl/certs/ca-certificates.crt
image: ## assemble bin/image, an OCI layout, for IMAGE_ARCHITECTURES (amd64 arm64), with CA_CERTIFICATES
	@for a in $(IMAGE_ARCHITECTURES); do echo "building for $$a"; \
	  GOOS=linux GOARCH=$$a go build -trimpath -ldflags '$(LDFLAGS)' -o bin/holdfast-linux-$$a ./cmd/holdfast || exit 1; done
	go run ./deploy/image -out bin/image -ca $(CA_CERTIFICATES) -version $(VERSION) -revision "$$(git rev-parse HEAD)" \
	  -created "$$(git log -1 --format=%cI)" $(foreach a,$(IMAGE_ARCHITECTURES),-binary $(a)=bin/holdfast-linux-$(a))

cover: ## test coverage of the tests that need no lab
	go test -short -coverprofile coverage.out ./... && go tool cover -func coverage.out | tail -1

clean: ## remove what was built, the lab's binaries excepted
	rm -rf bin coverage.out

include deploy/lab/lab.mk
include .ci/lint.mk
include bot/forge/github/testdata/prism.mk
