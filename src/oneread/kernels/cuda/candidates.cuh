// Candidates for the largest columns of a row, in shared memory: narrowed down and sorted.
//
// A candidate is a key, ordered as the numbers are, and its column. Of two equal keys the smaller
// column comes first. What is here is done by all threads of a block, or of BLOCKS blocks of a
// cluster, together.
//
// CAPACITY       candidates that a block holds, a multiple of BLOCK_THREADS and no less than the
//                power of two that holds those to be sorted
// BLOCK_THREADS  threads of a block, a multiple of 32
#pragma once
#include "order.cuh"

constexpr int BIN_BITS = 8;
constexpr int BINS = 1 << BIN_BITS;
// Candidates that a thread moves between two barriers.
constexpr int MOVED = CAPACITY / BLOCK_THREADS < 4 ? CAPACITY / BLOCK_THREADS : 4;

// What the threads of a block know together.
struct Pool {
    unsigned bins[3][BINS];  // counted in, read, made ready for the next turn
    unsigned all_bins[CLUSTER > 1 ? 3 : 1][BINS];  // of all blocks, in the first one
    unsigned held;           // candidates, and those that found no place
    Key low, high;           // range of the keys
    Key floor;               // smallest key kept
};

// Turns of counting so far: of the block's own bins, and of those of all blocks.
struct Turns {
    int own;
    int all;
};

template <int BLOCKS>
__device__ __forceinline__ void barrier() {
#if CLUSTER > 1
    if (BLOCKS > 1) {
        __syncwarp();  // a barrier of a cluster takes whole warps
        cluster_arrive();
        cluster_wait();
        return;
    }
#endif
    __syncthreads();
}

__device__ __forceinline__ void prepare(Pool& pool) {
    for (int i = threadIdx.x; i < BINS; i += BLOCK_THREADS) {
        pool.bins[0][i] = 0;
        pool.all_bins[0][i] = 0;
    }
    if (threadIdx.x == 0) {
        pool.held = 0;
        pool.low = ~(Key)0;
        pool.high = 0;
        pool.floor = ~(Key)0;
    }
}

__device__ __forceinline__ int width_of(unsigned x) { return 32 - __clz((int)x); }
__device__ __forceinline__ int width_of(unsigned long long x) { return 64 - __clzll((long long)x); }

// A bin, how many are in it, and how many above it.
struct Bin {
    unsigned index, inside, above;
};

// The uppermost bin down to which at least `want` are counted. Each warp finds it for itself.
__device__ __forceinline__ Bin bin_of(const unsigned* bins, unsigned want) {
    constexpr int OWN = BINS / 32;
    const int lane = (int)threadIdx.x % 32;
    const int first = (31 - lane) * OWN;  // lane 0 has the uppermost
    unsigned counts[OWN];
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
        counts[i] = bins[first + i];
        sum += counts[i];
    }
    unsigned above = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const unsigned lower = __shfl_up_sync(0xffffffffu, above, step);
        if (lane >= step) above += lower;
    }
    above -= sum;
    Bin bin = {0, 0, above};
    const bool mine = above < want && want <= above + sum;
#pragma unroll
    for (int i = OWN - 1; i >= 0; --i) {
        const bool here = bin.inside == 0 && want <= above + counts[i];
        if (here) bin = Bin{(unsigned)(first + i), counts[i], above};
        above += counts[i];
    }
    const int holder = __ffs(__ballot_sync(0xffffffffu, mine)) - 1;
    return Bin{__shfl_sync(0xffffffffu, bin.index, holder),
               __shfl_sync(0xffffffffu, bin.inside, holder),
               __shfl_sync(0xffffffffu, bin.above, holder)};
}

// Largest values down to `floor`: at least as many as wanted and no more than allowed; or, if one
// value is held too often, only `rest` of those that are equal to it.
template <typename Value>
struct Share {
    Value floor;
    unsigned rest;
};

// `value_of(i, value)` gives the value of candidate i and says whether it counts at all. Those that
// count lie between `low` and `high`, and are `want` or more.
template <int BLOCKS, typename Value, typename ValueOf>
__device__ __forceinline__ Share<Value> share(Pool& pool, Turns& turns, unsigned held, Value low,
                                              Value high, unsigned want, unsigned most,
                                              ValueOf value_of) {
    for (;;) {
        const int shift = max(0, width_of((Value)(high - low)) - BIN_BITS);
        unsigned* bins = pool.bins[turns.own % 3];
        unsigned* next = pool.bins[(turns.own + 1) % 3];
#pragma unroll 2
        for (unsigned i = threadIdx.x; i < held; i += BLOCK_THREADS) {
            Value value;
            if (value_of(i, value) && value >= low && value <= high)
                atomicAdd(&bins[(unsigned)((value - low) >> shift)], 1);
        }
#pragma unroll 1
        for (int i = threadIdx.x; i < BINS; i += BLOCK_THREADS) next[i] = 0;
        ++turns.own;
        __syncthreads();  // wrote: all threads; reads: every warp all bins
#if CLUSTER > 1
        if (BLOCKS > 1) {
            unsigned* sums = pool.all_bins[turns.all % 3];
            for (int i = threadIdx.x; i < BINS; i += BLOCK_THREADS) {
                if (bins[i]) atomicAdd(remote(&sums[i], 0), bins[i]);
                pool.all_bins[(turns.all + 1) % 3][i] = 0;
            }
            ++turns.all;
            barrier<BLOCKS>();  // wrote: every block into the first; reads: every warp all bins
            bins = remote(sums, 0);
        }
#endif
        const Bin bin = bin_of(bins, want);
        low += (Value)bin.index << shift;
        high = low + min((Value)(high - low), (Value)(((Value)1 << shift) - 1));
        if (bin.above + bin.inside <= most) return Share<Value>{low, 0};
        want -= bin.above;
        most -= bin.above;
        if (shift == 0) return Share<Value>{low, want};
    }
}

// The last candidate that is kept.
struct Cut {
    Key key;
    unsigned column;
};

__device__ __forceinline__ bool reaches(Key key, unsigned column, const Cut& cut) {
    return key > cut.key || (key == cut.key && column <= cut.column);
}

// Of LANES neighbouring lanes: all get the same.
template <int LANES>
__device__ __forceinline__ Key least_of_lanes(Key key) {
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        key = min(key, __shfl_xor_sync(0xffffffffu, key, step));
    return key;
}

// A key that `want` to `most` candidates of all blocks reach; or, if one key is held too often, that
// key, and how many of those that have it are wanted.
template <int BLOCKS>
__device__ __forceinline__ Share<Key> share_keys(Pool& pool, Turns& turns, const Key* keys,
                                                 unsigned held, unsigned want, unsigned most) {
    Key low = ~(Key)0;
    Key high = 0;
#pragma unroll 2
    for (unsigned i = threadIdx.x; i < held; i += BLOCK_THREADS) {
        low = min(low, keys[i]);
        high = max(high, keys[i]);
    }
    low = least_of_lanes<32>(low);
    high = ~least_of_lanes<32>((Key)~high);
    if (threadIdx.x % 32 == 0) {
        atomicMin(&pool.low, low);
        atomicMax(&pool.high, high);
    }
    barrier<BLOCKS>();  // wrote: each warp; reads: all threads, those of all blocks
    low = pool.low;
    high = pool.high;
#if CLUSTER > 1
    if (BLOCKS > 1) {
        const unsigned other = threadIdx.x % BLOCKS;
        low = least_of_lanes<BLOCKS>(*remote(&pool.low, other));
        high = ~least_of_lanes<BLOCKS>((Key)~*remote(&pool.high, other));
    }
#endif
    const Share<Key> found = share<BLOCKS, Key>(
        pool, turns, held, low, high, want, most,
        [=](unsigned i, Key& key) {
            key = keys[i];
            return true;
        });
    // All have read the range, for there was a barrier since.
    if (threadIdx.x == 0) {
        pool.low = ~(Key)0;
        pool.high = 0;
    }
    return found;
}

// Where to cut so that `want` to `most` candidates are kept, the first of all in order. There are
// `want` or more in all blocks.
template <int BLOCKS>
__device__ __forceinline__ Cut cut_for(Pool& pool, Turns& turns, const Key* keys,
                                       const unsigned* columns, unsigned held, unsigned last_column,
                                       unsigned want, unsigned most) {
    const Share<Key> by_key = share_keys<BLOCKS>(pool, turns, keys, held, want, most);
    if (by_key.rest == 0) return Cut{by_key.floor, ~0u};
    // Of equal numbers the smallest columns, which are the largest of their complements.
    const Share<unsigned> by_column = share<BLOCKS, unsigned>(
        pool, turns, held, ~last_column, ~0u, by_key.rest, by_key.rest,
        [=](unsigned i, unsigned& column) {
            column = ~columns[i];
            return keys[i] == by_key.floor;
        });
    return Cut{by_key.floor, ~by_column.floor};
}

// A number that all with the key or a larger one are above, and few others; NaN where no number is.
__device__ __forceinline__ Real just_below(Key key) {
    if (key == ~(Key)0) return infinity();  // which is below NaN alone
    const Key negative_zero = ~(Key)0 >> 1;  // the key of no number: -0.0 has that of 0.0
    return key == 0 ? not_a_number() : number_of(key - (key - 1 == negative_zero ? 2 : 1));
}

// Of vectors that hold as many numbers or more: a number that at least `want` of the block are
// above. What is in `keys` is lost.
template <int N>
__device__ __forceinline__ Real first_bound(Pool& pool, Turns& turns, Key* keys, const Key* tops,
                                            unsigned want) {
#pragma unroll
    for (int i = 0; i < N; ++i) keys[i * BLOCK_THREADS + threadIdx.x] = tops[i];
    // Of these a thread reads its own alone: no barrier is needed.
    return just_below(
        share_keys<1>(pool, turns, keys, N * BLOCK_THREADS, want, want + want / 8).floor);
}

// Keep the candidates of this block that reach the cut: `held` and `floor` become theirs.
__device__ __forceinline__ void keep(Pool& pool, Key* keys, unsigned* columns, unsigned held,
                                     const Cut& cut) {
    // All have read `held`, for there was a barrier since.
    if (threadIdx.x == 0) {
        pool.held = 0;
        pool.floor = ~(Key)0;
    }
    Key floor = ~(Key)0;
#pragma unroll 1
    for (unsigned base = 0; base < held; base += MOVED * BLOCK_THREADS) {
        Key key[MOVED];
        unsigned column[MOVED];
        bool kept[MOVED];
#pragma unroll
        for (int j = 0; j < MOVED; ++j) {
            const unsigned i = base + j * BLOCK_THREADS + threadIdx.x;
            kept[j] = i < held;
            if (kept[j]) {
                key[j] = keys[i];
                column[j] = columns[i];
                kept[j] = reaches(key[j], column[j], cut);
            }
        }
        __syncthreads();  // read: all of these places; now they are written, and none beyond
#pragma unroll
        for (int j = 0; j < MOVED; ++j) {
            if (!kept[j]) continue;
            const unsigned place = atomicAdd(&pool.held, 1);
            keys[place] = key[j];
            columns[place] = column[j];
            floor = min(floor, key[j]);
        }
    }
    floor = least_of_lanes<32>(floor);
    if (threadIdx.x % 32 == 0) atomicMin(&pool.floor, floor);
    __syncthreads();  // wrote: all threads; reads: all of them
}

// Sort the first `held` candidates, one or more.
__device__ __forceinline__ void sort(Key* keys, unsigned* columns, unsigned held) {
    // Within 64 candidates it is one warp that sorts.
    constexpr unsigned ALONE = 32;
    const unsigned size = 1u << width_of(held - 1);
    for (unsigned i = held + threadIdx.x; i < size; i += BLOCK_THREADS) {
        keys[i] = 0;
        columns[i] = ~0u;
    }
    __syncthreads();  // wrote: some threads; reads: others
#pragma unroll 1
    for (unsigned run = 2; run <= size; run *= 2) {
#pragma unroll 1
        for (unsigned step = run / 2; step > 0; step /= 2) {
#pragma unroll 1
            for (unsigned i = threadIdx.x; i < size / 2; i += BLOCK_THREADS) {
                const unsigned a = 2 * i - (i & (step - 1));
                // Mirrored at first, so that each run comes in the same order.
                const unsigned b = step == run / 2 ? a ^ (run - 1) : a + step;
                const Key first = keys[a], second = keys[b];
                const unsigned one = columns[a], other = columns[b];
                if (second > first || (second == first && other < one)) {
                    keys[a] = second;
                    keys[b] = first;
                    columns[a] = other;
                    columns[b] = one;
                }
            }
            const unsigned next = step > 1 ? step / 2 : run;
            if (step > ALONE || next > ALONE || (step == 1 && run == size))
                __syncthreads();  // wrote: all threads; reads: all of them
            else
                __syncwarp();
        }
    }
}
