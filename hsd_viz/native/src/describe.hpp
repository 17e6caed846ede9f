// The description of a row of logits at temperature 1 that is recorded: the probability of a token,
// the entropy, and the likeliest tokens.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include "sample.hpp"

namespace hsd {

// The largest numbers so far, at most `most`: the largest first, of equal ones that with the lower
// index.
template <class T> class Ranking {
  public:
    Ranking(int most, int32_t* places, T* values) : most_(most), places_(places), values_(values) {}

    void clear() { size_ = 0; }
    // The least of the numbers once there are `most`, and -infinity before that. A number below it
    // does not rank.
    T least() const { return size_ == most_ ? values_[most_ - 1] : -INFINITY; }

    void offer(int place, T value) {
        if (size_ == most_ && !is_before(most_ - 1, place, value)) return;
        int k = size_ < most_ ? size_++ : most_ - 1;
        for (; k > 0 && is_before(k - 1, place, value); --k) {
            values_[k] = values_[k - 1];
            places_[k] = places_[k - 1];
        }
        values_[k] = value;
        places_[k] = place;
    }

  private:
    // Whether a number ranks before number k.
    bool is_before(int k, int place, T value) const {
        return value > values_[k] || (value == values_[k] && place < places_[k]);
    }

    const int most_;
    int size_ = 0;
    int32_t* places_;
    T* values_;
};

template <class T> constexpr int RANKED_COLUMNS = 4 * LANES<T>;

// The largest of each column of x [rows][RANKED_COLUMNS], by whole vectors.
template <class T> void column_maxima(const T* x, int rows, T* tops) {
    constexpr int L = LANES<T>, VECTORS = RANKED_COLUMNS<T> / L;
    vec<T> top[VECTORS];
    for (int v = 0; v < VECTORS; ++v) top[v] = load(x + v * L);
    for (int r = 1; r < rows; ++r) {
        for (int v = 0; v < VECTORS; ++v) {
            const vec<T> here = load(x + r * RANKED_COLUMNS<T> + v * L);
            top[v] = choose<T>((typename Vector<T>::mask)(here > top[v]), here, top[v]);
        }
    }
    for (int v = 0; v < VECTORS; ++v) store(tops + v * L, top[v]);
}

// The indices and values of the `most` largest elements of x [n]: the largest first, of equal ones
// that with the lower index.
//
// The elements are arranged in columns, row by row. If an element is one of the `most` largest, so
// is the largest element of its column, so that only these few columns are searched.
template <class T> void largest(const T* x, int n, int most, int32_t* places, T* values) {
    constexpr int COLUMNS = RANKED_COLUMNS<T>;
    Ranking<T> ranking(most, places, values);
    const int rows = n / COLUMNS;
    const int whole = rows > 1 ? rows * COLUMNS : 0;
    if (whole) {
        T tops[COLUMNS];
        column_maxima(x, rows, tops);
        for (int c = 0; c < COLUMNS; ++c) ranking.offer(c, tops[c]);
        const T least = ranking.least();
        ranking.clear();
        for (int c = 0; c < COLUMNS; ++c) {
            if (tops[c] < least) continue;
            for (int i = c; i < whole; i += COLUMNS)
                if (x[i] >= least) ranking.offer(i, x[i]);
        }
    }
    for (int i = whole; i < n; ++i) ranking.offer(i, x[i]);
}

// Describe a row of logits [n], as hsd_viz.decoding.sampling.describe does: the probability of
// `token`, the entropy in nats, and the `most` likeliest tokens with their probabilities. `room`
// has space for 2 n numbers.
template <class T>
void describe(const T* logits, int n, int token, int most, T* room, double& p, double& entropy,
              int32_t* places, double* shares) {
    constexpr int L = LANES<T>;
    const T top = max_of(logits, n);
    const vec<T> least = vec<T>{} + std::numeric_limits<T>::lowest();
    T values[16], rest[L], *product = room + n;
    // The weights exp x, and their products with x. A score of -inf (a forbidden token) has the
    // weight 0 and adds 0.
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
