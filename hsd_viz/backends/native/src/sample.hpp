// From a row of logits to a token: the arg-max, or the distribution after temperature, top-k and top-p and a draw from it.
// The same definitions as hsd_viz.decoding.sampling.
#pragma once
#include <algorithm>
#include <functional>
#include <limits>
#include "vectors.hpp"

namespace hsd {

struct Rule {
    double temperature, top_p;
    int32_t top_k;
};

// The lowest index of the largest logit.
template <class T> int best_of(const T* logits, int n) {
    constexpr int L = LANES<T>;
    T best = -INFINITY;
    int i = 0;
    if (n >= L) {
        vec<T> top = load(logits);
        for (i = L; i + L <= n; i += L) {
            const vec<T> v = load(logits + i);
            top = choose<T>((typename Vector<T>::mask)(v > top), v, top);
        }
        for (int k = 0; k < L; ++k) best = top[k] > best ? top[k] : best;
    }
    for (; i < n; ++i) best = logits[i] > best ? logits[i] : best;
    for (i = 0; i < n; ++i)
        if (logits[i] == best) return i;
    return 0;
}

// The smallest probability in the nucleus: the likeliest tokens up to and with the one that reaches top_p.
template <class T> T nucleus_border(const T* p, int n, double top_p, T* sorted) {
    std::copy(p, p + n, sorted);
    double before = 0;
    // The nucleus is small as a rule: sort as much of the row as it takes.
    for (int done = 0, part = 64; done < n; part *= 8) {
        const int end = std::min(n, done + part);
        if (end < n) std::nth_element(sorted + done, sorted + end, sorted + n, std::greater<T>());
        std::sort(sorted + done, sorted + end, std::greater<T>());
        for (; done < end; ++done) {
            if (before >= top_p) return sorted[done - 1];
            before += sorted[done];
        }
    }
    return sorted[n - 1];
}

// A row of probabilities before top-p, by which one of them can be computed again: exp((logit - top) / temperature) * share, and 0 where
// the exponent is below `border`.
template <class T> struct Row {
    T top, temperature, border, share;
    double of(T logit) const {
        const T x = (logit - top) / temperature;
        return x < border ? 0.0 : (double)(exponential(all(x))[0] * share);
    }
};

// p [n] from logits [n]; `spare` has room for n and a vector.
template <class T> Row<T> distribute(const T* logits, int n, const Rule& rule, T* p, T* spare) {
    constexpr int L = LANES<T>;
    const T top = logits[best_of(logits, n)];
    const T temperature = std::max((T)rule.temperature, std::numeric_limits<T>::min());
    T border = -INFINITY;
    for (int i = 0; i < n; ++i) p[i] = (logits[i] - top) / temperature;
    if (rule.top_k > 0 && rule.top_k < n) {
        std::copy(p, p + n, spare);
        std::nth_element(spare, spare + rule.top_k - 1, spare + n, std::greater<T>());
        border = spare[rule.top_k - 1];
        for (int i = 0; i < n; ++i)
            if (p[i] < border) p[i] = -INFINITY;
    }
    vec<T> sums{};
    int i = 0;
    for (; i + L <= n; i += L) {
        const vec<T> e = exponential(load(p + i));
        store(p + i, e);
        sums += e;
    }
    T sum = sum_lanes<T>(sums);
    if (i < n) {
        std::fill(spare, spare + L, -INFINITY);
        std::copy(p + i, p + n, spare);
        store(spare, exponential(load(spare)));
        for (int k = 0; i + k < n; ++k) sum += p[i + k] = spare[k];
    }
    const T share = T(1) / sum;
    for (i = 0; i < n; ++i) p[i] *= share;
    if (rule.top_p < 1) {
        const T least = nucleus_border(p, n, rule.top_p, spare);
        double kept = 0;
        for (i = 0; i < n; ++i) kept += p[i] = p[i] < least ? T(0) : p[i];
        const T scale = (T)(1 / kept);
        for (i = 0; i < n; ++i) p[i] *= scale;
    }
    return {top, temperature, border, share};
}

// The first token whose cumulative sum (in float64) is above `chance` of the whole.
template <class T> int draw(const T* p, int n, double chance) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += p[i];
    const double mark = chance * sum;
    sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += p[i];
        if (sum > mark) return i;
    }
    return n - 1;
}

// The same token, or -1 where the mark is within `margin` of an end of its interval.
template <class T> int draw_within(const T* p, int n, double chance, double margin) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += p[i];
    const double mark = chance * sum;
    sum = 0;
    for (int i = 0; i < n; ++i) {
        const double before = sum;
        sum += p[i];
        if (sum > mark) return mark - before < margin || sum - mark < margin ? -1 : i;
    }
    return -1;
}

// The same for a row whose sum is 1 but for rounding: -1 where the rounding of another implementation could decide otherwise.
// Rows of two implementations differ by less than 6e-7 (float32) or 1e-14 (float64) of each number, and so these ends by less than half that.
template <class T> int draw_safely(const T* p, int n, double chance) {
    return draw_within(p, n, chance, sizeof(T) == 4 ? 1e-6 : 1e-12);
}

}  // namespace hsd
