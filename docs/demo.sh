#!/bin/sh
# `make demo`: check and fix a copy of the example agents. BIN is the folder that holds npuport.
set -eu

repository=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM

# Exit status 1 means findings, which is what a demo is for; 2 means that the job could not be done.
npuport() { "$BIN/npuport" "$@" || [ $? -eq 1 ]; }
first() { awk -v count="$1" 'BEGIN { RS = ""; ORS = "\n\n" } NR <= count'; }
say() { printf '\n== %s\n\n' "$1"; }

mkdir "$folder/agents"
for agent in "$repository"/fixtures/agents/*/cuda; do
    cp -R "$agent" "$folder/agents/$(basename "$(dirname "$agent")")"
done
find "$folder" -name __pycache__ -prune -exec rm -rf {} +
cd "$folder"

say "npuport check --statistics agents    what stands in the way, by rule"
npuport check --statistics agents >before
cat before

say "npuport check agents    the same line by line; the first four"
npuport check agents >findings
first 4 <findings

say "npuport fix agents/dqn_argparse    the diff of one agent; nothing is written without --write"
npuport fix --quiet agents/dqn_argparse

say "npuport fix --write agents    all of them"
npuport fix --write agents >ported
cat ported

say "npuport check --statistics agents    what is left"
npuport check --statistics agents >after
cat after

cat <<END

What happened
  A copy of the CUDA agents in fixtures/agents was checked:
    $(tail -n 1 before).
  fix rewrote the copy and added the imports that the new names need:
    $(sed -n '1s/:.*//p' ported).
  The last check says what is left for a person to decide:
    $(tail -n 1 after).
  Only the copy was changed; neither torch nor an NPU was needed.
  Next: npuport explain NPU101, or npuport fix --style portable for code that still runs on CUDA and CPU.
END
