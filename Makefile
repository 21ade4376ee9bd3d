# The steps themselves are plain scripts, since a fresh machine has no make.
.PHONY: build run test
build:
	@scripts/run --build
run:
	@scripts/run
test:
	@scripts/test
