// Attention of a few queries over a cache.
//
// What a query sees is listed by place in its text: the cached tokens, its ancestors among those fed, itself. Scores are in a
// compact array in that order, and soft-max and the weighted sum run over that array: the numbers cannot depend on where in the
// cache a token of a draft tree is, nor on what else was fed. Keys are stored in blocks of LANES tokens, [block][head_dim][LANES], so
// that one vector holds a score of each; values in rows.
#pragma once
#include <algorithm>
#include <vector>
#include "vectors.hpp"

namespace hsd {

// What one fed token sees: `run` places of the cache from 0 on, then the places listed, of all which the first `skip` are
// outside of its window.
struct View {
    int run, skip, more;
    const int* list;
    int length() const { return run + more; }
};

template <class T, int Q, int B>
INLINE void score_blocks(const T* q, size_t ldq, const T* keys, int dim, T* scores, size_t lds) {
    vec<T> sum[Q][B];
    for (int m = 0; m < Q; ++m)
        for (int b = 0; b < B; ++b) sum[m][b] = vec<T>{};
    for (int d = 0; d < dim; ++d) {
        vec<T> k[B];
        for (int b = 0; b < B; ++b) k[b] = load(keys + ((size_t)b * dim + d) * LANES<T>);
        for (int m = 0; m < Q; ++m) {
            const vec<T> a = all(q[m * ldq + d]);
            for (int b = 0; b < B; ++b) sum[m][b] = fma(k[b], a, sum[m][b]);
        }
    }
    for (int m = 0; m < Q; ++m)
        for (int b = 0; b < B; ++b) store(scores + m * lds + b * LANES<T>, sum[m][b]);
}

// Q queries against `blocks` blocks of keys.
template <class T, int Q> APART void score(const T* q, size_t ldq, const T* keys, int dim, int blocks, T* scores, size_t lds) {
    constexpr int B = MANY_REGISTERS || Q < 4 ? 4 : 2;
    int b = 0;
    for (; b + B <= blocks; b += B) score_blocks<T, Q, B>(q, ldq, keys + (size_t)b * dim * LANES<T>, dim, scores + b * LANES<T>, lds);
    for (; b < blocks; ++b) score_blocks<T, Q, 1>(q, ldq, keys + (size_t)b * dim * LANES<T>, dim, scores + b * LANES<T>, lds);
}

// Turn n scores into unnormalised weights in place; returns their sum. The array has room for a whole vector behind them.
template <class T> T soften(T* s, int n) {
    const int whole = (int)round_up(n, LANES<T>);
    for (int i = n; i < whole; ++i) s[i] = -INFINITY;
    vec<T> top = load(s);
    for (int i = LANES<T>; i < whole; i += LANES<T>) {
        const vec<T> v = load(s + i);
        top = choose<T>((typename Vector<T>::mask)(v > top), v, top);
    }
    T best = top[0];
    for (int i = 1; i < LANES<T>; ++i) best = top[i] > best ? top[i] : best;
    vec<T> sum{};
    for (int i = 0; i < whole; i += LANES<T>) {
        const vec<T> e = exponential(load(s + i) - best);
        store(s + i, e);
        sum += e;
    }
    return sum_lanes<T>(sum);
}

// out[m] += sum over j of weights[m][j] values[place j], C vectors of it; the places are j, or list[j].
template <class T, int Q, int C, bool LISTED>
INLINE void blend_vectors(const T* weights, size_t ldw, const T* values, size_t ldv, const int* list, int n, T* out, size_t ldo) {
    vec<T> sum[Q][C];
    for (int m = 0; m < Q; ++m)
        for (int c = 0; c < C; ++c) sum[m][c] = load(out + m * ldo + c * LANES<T>);
    for (int j = 0; j < n; ++j) {
        const T* row = values + (size_t)(LISTED ? list[j] : j) * ldv;
        vec<T> v[C];
        for (int c = 0; c < C; ++c) v[c] = load(row + c * LANES<T>);
        for (int m = 0; m < Q; ++m) {
            const vec<T> a = all(weights[m * ldw + j]);
            for (int c = 0; c < C; ++c) sum[m][c] = fma(v[c], a, sum[m][c]);
        }
    }
    for (int m = 0; m < Q; ++m)
        for (int c = 0; c < C; ++c) store(out + m * ldo + c * LANES<T>, sum[m][c]);
}

template <class T, int Q, bool LISTED>
APART void blend(const T* weights, size_t ldw, const T* values, size_t ldv, const int* list, int n, T* out, size_t ldo) {
    constexpr int C = MANY_REGISTERS || Q < 4 ? 4 : 2;
    size_t c = 0;
    for (; c + C * LANES<T> <= ldv; c += C * LANES<T>)
        blend_vectors<T, Q, C, LISTED>(weights, ldw, values + c, ldv, list, n, out + c, ldo);
    for (; c < ldv; c += LANES<T>) blend_vectors<T, Q, 1, LISTED>(weights, ldw, values + c, ldv, list, n, out + c, ldo);
}

// One query of a group: where it reads, where it writes, what it sees.
template <class T> struct Query {
    const T* q;
    T* out;
    const View* view;
};

// Room that a thread needs for attention.
template <class T> struct AttentionScratch {
    Scratch<T> queries, scores, sums;
};

// Keys [block][dim][LANES] and values [place][row] of one head in one layer.
template <class T> struct HeadCache {
    T* keys;
    T* values;
    int dim, row;
};

// Q queries of one key-value head, their scores multiplied by `scale`.
template <class T, int Q> void attend(const Query<T>* queries, T scale, const HeadCache<T>& cache, AttentionScratch<T>& scratch) {
    constexpr int L = LANES<T>;
    const int dim = cache.dim;
    const size_t row = cache.row;
    int low = queries[0].view->run, high = 0, run = low, begun = 0;
    for (int m = 0; m < Q; ++m) {
        const View& v = *queries[m].view;
        low = std::min({low, v.skip, v.run});
        run = std::min(run, v.run);
        high = std::max(high, v.more ? v.list[v.more - 1] + 1 : v.run);
        begun = std::max(begun, v.skip);
    }
    low = low / L * L;
    begun = std::min(begun, run);
    const int blocks = (high - low + L - 1) / L;
    const size_t lds = (size_t)(blocks + 1) * L;
    T* q = scratch.queries.at_least((size_t)Q * dim);
    T* scores = scratch.scores.at_least(Q * lds);
    T* sums = scratch.sums.at_least(Q * row);
    for (int m = 0; m < Q; ++m)
        for (int d = 0; d < dim; ++d) q[m * dim + d] = queries[m].q[d] * scale;
    score<T, Q>(q, dim, cache.keys + (size_t)low * dim, dim, blocks, scores, lds);

    T total[Q];
    for (int m = 0; m < Q; ++m) {
        const View& v = *queries[m].view;
        T* s = scores + m * lds;  // s[place - low]
        for (int t = 0; t < v.more; ++t) s[v.run + t - low] = s[v.list[t] - low];
        total[m] = soften(s + v.skip - low, v.length() - v.skip);
    }
    // Cached places that all queries see are read once for all; what only one of them sees comes before or after.
    std::fill(sums, sums + Q * row, T(0));
    for (int m = 0; m < Q; ++m) {
        const int skip = queries[m].view->skip;
        if (skip < begun)
            blend<T, 1, false>(scores + m * lds + skip - low, lds, cache.values + skip * row, row, nullptr, begun - skip, sums + m * row, row);
    }
    blend<T, Q, false>(scores + begun - low, lds, cache.values + begun * row, row, nullptr, run - begun, sums, row);
    for (int m = 0; m < Q; ++m) {
        const View& v = *queries[m].view;
        const T* s = scores + m * lds;
        T* sum = sums + m * row;
        const int start = std::max(run, v.skip);
        if (start < v.run) blend<T, 1, false>(s + start - low, lds, cache.values + start * row, row, nullptr, v.run - start, sum, row);
        const int unseen = std::max(0, v.skip - v.run);
        if (unseen < v.more)
            blend<T, 1, true>(s + v.run + unseen - low, lds, cache.values, row, v.list + unseen, v.more - unseen, sum, row);
        const T share = T(1) / total[m];
        for (int d = 0; d < dim; ++d) queries[m].out[d] = sum[d] * share;
    }
}

}  // namespace hsd
