// What is recorded of a row of logits: the probability of one token, the entropy and the likeliest
// tokens, at temperature 1.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include "sample.hpp"

namespace hsd {

// The `most` largest of x [n], largest first, the lower place first among equals: places and
// values.
//
// The elements are arranged in COLUMNS columns, row by row, and the largest of each column are
// found by whole vectors. An element that is one of the `most` largest is in a column whose largest
// is, too: these few columns are then gone through one by one.
template <class T> void largest(const T* x, int n, int most, int32_t* places, T* values) {
    constexpr int L = LANES<T>, VECTORS = 4, COLUMNS = VECTORS * L;
    int found = 0;
    auto offer = [&](int place, T value) {
        auto before = [&](int k) {
            return value > values[k] || (value == values[k] && place < places[k]);
        };
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

// What hsd_viz.decoding.sampling.describe gives of a row of logits [n]: the probability of `token`,
// the entropy in nats, and the `most` likeliest tokens with their probabilities. `room` holds 2 n
// numbers.
template <class T>
void describe(const T* logits, int n, int token, int most, T* room, double& p, double& entropy,
              int32_t* places, double* shares) {
    constexpr int L = LANES<T>;
    const T top = max_of(logits, n);
    const vec<T> least = vec<T>{} + std::numeric_limits<T>::lowest();
    T values[16], rest[L], *product = room + n;
    // Weights exp x, and their products with x. A score of -inf (a forbidden token) has weight 0
    // and adds nothing.
    auto weigh = [&](const T* from, T* weight, T* times) {
        const vec<T> x = load(from) - top, w = exponential(x);
        store(weight, w);
        store(times, w * choose<T>((typename Vector<T>::mask)(x > least), x, least));
    };
    int i = 0;
    for (; i + L <= n; i += L) weigh(logits + i, room + i, product + i);
    if (i < n) {
        T weights[L], products[L];
        std::fill(rest, rest + L, -INFINITY);
        std::copy(logits + i, logits + n, rest);
        weigh(rest, weights, products);
        std::copy(weights, weights + (n - i), room + i);
        std::copy(products, products + (n - i), product + i);
    }
    const double whole = total(room, n);
    largest(room, n, most, places, values);
    p = room[token] / whole;
    for (int k = 0; k < most; ++k) shares[k] = values[k] / whole;
    entropy = std::max(0.0, std::log(whole) - total(product, n) / whole);
}

}  // namespace hsd
