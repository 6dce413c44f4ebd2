# The lab: programs of a real control plane, built from Go modules of their own into deploy/lab/.bin (or
# $HOLDFAST_LAB_BIN), once for each set of requirements.

.PHONY: lab
lab: ## build the lab's programs that are absent (cold: about 30 minutes of processor time)
	@CGO_ENABLED=0 go run ./deploy/lab/build
