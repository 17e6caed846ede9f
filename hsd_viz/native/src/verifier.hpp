// Compute the verdict on a draft from logits: hsd_viz.decoding.rejection_sampling.
#pragma once
#include <memory>
#include <vector>
#include "describe.hpp"
#include "rules.hpp"

namespace hsd {

// Rows of probabilities whose addresses stay valid when rows are added.
template <class T> class RowStore {
  public:
    explicit RowStore(int vocab) : vocab_(vocab) {}
    void clear() { rows_ = 0; }
    void keep(size_t rows) { rows_ = rows; }
    size_t rows() const { return rows_; }
    const T* row(size_t k) const { return data_.get() + k * vocab_; }
    T* add() {
        if (rows_ == room_) {
            const size_t room = room_ ? 2 * room_ : 8;
            std::unique_ptr<T[]> grown(new T[room * vocab_]);
            std::copy_n(data_.get(), rows_ * vocab_, grown.get());
            data_ = std::move(grown);
            room_ = room;
        }
        return data_.get() + rows_++ * vocab_;
    }

  private:
    size_t vocab_;
    std::unique_ptr<T[]> data_;
    size_t rows_ = 0, room_ = 0;
};

// A row described: see describe.hpp. `n` of the places hold tokens.
struct Top {
    int n = 0;
    int32_t tokens[RECORDED_TOP];
    double shares[RECORDED_TOP];
};

template <class T> class Verifier {
  public:
    Verdict verdict;  // of the last decide()

    Verifier(int vocab, const SamplingSettings& sampling) : vocab_(vocab), sampling_(sampling) {}
    bool greedy() const { return sampling_.temperature == 0; }

    // A buffer for the logits of a forward pass: row 0 after the text, row 1 + i after node i.
    T* logits(int rows) { return logits_.at_least((size_t)rows * vocab_); }
    const T* row(int k) { return logits_.at_least(0) + (size_t)k * vocab_; }

    // The token of row 0 of the logits: the arg-max, or drawn by the number r from the row, which
    // is added to `rows`.
    int sample(double r, RowStore<T>& rows) {
        return greedy() ? best_of(row(0), vocab_) : draw(make(0, rows), vocab_, r);
    }

    // The probability of a token by row 0 of the logits at temperature 1.
    double chance_of(int token) {
        double p, entropy;
        Top top;
        describe(row(0), vocab_, token, 1, room() + vocab_, p, entropy, top.tokens, top.shares);
        return p;
    }

    // Verify a draft that was sampled from the rows q, or of point masses if q is null, by the
    // numbers r of its positions and u of its nodes. The verifier's rows on the walked path are
    // added to `rows`, possibly followed by others.
    void decide(const std::vector<Node>& draft, const T* q, int rule, const double* r,
                const double* u, RowStore<T>& rows) {
        const size_t first = rows.rows();
        if (greedy()) {
            walk(draft, verdict, [&](int k) { return best_of(row(k), vocab_); });
        } else if (q) {
            auto p = [&](int k) {
                while (rows.rows() <= first + k) make((int)(rows.rows() - first), rows);
                return rows.row(first + k);
            };
            SampledChain<T, decltype(p)> chain{draft, q, u, vocab_, p, room(), verdict};
            judge(rule, chain, r);
        } else {
            walk(draft, verdict, [&](int k) { return draw(make(k, rows), vocab_, *r++); });
            // The probabilities of the examined nodes: position k of the path has the row
            // walked[k].
            for (int node = 0; node < (int)draft.size(); ++node) {
                if (std::isnan(verdict.p[node])) continue;
                const auto place =
                    std::find(verdict.walked.begin(), verdict.walked.end(), draft[node].parent + 1);
                verdict.p[node] =
                    rows.row(first + (place - verdict.walked.begin()))[draft[node].token];
            }
        }
    }

    // The description of the row at position k of the path, from which `token` was drawn: the
    // probability of the token, the entropy, the likeliest tokens.
    void describe_walked(int k, int token, int most, double& p, double& entropy, Top& top) {
        top.n = std::min(most, vocab_);
        describe(row(verdict.walked[k]), vocab_, token, top.n, room() + vocab_, p, entropy,
                 top.tokens, top.shares);
    }

    // The likeliest tokens and the sum of the residual from which a correction was drawn, and the
    // likeliest tokens of q if the draft was sampled. `last` is the verifier's row.
    double describe_correction(const std::vector<Node>& draft, const T* q, const T* last, int most,
                               Top& residual, Top& drafted) {
        T* left = room();
        if (q) {
            likeliest(q + (size_t)verdict.row * vocab_, T(1), most, drafted);
        } else {
            // The verifier drew a token that was not drafted: the residual is p without the drafted
            // tokens.
            std::copy_n(last, vocab_, left);
            for (const Node& node : draft)
                if (node.parent == verdict.row - 1) left[node.token] = 0;
        }
        const double sum = total(left, vocab_);
        likeliest(left, (T)sum, most, residual);
        return sum;
    }

  private:
    // A buffer for a residual, followed by one for the description of a row.
    T* room() { return left_.at_least(3 * (size_t)vocab_); }
    const T* make(int k, RowStore<T>& rows) {
        T* p = rows.add();
        distribute(row(k), vocab_, sampling_, p, spare_.at_least(vocab_ + 64));
        return p;
    }
    // The likeliest tokens of weights that sum to `sum`, without those of probability 0.
    void likeliest(const T* weights, T sum, int most, Top& top) {
        T values[RECORDED_TOP];
        most = std::min(most, vocab_);
        largest(weights, vocab_, most, top.tokens, values);
        for (top.n = 0; top.n < most && values[top.n] > 0; ++top.n)
            top.shares[top.n] = (T)(values[top.n] / sum);
    }

    const int vocab_;
    const SamplingSettings sampling_;
    Scratch<T> logits_, spare_, left_;
};

}  // namespace hsd
