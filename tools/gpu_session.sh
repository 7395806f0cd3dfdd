#!/usr/bin/env bash
# Build the module in place, then run named steps on this machine's NVIDIA GPU, one after the other.
#
# Usage: tools/gpu_session.sh FOLDER STEP:SECONDS...
#
#   tests     all tests marked gpu, in SHARDS processes (default: half the cores, at most 8)
#   soak      tools/soak_cuda.py, so many seconds after what it compiles first
#   sanitize  tools/sanitize_cuda.py: memcheck and racecheck, where they run on this machine
#   bench     oneread bench gpu
#   paper     oneread paper --device gpu, records alone; without what the run in BESIDE=FILE has
#   torch     tools/run_torch.py
#
# As in: tools/gpu_session.sh /tmp/session tests:200 soak:45 sanitize:120 bench:200
#
# A step that fails or takes too long does not stop the others. FOLDER gets what each says and
# writes, and summary.txt: exit status and seconds of each. Exit status 1: one failed. Needs no
# git and no package index, but nanobind, scikit-build-core and a compiler, once. PYTHON names
# another Python than python3. ONEREAD_COMMIT is the commit that records shall name.
set -u

usage() {
    sed -n '/^# Usage/,/^# another/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

[ $# -ge 2 ] || usage
for step in "${@:2}"; do
    case $step in
    tests:[1-9]* | soak:[1-9]* | sanitize:[1-9]* | bench:[1-9]* | paper:[1-9]* | torch:[1-9]*) ;;
    *) echo "gpu_session: $step is no step" >&2; usage ;;
    esac
    case ${step#*:} in
    *[!0-9]*) echo "gpu_session: ${step#*:} is no number of seconds" >&2; usage ;;
    esac
done

beside=()
if [ -n "${BESIDE:-}" ]; then
    [ -f "$BESIDE" ] || { echo "gpu_session: BESIDE is no file: $BESIDE" >&2; usage; }
    beside=(--beside "$(realpath "$BESIDE")")
fi

mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
cd "$(dirname "$0")/.." || exit 2
python=${PYTHON:-python3}
export PYTHONPATH="$PWD/src:$PWD/tools"
summary=$out/summary.txt
: >"$summary"
failed=0

# run NAME LIMIT COMMAND...: what it says goes to NAME.log, its status and seconds to the summary.
run() {
    local name=$1 limit=$2 start=$SECONDS status note=
    shift 2
    echo "== $name, up to $limit s"
    timeout -k 10 "$limit" "$@" >"$out/$name.log" 2>&1 </dev/null
    status=$?
    case $status in
    0) ;;
    124 | 137) note=", out of time" ;;
    esac
    [ $status -eq 0 ] || failed=1
    tail -n 4 "$out/$name.log"
    printf '%-12s exit %3d %5d s%s\n' "$name" $status $((SECONDS - start)) "$note" >>"$summary"
    return $status
}

# The module, built anew when what it is made of has changed, and where another Python's lies.
build() {
    local stamp=build/gpu_session.stamp made=build/gpu_session now
    now=$(find CMakeLists.txt pyproject.toml tools/build src/oneread/kernels/cpu -type f \
        ! -path '*/__pycache__/*' -exec cksum {} + | LC_ALL=C sort | cksum)
    if [ -f $stamp ] && [ "$(cat $stamp)" = "$now" ] && "$python" -c 'import oneread' 2>/dev/null
    then
        echo "the module is there"
        return
    fi
    rm -rf $made && mkdir -p $made || return
    ONEREAD_NO_PAGE=1 "$python" -m pip install --no-index --no-build-isolation --no-deps \
        --no-compile --target $made . || return
    rm -f src/oneread/runtime/_native*.so
    cp $made/oneread/runtime/_native*.so src/oneread/runtime/ || return
    "$python" -c 'import oneread; print(oneread.__version__)' && echo "$now" >$stamp
}

# The tests of a GPU: each shard has every n-th one.
gpu_tests() {
    local n=${SHARDS:-} i status=0 files pids=()
    if [ -z "$n" ]; then
        n=$(($(nproc) / 2))
        n=$((n < 1 ? 1 : n > 8 ? 8 : n))
    fi
    mapfile -t files < <(grep -rl --include='test_*.py' 'mark\.gpu' tests | sort)
    for ((i = 1; i <= n; i++)); do
        ONEREAD_SHARD=$i/$n "$python" -m pytest -q -m gpu -p pytest_shard -p no:cacheprovider \
            "${files[@]}" >"$out/tests_$i.log" 2>&1 &
        pids+=($!)
    done
    for ((i = 1; i <= n; i++)); do
        wait "${pids[i - 1]}" || status=1
    done
    cat "$out"/tests_[0-9]*.log
    grep -h '^\(FAILED\|ERROR\)' "$out"/tests_[0-9]*.log
    for ((i = 1; i <= n; i++)); do
        echo "shard $i: $(tail -n 1 "$out/tests_$i.log")"
    done
    rm "$out"/tests_[0-9]*.log
    return $status
}

export out python
export -f build gpu_tests

run build 300 bash -c build || { cat "$summary"; exit 1; }
for step in "$@"; do
    name=${step%%:*} seconds=${step#*:}
    case $name in
    tests) run tests "$seconds" bash -c gpu_tests ;;
    soak)
        run soak $((seconds + 60)) \
            "$python" tools/soak_cuda.py --seconds "$seconds" --out "$out/soak.jsonl"
        ;;
    sanitize)
        run sanitize $((seconds + 60)) \
            "$python" tools/sanitize_cuda.py --seconds "$seconds" --out "$out/sanitize"
        ;;
    bench)
        run bench $((seconds + 30)) \
            "$python" -m oneread bench gpu --seconds "$seconds" --out "$out/bench.jsonl"
        ;;
    paper)
        run paper $((seconds + 30)) "$python" -m oneread paper --device gpu --records-only \
            --seconds "$seconds" --out "$out/paper" "${beside[@]}"
        ;;
    torch)
        run torch $((seconds + 30)) "$python" tools/run_torch.py --device cuda \
            --seconds "$seconds" --out "$out/torch.jsonl"
        ;;
    esac
done
cat "$summary"
exit $failed
