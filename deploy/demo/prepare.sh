#!/bin/sh
# Makes the demo's Git repository from deploy/demo/repository in the folder given, as one commit on main whose
# identity and dates are fixed. Its hash is the revision that the recorded cluster says it applied.
# The second argument, if any, is where the files come from.
set -eu
to=$1
from=${2:-$(dirname "$0")/repository}
mkdir -p "$to"
cp -R "$from/." "$to"
# Nothing of the user's own configuration, nor of a Git that calls this, may change the commit.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_TEMPLATE_DIR
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Bob GIT_AUTHOR_EMAIL=bob@example.test GIT_AUTHOR_DATE='2026-11-02T09:00:00+00:00'
export GIT_COMMITTER_NAME=Bob GIT_COMMITTER_EMAIL=bob@example.test GIT_COMMITTER_DATE='2026-11-02T09:00:00+00:00'
cd "$to"
git init -q -b main --object-format=sha1
git config core.autocrlf false
git config core.fileMode false
git add -A
git commit -q -m 'Shop 2.4.1 in production'
git rev-parse HEAD
