// The database drafter as a level of a decode: hsd_viz.decoding.loop, look_up() and after it.
#pragma once
#include <vector>
#include "draft.hpp"
#include "drafter.hpp"
#include "level.hpp"

namespace hsd {

template <class T> class DatabaseLevel {
  public:
    // Null if the decode has no drafter; the other functions are then not called.
    explicit DatabaseLevel(Drafter* drafter) : drafter_(drafter) {}
    explicit operator bool() const { return drafter_; }

    bool watches_states() const { return drafter_ && drafter_->layer() >= 0; }
    int watched_layer() const { return drafter_->layer(); }

    void extend(const int32_t* tokens, int n) { drafter_->extend(tokens, n); }

    // Pass the target's states of its last forward pass to the drafter: those at the n tokens of
    // the text that were fed, and at the accepted nodes.
    void observe_states(const Level<T>& target, int n, const std::vector<int>& nodes) {
        if (!watches_states()) return;
        const Session& session = *target.spec.session;
        const int width = session.width();
        states_.resize((size_t)width * (n + nodes.size()));
        int8_t* to = states_.data();
        for (int i = 0; i < n; ++i, to += width) session.state(i, to);
        for (int node : nodes) {
            session.state(n + node, to);
            to += width;
        }
        drafter_->observe_states(states_.data(), n + (int)nodes.size(), width);
    }

    // Draft after a text, without nodes deeper than `room`: nodes are removed by position only,
    // never by token. The sources of nodes are numbered from `first_source` on.
    void look_up(const std::vector<int32_t>& text, int room, int budget, int first_source,
                 Draft<T>& out) {
        const int length = (int)text.size();
        const auto& tree = drafter_->draft(text.data(), length, length, budget);
        kept_.assign(tree.size(), -1);
        for (size_t k = 0; k < tree.size(); ++k) {
            const Drafter::Candidate& candidate = tree[k];
            if (candidate.depth > room) continue;
            kept_[k] = out.size();
            out.nodes.push_back(node_of(candidate, first_source));
        }
        out.why = drafter_->matched() ? RoundRow::NOT_WORTH_IT : RoundRow::NO_MATCH;
    }

  private:
    Node node_of(const Drafter::Candidate& candidate, int first_source) const {
        Node node;
        node.token = candidate.token;
        node.parent = candidate.parent < 0 ? -1 : kept_[candidate.parent];
        node.depth = candidate.depth;
        node.source = first_source + candidate.which;
        node.key_length = candidate.length;
        node.position = candidate.position;
        node.count = candidate.count;
        node.score = candidate.score;
        node.cosine = candidate.cosine;
        return node;
    }

    Drafter* const drafter_;
    std::vector<int> kept_;  // the node of each candidate in the draft; -1: it was left out
    std::vector<int8_t> states_;
};

}  // namespace hsd
