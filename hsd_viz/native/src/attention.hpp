// Attention of a few queries over the cache of one key-value head (Vaswani et al. 2017):
//
//   e[t] = e^(s[t] - max s),  s[t] = scale * (query . key[t]);  out = sum of e[t] value[t] / sum of
//   e
//
// This header has the parts that the arithmetics share: the positions that a query attends to, and
// the order of the sums. float_attention.hpp, byte_attention.hpp and short_attention.hpp have a
// head each.
//
// A query attends to positions in the order of its text: the cached tokens, its ancestors among the
// fed tokens, and itself. Scores are put into that order before soft-max, so that results depend
// neither on the cache positions of the tokens of a draft tree, nor on the other fed tokens.
#pragma once
#include <algorithm>
#include "vectors.hpp"

namespace hsd {

// The cache positions that a fed token attends to: the first `run` positions, then the listed ones.
struct View {
    int run, more;
    const int* list;
    int length() const { return run + more; }
    int end() const { return more ? list[more - 1] + 1 : run; }
};

// A query of a group: its input, its output, and the positions that it attends to.
template <class T> struct Query {
    const T* q;
    T* out;
    View view;
};

// Compute e^(score - largest) for n scores, pass the vectors to keep(i, vector) in order, and
// return the sum. The array has space for another vector at its end.
template <class T, class F> INLINE T soften(T* s, int n, F&& keep) {
    const int whole = (int)round_up(n, LANES<T>);
    for (int i = n; i < whole; ++i) s[i] = -INFINITY;
    vec<T> top = load(s);
    for (int i = LANES<T>; i < whole; i += LANES<T>) {
        const vec<T> v = load(s + i);
        top = choose<T>((typename Vector<T>::mask)(v > top), v, top);
    }
    const T best = largest_lane<T>(top);
    LaneSum<T> sum;
    auto weigh = [&](int i) {
        const vec<T> e = exponential(load(s + i) - best);
        keep(i, e);
        return e;
    };
    int i = 0;
    for (; i + 64 <= whole; i += 64) sum.add([&](int k) { return weigh(i + k); });
    // The last vectors, in the lanes that they would have in a complete block of 64.
    for (int v = 0; v < LaneSum<T>::VECTORS; ++v)
        if (i + v * LANES<T> < whole) sum.lanes[v] += weigh(i + v * LANES<T>);
    return sum.fold();
}

// The end of the positions that any of n queries attends to.
template <class T> int end_of(const Query<T>* queries, int n) {
    int end = 0;
    for (int m = 0; m < n; ++m) end = std::max(end, queries[m].view.end());
    return end;
}

// Move listed entries from their cache positions to their positions in the text. The latter are
// never greater, so that no entry is overwritten before it is read.
template <class N> void to_text_order(const View& view, N* numbers) {
    for (int t = 0; t < view.more; ++t) numbers[view.run + t] = numbers[view.list[t]];
}
// Move the entries back, from the last to the first for the same reason. Other positions become
// zero.
template <class N> void to_cache_order(const View& view, N* numbers) {
    for (int t = view.more - 1; t >= 0; --t) {
        const int place = view.list[t], in_text = view.run + t;
        if (place == in_text) continue;
        numbers[place] = numbers[in_text];
        numbers[in_text] = 0;
    }
}

// The scales at the positions that a query attends to, in the order of the text: those of the cache
// if they are in that order, else a copy in `room`. A vector beyond them may be read.
inline const float* scales_in_text_order(const View& view, const float* scales,
                                         Scratch<float>& room) {
    if (!view.more) return scales;
    float* ordered = room.at_least(view.length() + 64);
    std::copy_n(scales, view.run, ordered);
    for (int t = 0; t < view.more; ++t) ordered[view.run + t] = scales[view.list[t]];
    return ordered;
}

// Replace n scores by weights w[t] = e[t] * scales[t]. Return the sum of the e[t], and the largest
// weight in `largest`. A weight includes the scale of its value, so that values are summed as
// integers.
inline float weigh_scaled(float* scores, const float* scales, int n, float* largest) {
    f32v top{};
    const float total = soften(scores, n, [&](int i, f32v e) {
        const f32v weight = e * load(scales + i);
        store(scores + i, weight);
        top = choose<float>(weight > top, weight, top);
    });
    *largest = largest_lane<float>(top);
    return total;
}

}  // namespace hsd
