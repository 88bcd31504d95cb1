#!/usr/bin/env bash
# tests/smoke.sh [VERSION ...]: on each of these Pythons, by default 3.10 to 3.13, that the machine has, installs
# ZorkGPT as requirements.lock has it, and plays, resumes, replays and reports a run of three turns.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# python VERSION: the interpreter of that version, on the PATH or below pyenv's versions; nothing if there is none
python() {
    local each
    for each in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        if [ -x "$each" ] && "$each" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            echo "$each"
            return
        fi
    done
}

smoke() {
    cd "$work"
    local zorkgpt="$1/bin/zorkgpt" name
    name=$(basename "$1")
    "$zorkgpt" doctor --workdir "$name"
    "$zorkgpt" run --max-turns 3 --max-tokens 1 --workdir "$name" || [ $? -eq 1 ]  # pauses after the first answer
    "$zorkgpt" resume --max-tokens 1000000 --workdir "$name"
    "$zorkgpt" replay --workdir "$name" | grep "is repeated exactly: 3 turns"
    "$zorkgpt" report --to "$name.html" --workdir "$name"
    grep -q "</html>" "$name.html"
    printf 'look\nnorth\n' | "$zorkgpt" play --workdir "$name-person" >/dev/null
    "$1/bin/python" -c "
from zorkgpt import api
run = api.play(agent=lambda situation: 'look', max_turns=3, workdir='$name-api')
assert len(run.episodes[0].turns) == 3, run.episodes
"
    cd "$root"
}

ran=()
for version in "${@:-3.10 3.11 3.12 3.13}"; do
    for each in $version; do
        interpreter=$(python "$each")
        if [ -z "$interpreter" ]; then
            echo "smoke: no Python $each on this machine"
            continue
        fi
        "$interpreter" -m venv "$work/$each"
        "$work/$each/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
            -r requirements.lock
        "$work/$each/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation .
        smoke "$work/$each"
        ran+=("$("$interpreter" -V)")
    done
done
[ ${#ran[@]} -gt 0 ] || { echo "smoke: no Python was found" >&2; exit 1; }
printf 'smoke: passed with %s\n' "${ran[@]}"
