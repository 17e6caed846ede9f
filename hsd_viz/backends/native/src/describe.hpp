// What is recorded of a row of logits: the probability of one token, the entropy and the likeliest tokens, at temperature 1.
#pragma once
#include <algorithm>
#include <numeric>
#include "vectors.hpp"

namespace hsd {

// The `most` largest of x [n], largest first, the lower place first among equals: places and values.
//
// The elements are arranged in COLUMNS columns, row by row, and the largest of each column are found by whole vectors. An element that is one
// of the `most` largest is in a column whose largest is, too: these few columns are then gone through one by one.
template <class T> void largest(const T* x, int n, int most, int* places, T* values) {
    constexpr int L = LANES<T>, VECTORS = 4, COLUMNS = VECTORS * L;
    int found = 0;
    auto offer = [&](int place, T value) {
        auto before = [&](int k) { return value > values[k] || (value == values[k] && place < places[k]); };
        if (found == most && !before(most - 1)) return;
        int k = found < most ? found++ : most - 1;
        for (; k > 0 && before(k - 1); --k) values[k] = values[k - 1], places[k] = places[k - 1];
        values[k] = value, places[k] = place;
    };
    const int rows = n / COLUMNS;
    if (rows > 1) {
        vec<T> top[VECTORS];
        for (int v = 0; v < VECTORS; ++v) top[v] = load(x + v * L);
        for (int r = 1; r < rows; ++r) {
            for (int v = 0; v < VECTORS; ++v) {
                const vec<T> here = load(x + r * COLUMNS + v * L);
                top[v] = choose<T>((typename Vector<T>::mask)(here > top[v]), here, top[v]);
            }
        }
        T tops[COLUMNS];
        for (int v = 0; v < VECTORS; ++v) store(tops + v * L, top[v]);
        for (int c = 0; c < COLUMNS; ++c) offer(c, tops[c]);
        const T least = found == most ? values[most - 1] : -INFINITY;
        found = 0;
        for (int c = 0; c < COLUMNS; ++c) {
            if (tops[c] < least) continue;
            for (int i = c; i < rows * COLUMNS; i += COLUMNS)
                if (x[i] >= least) offer(i, x[i]);
        }
    }
    for (int i = rows > 1 ? rows * COLUMNS : 0; i < n; ++i) offer(i, x[i]);
}

// out: the probability of `token`, the entropy in nats, then place and probability of each of the `most` likeliest.
// With x the logits less their maximum, w = e^x and Z = sum w: p = w / Z, and the entropy is log Z - sum w x / Z.
template <class T> void describe(const T* logits, int n, int token, int most, double* out) {
    constexpr int L = LANES<T>, MOST = 16;
    int places[MOST];
    T values[MOST];
    largest(logits, n, most, places, values);
    const T top = values[0];
    const T floor = -80;  // e^-80 adds nothing to either sum; a forbidden token (-inf) must not add a NaN
    vec<T> sums{}, means{};
    int i = 0;
    for (; i + L <= n; i += L) {
        vec<T> x = load(logits + i) - top;
        x = choose<T>((typename Vector<T>::mask)(x < floor), all(floor), x);
        const vec<T> w = exponential(x);
        sums += w;
        means = fma(w, x, means);
    }
    T sum = sum_lanes<T>(sums), mean = sum_lanes<T>(means);
    for (; i < n; ++i) {
        const T x = std::max(logits[i] - top, floor), w = std::exp(x);
        sum += w, mean += w * x;
    }
    auto share = [&](T logit) { return std::exp((double)logit - top) / sum; };
    out[0] = share(logits[token]);
    out[1] = std::max(0.0, std::log((double)sum) - mean / sum);
    for (int k = 0; k < most; ++k) out[2 + 2 * k] = places[k], out[3 + 2 * k] = share(values[k]);
}

// out: the sum of non-negative weights x [n], then place and share of each of the `most` largest.
template <class T> void describe_left(const T* x, int n, int most, double* out) {
    int places[16];
    T values[16];
    largest(x, n, most, places, values);
    out[0] = std::accumulate(x, x + n, 0.0);
    for (int k = 0; k < most; ++k) out[1 + 2 * k] = places[k], out[2 + 2 * k] = values[k] / out[0];
}

}  // namespace hsd
