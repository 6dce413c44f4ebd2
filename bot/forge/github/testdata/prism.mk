# Included by the Makefile: the validating mock of GitHub's REST API that the tests of bot/forge/github need.
PRISM := bot/forge/github/testdata/prism

.PHONY: prism
prism: $(PRISM)/node_modules/.package-lock.json ## Install the mock of GitHub's REST API for the tests (needs Node and npm)

$(PRISM)/node_modules/.package-lock.json: $(PRISM)/package-lock.json
	cd $(PRISM) && npm ci --ignore-scripts --no-audit --no-fund
	touch $@
