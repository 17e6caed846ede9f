// What is recorded of a row of logits: the probability of one token, the entropy and the likeliest tokens, at temperature 1.
#pragma once
#include <algorithm>
#include "vectors.hpp"

namespace hsd {

// The `most` largest of x [n], largest first, the lower place first among equals: places and values.
template <class T> void largest(const T* x, int n, int most, int* places, T* values) {
    constexpr int L = LANES<T>, BLOCK = 4 * L;
    int found = 0;
    auto offer = [&](int from, int to) {
        for (int i = from; i < to; ++i) {
            if (found == most && !(x[i] > values[most - 1])) continue;
            int k = found < most ? found++ : most - 1;
            for (; k > 0 && x[i] > values[k - 1]; --k) values[k] = values[k - 1], places[k] = places[k - 1];
            values[k] = x[i], places[k] = i;
        }
    };
    int i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        vec<T> top = load(x + i);
        for (int b = L; b < BLOCK; b += L) {
            const vec<T> v = load(x + i + b);
            top = choose<T>((typename Vector<T>::mask)(v > top), v, top);
        }
        T best = top[0];
        for (int k = 1; k < L; ++k) best = top[k] > best ? top[k] : best;
        // After the first few blocks hardly any holds one of the largest.
        if (found < most || best > values[most - 1]) offer(i, i + BLOCK);
    }
    offer(i, n);
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

}  // namespace hsd
