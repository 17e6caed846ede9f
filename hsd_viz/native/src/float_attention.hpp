// Attention of heads of floats: products and sums are rounded one by one, in the order of the text.
#pragma once
#include "attention.hpp"

namespace hsd {

// Keys are in blocks of LANES positions, [block][dim][LANES], so that a vector holds a score of
// each; values are in rows.
template <class T> struct FloatHead {
    static constexpr int MAX_QUERIES = 1;

    T *keys, *values;
    int dim, row;

    static size_t bytes(int dim, int capacity) {
        return capacity * (dim + round_up(dim, LANES<T>)) * sizeof(T);
    }

    FloatHead(char* memory, int dim, int capacity)
        : keys((T*)memory),
          values(keys + (size_t)capacity * dim),
          dim(dim),
          row((int)round_up(dim, LANES<T>)) {}
    T* key(int place, int d) const {
        return keys + ((size_t)(place / LANES<T>)*dim + d) * LANES<T> + place % LANES<T>;
    }
    T* value(int place) const { return values + (size_t)place * row; }

    void put(int place, const T* k, const T* v, Scratch<int8_t>&) {
        for (int d = 0; d < dim; ++d) *key(place, d) = k[d];
        std::copy_n(v, dim, value(place));
    }
    void move(int from, int to) {
        for (int d = 0; d < dim; ++d) *key(to, d) = *key(from, d);
        std::copy_n(value(from), dim, value(to));
    }
    void take(const FloatHead& old, int filled) {
        std::copy_n(old.keys, round_up(filled, LANES<T>) * dim, keys);
        std::copy_n(old.values, (size_t)filled * row, values);
    }
};

template <class T> struct FloatScratch {
    Scratch<T> query, scores, sum;
};

// out [C vectors] = the sum over j < n, in order, of scalar(j) times the vectors at line(j, c),
// added to the previous value of out if `more`.
template <class T, int C, class S, class F>
INLINE void blend(int n, S&& scalar, F&& line, T* out, bool more) {
    vec<T> sum[C];
    for (int c = 0; c < C; ++c) sum[c] = more ? load(out + c * LANES<T>) : vec<T>{};
    for (int j = 0; j < n; ++j) {
        const vec<T> a = all(scalar(j));
        for (int c = 0; c < C; ++c) sum[c] += load(line(j, c)) * a;
    }
    for (int c = 0; c < C; ++c) store(out + c * LANES<T>, sum[c]);
}
// The whole vectors of [from, to), four at a time.
template <class T, class S, class F>
void blend_all(int from, int to, int n, S&& scalar, F&& line, T* out, bool more) {
    constexpr int L = LANES<T>;
    auto vector = [&](int j, int c) { return line(j, from + c * L); };
    for (; from + 4 * L <= to; from += 4 * L) blend<T, 4>(n, scalar, vector, out + from, more);
    for (; from < to; from += L) blend<T, 1>(n, scalar, vector, out + from, more);
}

// At most FloatHead::MAX_QUERIES queries: one.
template <class T>
void attend(const Query<T>* query, int, T scale, const FloatHead<T>& head,
            FloatScratch<T>& scratch) {
    constexpr int L = LANES<T>;
    const View& view = query->view;
    T* scaled = scratch.query.at_least(head.row);
    for (int d = 0; d < head.dim; ++d) scaled[d] = query->q[d] * scale;

    T* scores = scratch.scores.at_least(round_up(view.end(), L) + L);  // by place
    auto query_at = [&](int d) { return scaled[d]; };
    auto keys = [&](int d, int place) { return head.key(place, d); };
    blend_all(0, view.end(), head.dim, query_at, keys, scores, false);
    to_text_order(view, scores);
    const T total = soften(scores, view.length(), [&](int i, vec<T> e) { store(scores + i, e); });

    T* sum = scratch.sum.at_least(head.row);
    auto run_weight = [&](int t) { return scores[t]; };
    auto run_value = [&](int t, int d) { return head.value(t) + d; };
    blend_all(0, head.row, view.run, run_weight, run_value, sum, false);
    auto listed_weight = [&](int t) { return scores[view.run + t]; };
    auto listed_value = [&](int t, int d) { return head.value(view.list[t]) + d; };
    blend_all(0, head.row, view.more, listed_weight, listed_value, sum, true);

    const T share = T(1) / total;
    for (int d = 0; d < head.dim; ++d) query->out[d] = sum[d] * share;
}

}  // namespace hsd
