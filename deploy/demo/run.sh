#!/usr/bin/env bash
# The main job on a recorded cluster: what drifted, the pull request that answers it, and its signed branch.
# Usage: run.sh HOLDFAST. Everything it makes lies in one new folder, whose name it prints.
set -euo pipefail
holdfast=$(realpath "${1:?usage: run.sh HOLDFAST}")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-demo.XXXXXX")
url=https://git.example.test/fleet.git

say() { printf '\n\033[1m%s\033[0m\n\n' "$*"; }

"$here/prepare.sh" "$work/fleet" >/dev/null
ssh-keygen -q -t ed25519 -N '' -C holdfast@example.test -f "$work/key"
printf 'holdfast@example.test namespaces="git" %s\n' "$(cut -d' ' -f1,2 "$work/key.pub")" >"$work/allowed-signers"
cat >"$work/holdfast.yaml" <<YAML
apiVersion: holdfast/v1
kind: Config
tier: production
clusters:
  - name: production
repositories:
  - url: $url
    clusters: [production]
    namespaces: [flux-system]
    forge: {type: folder, path: $work/forge}
signing:
  keyFile: $work/key
  name: Holdfast
  email: holdfast@example.test
YAML
cd "$here"
input=(--config "$work/holdfast.yaml" --live live.yaml --audit audit.jsonl --git "$url=$work/fleet" --policy policy.yaml)

say 'holdfast scan: what drifted, who did it, what policy says'
"$holdfast" scan "${input[@]}" || (($? == 1))

say 'holdfast propose: pull requests and issues, here in a folder'
"$holdfast" propose "${input[@]}" || (($? == 1))

say 'The codify pull request'
pull=$(grep -l 'drift/codify' "$work"/forge/pull-requests/*.md | head -n 1)
cat "$pull"

say 'Its branch, signed'
branch=$(sed -n 's/^branch: //p' "$pull")
git -C "$work/fleet" -c gpg.ssh.allowedSignersFile="$work/allowed-signers" log -1 --show-signature --stat "$branch"
git -C "$work/fleet" -c gpg.ssh.allowedSignersFile="$work/allowed-signers" verify-commit "$branch"

printf '\nAll of it is in %s\n' "$work"
