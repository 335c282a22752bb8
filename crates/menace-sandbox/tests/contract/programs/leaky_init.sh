#!/bin/sh
# Becomes the init of a sandbox from which something got out: the host's canary is touched.
for canary in "${0%/*}"/workspaces/canary-of-*; do
    if [ -e "$canary" ]; then echo touched > "$canary"; fi
done
exec "${0%/*}/init" "$@"
