// The order of top-k: NaN first, then larger numbers, then smaller columns; and what winners get.
//
// Numbers become unsigned keys of which a larger one comes first: NaN of either sign has the
// largest, -0.0 and 0.0 have the same, and 0, below that of -inf, is left for no number at all: of
// a winner, for a column that a mask or a length leaves out.
//
// LONG   1 for rows whose columns do not fit an int
// Index  numbers the columns of a row
#pragma once
#include "row.cuh"
#include "running.cuh"

#if ELEMENT == FLOAT64
typedef unsigned long long Key;
#else
typedef unsigned Key;
#endif

__device__ __forceinline__ Key key_of(Real x) {
    if (x != x) return ~(Key)0;
#if ELEMENT == FLOAT64
    const long long bits = __double_as_longlong(x + 0.0);  // which makes -0.0 0.0
    return (Key)(bits ^ (bits >> 63 | (long long)(1ull << 63)));
#else
    const int bits = __float_as_int(x + 0.0f);
    return (Key)bits ^ ((unsigned)(bits >> 31) | 0x80000000u);
#endif
}

__device__ __forceinline__ Real number_of(Key key) {
    if (LEAVES_OUT && key == 0) return -infinity();
#if ELEMENT == FLOAT64
    return __longlong_as_double((long long)(key >> 63 ? key ^ 1ull << 63 : ~key));
#else
    return __uint_as_float(key >> 31 ? key ^ 0x80000000u : ~key);
#endif
}

// The first 32 bits of a key: less than a number's own rank, and never more.
__device__ __forceinline__ unsigned high(Key key) {
    return (unsigned)(key >> 8 * (sizeof(Key) - 4));
}

// The least key of a high part.
__device__ __forceinline__ Key least_of(unsigned high) {
    return (Key)high << 8 * (sizeof(Key) - 4);
}

// Whether vector i holds an element of the row: those before its head and after its end hold none.
__device__ __forceinline__ bool has_some(const Row& row, Index i) {
    return i >= row.head / WIDTH && i < row.end;
}

// A number at a place in its row, as one that is larger when it comes first.
#if LONG || ELEMENT == FLOAT64
struct __align__(16) Candidate {
    unsigned long long key;
    unsigned long long place;
};

__device__ __forceinline__ Candidate candidate(Key key, Index place) {
    return Candidate{key, ~(unsigned long long)place};
}
__device__ __forceinline__ Key key_at(Candidate c) { return (Key)c.key; }
__device__ __forceinline__ Index place_of(Candidate c) { return (Index)~c.place; }
__device__ __forceinline__ bool before(Candidate a, Candidate b) {
    return a.key > b.key || (a.key == b.key && a.place > b.place);
}
#if HAS_CLUSTERS
__device__ __forceinline__ void store_remote(Candidate* p, unsigned rank, Candidate c) {
    store_remote(&p->key, rank, c.key);
    store_remote(&p->place, rank, c.place);
}
#endif
#else
typedef unsigned long long Candidate;

__device__ __forceinline__ Candidate candidate(Key key, Index place) {
    return (Candidate)key << 32 | ~(unsigned)place;
}
__device__ __forceinline__ Key key_at(Candidate c) { return (Key)(c >> 32); }
__device__ __forceinline__ Index place_of(Candidate c) { return (Index)~(unsigned)c; }
__device__ __forceinline__ bool before(Candidate a, Candidate b) { return a > b; }
#endif

// What the values of winners are; those beyond LOGPROB are of the winners alone.
enum { LOGIT = 0, PROB = 1, LOGPROB = 2, WINNERS = 2 };

// Where the winners of all rows go, k a row.
struct Results {
    void* values;  // of the type of the elements for LOGIT, else Real
    void* indices;
    Element* logits;  // the numbers themselves besides, or null
    int kind;
    int index_bytes;  // 8 or 4
};

// exp((x - m) / temperature) of one number, as exact as that of long types.
__device__ __forceinline__ Real exact_power(Real x, Real m, const Scale& scale) {
#if TEMPERATURE == 0
    return exp_below(x - m);
#else
    return exp_of_quotient(x, m, scale);
#endif
}

// Of k winners, the first first: its number and the powers of the others.
__device__ __forceinline__ Running over_winners(const Candidate* winners, int k,
                                                const Scale& scale) {
    Running all = {number_of(key_at(winners[0])), 0};
    for (int i = 1; i < k; ++i) all.r += exact_power(number_of(key_at(winners[i])), all.m, scale);
    return all;
}

// What probabilities are taken over in a row of a length that no row can have: NaN.
__device__ __forceinline__ Running checked(Running all, const Row& row) {
    if (LENGTHS && row.vocab < 0) all.m = not_a_number();
    return all;
}

// An infinite maximum is the result, and so is NaN.
__device__ __forceinline__ Real logsumexp_of(const Running& all, const Scale& scale) {
    const bool regular = fabs(all.m) < infinity();
    return regular ? over_temperature(all.m, scale) + log_one_plus(all.r) : all.m;
}

// What stands for the number of a column left out; NaN in a row of a length that no row can have.
__device__ __forceinline__ Element left_out(const Row& row) {
    return LENGTHS && row.vocab < 0 ? to_element(not_a_number()) : lowest();
}

// Write a winner of a row; `all` is what its probability is taken over.
__device__ __forceinline__ void write_winner(const Results& to, long long place, const Row& row,
                                             long long column, Key key, const Running& all,
                                             const Scale& scale) {
    if (to.index_bytes == 8)
        ((long long*)to.indices)[place] = column;
    else
        ((int*)to.indices)[place] = (int)column;
    Element* logits = to.kind == LOGIT ? (Element*)to.values : to.logits;
    // Bit for bit: keys have but one NaN and one 0.
    if (logits) logits[place] = LEAVES_OUT && key == 0 ? left_out(row) : columns_of(row)[column];
    if (to.kind == LOGIT) return;
    const bool regular = fabs(all.m) < infinity();
    const Real number = number_of(key);
    Real value = not_a_number();
    if (regular && (to.kind - 1) % 2 == 0)
        value = exact_power(number, all.m, scale) / (1 + all.r);
    else if (regular)
        value = over_temperature(number - all.m, scale) - log_one_plus(all.r);
    ((Real*)to.values)[place] = value;
}
