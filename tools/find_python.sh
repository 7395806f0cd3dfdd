#!/bin/sh
# Print the path of a Python that can build oneread, or say in one line what is missing.
#
# Usage: find_python.sh [PYTHON]. With an argument only that one is looked at.
set -u

probe='
import sys
if sys.version_info < (3, 11):
    sys.exit("is Python %d.%d; oneread needs 3.11 or newer" % sys.version_info[:2])
try:
    import ensurepip, venv
except ImportError:
    sys.exit("has no venv module (on Debian and Ubuntu: apt-get install python3-venv)")
import os, sysconfig
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    sys.exit("has no C headers, Python.h (on Debian and Ubuntu: apt-get install python3-dev)")
print(os.path.realpath(sys.executable))
'

asked=""
if [ $# -gt 0 ] && [ -n "$1" ]; then
    candidates=$1
    asked="PYTHON="
    command -v "$1" >/dev/null 2>&1 || {
        echo "oneread: PYTHON=$1 was not found" >&2
        exit 1
    }
else
    candidates="python3 python3.11 python3.12 python3.13 python3.14 python /usr/bin/python3"
fi

reason=""
for name in $candidates; do
    path=$(command -v "$name" 2>/dev/null) || continue
    said=$("$path" -c "$probe" 2>&1) && [ -n "$said" ] && {
        echo "$said"
        exit 0
    }
    # The probe says one line; a version manager's shim may add advice of its own below.
    said=$(printf '%s\n' "$said" | head -n 1)
    case $said in
    "is Python "* | "has no "*) said="$path $said" ;;
    *) said="${asked}$name is not a Python that runs" ;;
    esac
    [ -n "$reason" ] || reason=$said
done
if [ -z "$reason" ]; then
    reason="no Python found (Debian, Ubuntu: apt-get install python3 python3-venv python3-dev)"
fi
echo "oneread: $reason" >&2
exit 1
