// Drafts, and the rounds in which levels verify them.
#pragma once
#include <vector>
#include "rows.hpp"
#include "verifier.hpp"

namespace hsd {

// Tokens proposed to a verifier: hsd_viz.decoding.draft.Draft. `rows` are the rows q
// of the tokens, in order; a draft that is not `sampled` consists of point masses.
template <class T> struct Draft {
    std::vector<Node> nodes;
    RowStore<T> rows;
    bool sampled = false;
    RoundRow::WhyNoDraft why = RoundRow::OFF;   // there are no nodes
    RoundRow::DraftEnd end = RoundRow::LENGTH;  // of the draft of a model with a confidence
    bool has_end = false;

    explicit Draft(int vocab) : rows(vocab) {}
    const T* q() const { return sampled ? rows.row(0) : nullptr; }
    int size() const { return (int)nodes.size(); }
    void clear() {
        nodes.clear();
        rows.clear();
        sampled = false;
        has_end = false;
    }
    bool is_chain() const {
        for (int k = 0; k < size(); ++k)
            if (nodes[k].parent != k - 1) return false;
        return true;
    }
};

// The round in which a level verified a draft: hsd_viz.decoding.levels.LevelRound. The Verifier has
// the verdict.
struct LevelRound {
    std::vector<int> accepted;     // nodes up to an end token
    std::vector<int32_t> emitted;  // their tokens, then one of the level's own, unless it stopped
    RoundRow::Outcome outcome = RoundRow::PLAIN;
    int pending = 0;  // tokens of the text that were fed before the draft
};

}  // namespace hsd
