// A level of a decode: hsd_viz.decoding.levels.Level, or the database drafter.
#pragma once
#include <algorithm>
#include "draft.hpp"
#include "interface.hpp"
#include "model.hpp"

namespace hsd {

template <class T> struct Level {
    LevelSettings spec;
    Draft<T> draft;  // what it proposes
    int place;       // of the level in the stack, as the record has it
    int length = 0;  // tokens in its cache

    Level(const LevelSettings& settings, int vocab, int place)
        : spec(settings), draft(vocab), place(place) {}
    bool is_database() const { return !spec.session; }

    // Feed tokens after the cached ones, and compute the logits of the last `rows` of them;
    // `parents` is null for a chain. Returns the number of tokens that were cached before.
    int feed(const std::vector<int32_t>& tokens, const int32_t* parents, int rows, T* logits) {
        const int n = (int)tokens.size(), cached = length;
        // Waking a thread is worth it for some megabytes of weights; a read of them serves a few
        // tokens.
        const int worth = (int)std::min(1024.0, spec.bytes * std::max(1.0, n / 4.0) / 6e6);
        const int threads = std::max(1, std::min(spec.threads, worth));
        spec.session->forward(tokens.data(), n, parents, rows, logits, spec.cos, spec.sin, cached,
                              threads);
        length = cached + n;
        return cached;
    }

    // Record why the draft of a level with a confidence ended, of which `wanted` tokens were
    // requested.
    void set_end(int wanted, bool at_end_token) {
        draft.has_end = spec.confidence > 0;
        if (at_end_token)
            draft.end = RoundRow::EOS;
        else if (draft.size() < wanted)
            draft.end = RoundRow::CONFIDENCE;
        else
            draft.end = draft.size() >= spec.lookahead ? RoundRow::LENGTH : RoundRow::LIMIT;
    }
};

}  // namespace hsd
