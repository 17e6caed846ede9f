// Verification of a chain that was sampled from rows: hsd_viz.decoding.verify.verify_chain and verify_block.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>
#include "sample.hpp"

namespace hsd {

// How far apart two implementations can decide: several times what their rows differ by. Nothing is decided within it.
template <class T> constexpr double OPEN = sizeof(T) == 4 ? 2e-6 : 4e-12;
constexpr int UNDECIDED = -1;

// out = (w p - q)+; returns its sum.
template <class T> double residual_of(const T* p, const T* q, double w, int n, T* out) {
    const T weight = (T)w;
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += out[i] = std::max(weight * p[i] - q[i], T(0));
    return sum;
}

// The drafted tokens [n] with the rows q [n][vocab] they were sampled from and the uniform numbers u [n] that decide on them. `row(k)` is the
// verifier's row after k of them, asked for in ascending order. p_of [n] and h [n] are filled as far as they are found; `left` [vocab] is
// the residual after the accepted ones and `sum` its sum, where not all are accepted.
template <class T> struct Chain {
    const int32_t* tokens;
    const T* q;
    const double* u;
    int n, vocab;
    double *p_of, *h;
    T* left;
    double sum = 0;

    const T* q_row(int k) const { return q + (size_t)k * vocab; }

    // How many tokens are accepted.
    template <class Row> int by_token(Row&& row) {
        for (int k = 0; k < n; ++k) {
            const double p = p_of[k] = row(k)[tokens[k]], limit = u[k] * q_row(k)[tokens[k]];
            if (std::abs(p - limit) <= OPEN<T> * p + 1e-30) return UNDECIDED;
            if (limit < p) continue;
            sum = residual_of(row(k), q_row(k), 1, vocab, left);
            return k;
        }
        return n;
    }

    template <class Row> int by_block(Row&& row) {
        std::vector<double> w(n + 1, 1);
        for (int k = 0; k < n; ++k) {
            p_of[k] = row(k)[tokens[k]];
            w[k + 1] = std::min(1.0, w[k] * p_of[k] / q_row(k)[tokens[k]]);
        }
        for (int k = n;; --k) {
            if (k < n) sum = residual_of(row(k), q_row(k), w[k], vocab, left);
            if (k == 0) return 0;
            const double whole = k < n ? sum + 1 - w[k] : 1;
            const double chance = h[k - 1] = k == n ? w[k] : w[k] >= 1 ? 1 : sum / whole;
            // w is a product of up to n ratios, and so are the parts of the fraction.
            if (!(std::abs(u[k - 1] - chance) > OPEN<T> * (n + 1) / whole)) return UNDECIDED;
            if (u[k - 1] < chance) return k;
        }
    }

    // The token after `accepted` ones: a correction from the residual, or a bonus.
    template <class Row> int token(int accepted, double chance, Row&& row) {
        if (accepted == n) return draw_safely(row(n), vocab, chance);
        const double margin = OPEN<T> * (n + 1);
        return sum > margin ? draw_within(left, vocab, chance, margin) : UNDECIDED;
    }
};

}  // namespace hsd
