// The verification rules of hsd_viz.decoding.verify, with the same arithmetic in the same order.
// Under each rule the emitted tokens are distributed as the verifier's own.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
#include "rows.hpp"
#include "sample.hpp"

namespace hsd {

// A node of a draft tree, in which parents come before children. `parent` is -1 for a node that
// follows the text. `source` is the number of the level or, after the levels, of the database that
// first proposed it; `start` is the level at which its path begins. Negative and NaN values are
// unknown.
struct Node {
    int32_t token, parent = -1, depth = 1, source = 0, start = 0, key_length = -1, position = -1;
    int64_t count = -1;
    double score = NAN, cosine = NAN;
};

// The result of a verification: the `accepted` nodes in order, and the verifier's own `token` after
// them, drawn from row `row` (0: after the text, 1 + i: after node i), the last of `walked`.
// `examined` is the number of positions with draft tokens that were compared. Each node has p, q, u
// and h, which are NaN if it was not examined.
struct Verdict {
    std::vector<int> accepted, walked, own;
    int token, row, examined;
    std::vector<double> p, q, u, h;
    double residual_sum;  // of the row that a chain's correction was drawn from

    void begin(int n) {
        accepted.clear();
        walked.assign(1, 0);
        row = examined = 0;
        for (auto* column : {&p, &q, &u, &h}) column->assign(n, NAN);
    }
    void accept(int node) {
        accepted.push_back(node);
        walked.push_back(row = node + 1);
    }
};

// Verify a tree of point masses: at each position the verifier's own token, `own(row)`, decides; it
// is drawn in the order of the path. This is exact, because each emitted token is the verifier's
// own draw.
template <class Own> void walk(const std::vector<Node>& tree, Verdict& verdict, Own&& own) {
    const int n = (int)tree.size();
    verdict.begin(n);
    verdict.q.assign(n, 1.0);
    std::vector<int>& tokens = verdict.own;  // by row, -1 where the walk did not get
    tokens.assign(n + 1, -1);
    tokens[0] = own(0);
    bool tried = false;
    for (int node = 0; node < n; ++node) {
        const int before = tree[node].parent + 1;
        if (tokens[before] < 0) continue;
        const bool hit = tree[node].token == tokens[before];
        verdict.p[node] = hit;
        if (hit) {
            verdict.accept(node);
            tokens[node + 1] = own(node + 1);
            tried = false;
        } else if (before == verdict.row) {
            tried = true;
        }
    }
    verdict.token = tokens[verdict.row];
    // Each position on the path except the last has a child on the path.
    verdict.examined = (int)verdict.accepted.size() + tried;
}

// The verification of a chain that was sampled from rows q. `p(k)` is the verifier's row after k
// tokens; `left` is a buffer for a residual.
template <class T, class Rows> struct SampledChain {
    const std::vector<Node>& nodes;
    const T* q;
    const double* u;
    int vocab;
    Rows& p;
    T* left;
    Verdict& verdict;

    int size() const { return (int)nodes.size(); }
    const T* q_row(int k) const { return q + (size_t)k * vocab; }
    double p_of(int k) { return p(k)[nodes[k].token]; }

    // Compute the residual left = (w p - q)+ after k tokens, and return its sum.
    double residual(int k, double w) {
        const T *mine = p(k), *theirs = q_row(k), weight = (T)w;
        for (int i = 0; i < vocab; ++i) left[i] = std::max(weight * mine[i] - theirs[i], T(0));
        return total(left, vocab);
    }

    // Accept tokens while u q < p (Leviathan et al. 2023, Chen et al. 2023). Returns their number;
    // if not all are accepted, `left` is the residual.
    int token() {
        for (int k = 0; k < size(); ++k) {
            verdict.p[k] = p_of(k);
            verdict.u[k] = u[k];
            if (u[k] * verdict.q[k] < verdict.p[k]) continue;
            verdict.residual_sum = residual(k, 1);
            return k;
        }
        return size();
    }

    // Weights clipped at 1 in each step (Sun et al. 2024, arXiv 2403.10444, Algorithm 2).
    int block() {
        std::vector<double> w(size() + 1, 1.0);
        for (int k = 0; k < size(); ++k) {
            verdict.p[k] = p_of(k);
            w[k + 1] = std::min(1.0, w[k] * verdict.p[k] / verdict.q[k]);
        }
        return whole(w);
    }

    // Joint ratios divided by their running maximum (Zhou et al. 2026, arXiv 2601.05724, Algorithm
    // 2).
    int branch() {
        std::vector<double> w(size() + 1, 1.0);
        double ratio = 1, cap = 1;
        for (int k = 0; k < size(); ++k) {
            verdict.p[k] = p_of(k);
            ratio = std::min(1e300, ratio * verdict.p[k] / verdict.q[k]);
            cap = std::max(cap, ratio);
            w[k + 1] = ratio / cap;
        }
        return whole(w);
    }

    // Accept up to the last position whose u is below h.
    int whole(const std::vector<double>& w) {
        const int n = size();
        for (int k = n;; --k) {
            double& sum = verdict.residual_sum;
            if (k < n) sum = residual(k, w[k]);
            if (k == 0) return 0;
            verdict.u[k - 1] = u[k - 1];
            verdict.h[k - 1] = k == n ? w[k] : w[k] >= 1 ? 1 : sum / (sum + 1 - w[k]);
            if (u[k - 1] < verdict.h[k - 1]) return k;
        }
    }
};

// Apply a rule (a RoundRow::Rule), and draw the token after the accepted ones by the number of its
// position.
template <class T, class Rows> void judge(int rule, SampledChain<T, Rows>& chain, const double* r) {
    Verdict& verdict = chain.verdict;
    const int n = chain.size();
    verdict.begin(n);
    for (int k = 0; k < n; ++k) verdict.q[k] = chain.q_row(k)[chain.nodes[k].token];
    int accepted;
    switch (rule) {
        case RoundRow::BLOCK:
            accepted = chain.block();
            break;
        case RoundRow::BRANCH:
            accepted = chain.branch();
            break;
        default:
            accepted = chain.token();
    }
    for (int k = 0; k < accepted; ++k) verdict.accept(k);
    verdict.examined = std::min(accepted + 1, n);
    const T* row = chain.p(accepted);
    if (accepted < n) {
        // If rounding alone caused the rejection, p and q can be equal to the last bit. The limit
        // of the residual is then p itself.
        if (!(verdict.residual_sum > 0)) {
            std::copy_n(row, chain.vocab, chain.left);
            verdict.residual_sum = total(chain.left, chain.vocab);
        }
        row = chain.left;
    }
    verdict.token = draw(row, chain.vocab, r[accepted]);
}

}  // namespace hsd
