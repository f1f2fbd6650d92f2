#!/bin/sh
# Commits the working tree, with untracked files, to a ref of its own before a tool changes it.
# An index beside the real one is used, so neither that nor HEAD nor a branch is touched.

ref=refs/hookline/checkpoints

# Inside a git hook, git's own variables would lead to another index.
unset $(git rev-parse --local-env-vars 2>/dev/null)
cd "${HOOKLINE_PROJECT_DIR:-.}" || exit 1
[ "$(git rev-parse --is-inside-work-tree 2>/dev/null)" = true ] || exit 0

scratch=$(mktemp -d "${TMPDIR:-/tmp}/checkpoint.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# What git knows about unchanged files saves reading them again; -p, because the age of the index
# tells it which files it has to look at nevertheless.
index=$(git rev-parse --git-path index)
if [ -f "$index" ]; then
    cp -p "$index" "$scratch/index" || exit 1
fi
GIT_INDEX_FILE=$scratch/index
GIT_AUTHOR_NAME=hookline GIT_AUTHOR_EMAIL=hookline@localhost
GIT_COMMITTER_NAME=hookline GIT_COMMITTER_EMAIL=hookline@localhost
export GIT_INDEX_FILE GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

# Nothing of the user's runs because of this: no git hooks, no file watcher.
quietly() {
    git -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@" 2>"$scratch/errors"
}

fail() {
    cat "$scratch/errors" >&2
    exit 1
}

quietly add --all || fail
tree=$(quietly write-tree) || fail

# Tools that run at once make checkpoints at once; whoever comes second builds on the first.
for _ in 1 2 3 4 5; do
    last=$(git rev-parse --quiet --verify "$ref^{commit}")
    parent=${last:-$(git rev-parse --quiet --verify 'HEAD^{commit}')}
    if [ -n "$last" ] && [ "$(git rev-parse "$last^{tree}")" = "$tree" ]; then
        exit 0
    fi
    message="Before a tool call of session ${HOOKLINE_SESSION_ID:-unknown}"
    commit=$(quietly commit-tree "$tree" ${parent:+-p "$parent"} -m "$message") || fail
    quietly update-ref "$ref" "$commit" "$last" && exit 0
done
fail
