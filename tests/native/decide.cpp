// The decisions of the compiled loop alone, without models: for tests/native/test_decisions.py.
#include "draws.hpp"
#include "pool.hpp"
#include "verifier.hpp"

using namespace hsd;

extern "C" {
int decide_draw(const double* p, int n, double r) { return draw(p, n, r); }

void decide_distribute(const double* logits, int n, double temperature, int top_k, double top_p,
                       double min_p, double* p, double* spare) {
    distribute(logits, n, SamplingSettings{temperature, top_p, min_p, top_k}, p, spare);
}

// Whether the leader gets the failure of a helper's call.
int decide_failure() {
    const auto leader = std::this_thread::get_id();
    std::atomic<bool> helped{false};
    Team team(2);
    try {
        team.each(2, [&](int) {
            while (std::this_thread::get_id() == leader && !helped) std::this_thread::yield();
            if (!helped.exchange(true)) throw std::bad_alloc();
        });
    } catch (const std::bad_alloc&) {
        return 1;
    }
    return 0;
}

double decide_number(uint64_t seed, int64_t position) { return Draws(seed).at(position); }

// Verify n nodes by scores [n + 1, vocab]; q [n, vocab] is null for point masses. `found` gets how
// many are accepted, the own token, its row, how many were examined, the accepted nodes; `numbers`
// p, q, u and h by node; `details` p and entropy of the own token and the residual's sum.
void decide(int vocab, double temperature, int top_k, double top_p, double min_p, int n,
            const int32_t* tokens, const int32_t* parents, const double* q, int rule,
            const double* r, const double* u, const double* scores, int32_t* found, double* numbers,
            double* details) {
    Verifier<double> verifier(vocab, SamplingSettings{temperature, top_p, min_p, top_k});
    std::copy_n(scores, (size_t)(n + 1) * vocab, verifier.logits(n + 1));
    std::vector<Node> draft(n);
    for (int k = 0; k < n; ++k) {
        draft[k].token = tokens[k], draft[k].parent = parents[k];
        draft[k].depth = parents[k] < 0 ? 1 : draft[parents[k]].depth + 1;
    }
    RowStore<double> rows(vocab);
    verifier.decide(draft, q, rule, r, u, rows);
    const Verdict& verdict = verifier.verdict;
    const int count = (int)verdict.accepted.size();
    for (int value : {count, verdict.token, verdict.row, verdict.examined}) *found++ = value;
    std::copy(verdict.accepted.begin(), verdict.accepted.end(), found);
    for (const auto* column : {&verdict.p, &verdict.q, &verdict.u, &verdict.h})
        numbers = std::copy(column->begin(), column->end(), numbers);
    Top top, residual, own;
    verifier.describe_walked(count, verdict.token, RECORDED_TOP, details[0], details[1], top);
    const bool corrected = temperature > 0 && verdict.examined > count;
    details[2] = corrected ? verifier.describe_correction(draft, q, rows.row(count), RECORDED_TOP,
                                                          residual, own)
                           : 0;
}
}
