// Sample a token from a row of logits: take the arg-max, or compute the distribution after
// temperature, top-k, top-p and min-p and draw from it. The operations and their order are those of
// hsd_viz.decoding.sampling, so that the results are bit-equal.
#pragma once
#include <algorithm>
#include <functional>
#include <limits>
#include <vector>
#include "interface.hpp"
#include "vectors.hpp"

namespace hsd {

// The largest logit.
template <class T> T max_of(const T* logits, int n) {
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
    return best;
}

// The arg-max of the logits, of equal ones that with the lowest index.
template <class T> int best_of(const T* logits, int n) {
    const T best = max_of(logits, n);
    for (int i = 0; i < n; ++i)
        if (logits[i] == best) return i;
    return 0;
}

// The smallest probability in the nucleus, which consists of the likeliest tokens up to and
// including the one that reaches top_p.
template <class T> T nucleus_border(const T* p, int n, double top_p, T* sorted) {
    std::copy(p, p + n, sorted);
    double before = 0;
    // The nucleus is usually small, so only as much of the row as necessary is sorted.
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

// The sum of p [n] in the lanes of LaneSum; `spare` has space for 64 numbers.
template <class T> T lane_sum(const T* p, int n, T* spare) {
    LaneSum<T> sum;
    int i = 0;
    for (; i + 64 <= n; i += 64) sum.add([&](int k) { return load(p + i + k); });
    if (i < n) {
        std::fill(spare, spare + 64, T(0));
        std::copy(p + i, p + n, spare);
        sum.add([&](int k) { return load(spare + k); });
    }
    return sum.fold();
}

template <class T> void multiply_row(T* p, int n, T by) {
    for (int i = 0; i < n; ++i) p[i] *= by;
}

// Set the elements of x [n] below the k-th largest to -infinity.
template <class T> void keep_largest(T* x, int n, int k, T* spare) {
    std::copy(x, x + n, spare);
    std::nth_element(spare, spare + k - 1, spare + n, std::greater<T>());
    const T border = spare[k - 1];
    for (int i = 0; i < n; ++i)
        if (x[i] < border) x[i] = -INFINITY;
}

// Replace x [n] by e^x, and return the sum in the lanes of LaneSum.
template <class T> T exponentiate(T* x, int n, T* spare) {
    auto replace = [](T* at) {
        const vec<T> e = exponential(load(at));
        store(at, e);
        return e;
    };
    LaneSum<T> sum;
    int i = 0;
    for (; i + 64 <= n; i += 64) sum.add([&](int k) { return replace(x + i + k); });
    if (i < n) {
        std::fill(spare, spare + 64, -INFINITY);
        std::copy(x + i, x + n, spare);
        sum.add([&](int k) { return replace(spare + k); });
        std::copy(spare, spare + (n - i), x + i);
    }
    return sum.fold();
}

// Set the probabilities below `least` to 0, and scale the others to a sum of 1.
template <class T> void keep_likely(T* p, int n, T least, T* spare) {
    for (int i = 0; i < n; ++i) p[i] = p[i] < least ? T(0) : p[i];
    multiply_row(p, n, T(1) / lane_sum(p, n, spare));
}

// Compute p [n] from logits [n], bit-equal to hsd_viz.decoding.sampling.distribution. `spare` has
// space for n + 64 numbers.
template <class T>
void distribute(const T* logits, int n, const SamplingSettings& sampling, T* p, T* spare) {
    const T top = max_of(logits, n);
    const T temperature = (T)std::max(sampling.temperature, (double)std::numeric_limits<T>::min());
    for (int i = 0; i < n; ++i) p[i] = (logits[i] - top) / temperature;
    if (sampling.top_k > 0 && sampling.top_k < n) keep_largest(p, n, sampling.top_k, spare);
    multiply_row(p, n, T(1) / exponentiate(p, n, spare));
    if (sampling.top_p < 1) keep_likely(p, n, nucleus_border(p, n, sampling.top_p, spare), spare);
    if (sampling.min_p > 0) keep_likely(p, n, max_of(p, n) * (T)sampling.min_p, spare);
}

// The float64 sums of each block of 64 of p [n], in order. Eight blocks are summed at the same
// time, because the additions of a single sum have to wait for each other.
constexpr int BLOCK_OF_SUM = 64;
template <class T> void block_sums(const T* p, int n, double* sums) {
    constexpr int SIDE = 8;
    int i = 0;
    for (; i + SIDE * BLOCK_OF_SUM <= n; i += SIDE * BLOCK_OF_SUM, sums += SIDE) {
        double sum[SIDE] = {};
        for (int k = 0; k < BLOCK_OF_SUM; ++k)
            for (int b = 0; b < SIDE; ++b) sum[b] += p[i + b * BLOCK_OF_SUM + k];
        std::copy_n(sum, SIDE, sums);
    }
    for (; i < n; i += BLOCK_OF_SUM) {
        double sum = 0;
        for (int k = i; k < std::min(n, i + BLOCK_OF_SUM); ++k) sum += p[k];
        *sums++ = sum;
    }
}

// The functions below need a buffer for the sums of the blocks of a row.
inline double* room_for_sums(int n) {
    static thread_local std::vector<double> room;
    room.resize((n + BLOCK_OF_SUM - 1) / BLOCK_OF_SUM);
    return room.data();
}

// The float64 sum of p [n]: each block of 64 in order, then the blocks in order.
template <class T> double total(const T* p, int n) {
    double sum = 0, *sums = room_for_sums(n);
    block_sums(p, n, sums);
    for (int b = 0; b * BLOCK_OF_SUM < n; ++b) sum += sums[b];
    return sum;
}

// The first token whose cumulative sum is above `chance` times the total, as in
// hsd_viz.decoding.sampling.draw.
template <class T> int draw(const T* p, int n, double chance) {
    double whole = 0, before = 0, *sums = room_for_sums(n);
    block_sums(p, n, sums);
    for (int b = 0; b * BLOCK_OF_SUM < n; ++b) whole += sums[b];
    const double mark = chance * whole;
    for (int i = 0; i < n; i += BLOCK_OF_SUM) {
        const double after = before + *sums++;
        if (after > mark) {
            const double rest = mark - before;
            double sum = 0;
            int last = i;
            for (int k = i; k < std::min(n, i + BLOCK_OF_SUM); ++k) {
                sum += p[k];
                if (sum > rest) return k;
                if (p[k] > 0) last = k;
            }
            return last;
        }
        before = after;
    }
    return n - 1;
}

}  // namespace hsd
