#!/usr/bin/env bash
# tests/smoke.sh [VERSION ...]: on each of these Pythons, by default 3.10 to 3.13, that the machine has, installs
# ZorkGPT as requirements.lock has it, and plays, resumes, replays and reports a run of six turns. Two at a time.
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

# smoke VERSION INTERPRETER: installs the wheel for that interpreter, and plays with it
smoke() {
    set -euo pipefail
    local name=$1 zorkgpt=$work/$1/bin/zorkgpt
    "$2" -m venv --without-pip "$work/$name"
    local install=("$root/.venv/bin/python" -m pip --python "$work/$name/bin/python" install --quiet
        --disable-pip-version-check --no-compile --no-deps)
    "${install[@]}" --require-hashes -r "$root/requirements.lock"
    "${install[@]}" "$work"/wheel/*.whl
    cd "$work"
    "$zorkgpt" doctor --workdir "$name-run"
    "$zorkgpt" run --max-turns 6 --max-tokens 10 --workdir "$name-run" || [ $? -eq 1 ]  # pauses after the first answer
    "$zorkgpt" resume --max-tokens 1000000 --workdir "$name-run"
    "$zorkgpt" replay --workdir "$name-run" | grep "is repeated exactly: 6 turns"
    "$zorkgpt" report --to "$name.html" --workdir "$name-run"
    grep -q "</html>" "$name.html"
    printf 'look\nnorth\n' | "$zorkgpt" play --workdir "$name-person" >/dev/null
    "$work/$name/bin/python" -c "
from zorkgpt import api
run = api.play(agent=lambda situation: 'look', max_turns=3, workdir='$name-api')
assert len(run.episodes[0].turns) == 3, run.episodes
"
    echo "smoke: passed with $("$2" -V)"
}

.venv/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work/wheel" .
interpreters=()
for version in ${@:-3.10 3.11 3.12 3.13}; do
    interpreter=$(python "$version")
    if [ -n "$interpreter" ]; then
        interpreters+=("$version $interpreter")
    else
        echo "smoke: no Python $version on this machine"
    fi
done
[ ${#interpreters[@]} -gt 0 ] || { echo "smoke: no Python was found" >&2; exit 1; }
export root work
export -f smoke
# The output of each comes as a whole, and the first failure ends all.
printf '%s\n' "${interpreters[@]}" | xargs -P 2 -L 1 bash -c '(smoke "$0" "$1" >"$work/$0.log" 2>&1)
    status=$?; cat "$work/$0.log"; exit $status'
