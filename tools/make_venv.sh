#!/bin/sh
# Make the virtual environment, or keep the one that is there and still fits.
#
# Usage: make_venv.sh FOLDER [PYTHON]. `FOLDER/stamps/python` records the interpreter and the
# place that the environment was made for: a copied or moved one is made anew.
set -u
venv=$1
asked=${2:-}
record=$venv/stamps/python
here="in $(pwd)/$venv"

fits=no
if [ -f "$record" ] && [ "$(tail -n 1 "$record")" = "$here" ]; then
    "$venv/bin/python" -c "" 2>/dev/null && fits=yes
fi
[ "$fits" = yes ] && [ -z "$asked" ] && exit 0
python=$(sh tools/find_python.sh "$asked") || exit 1
[ "$fits" = yes ] && [ "$(head -n 1 "$record")" = "$python" ] && exit 0

echo "Making $venv with $python"
rm -rf "$venv" build/venv
"$python" -m venv "$venv" || {
    echo "oneread: $python could not make a virtual environment; see above" >&2
    exit 1
}
# Dependency groups need pip 25.1; the one that comes with Python may be older.
"$venv/bin/python" -m pip install --quiet --upgrade "pip>=25.1" || {
    echo "oneread: pip could not reach its package index; see above" >&2
    exit 1
}
mkdir -p "$venv/stamps"
printf '%s\n%s\n' "$python" "$here" >"$record"
