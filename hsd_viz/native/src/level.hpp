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

    // Feed tokens after the cached ones, for the logits of the last `rows` of them; `parents` are
    // null for a chain. Returns how many tokens were cached.
    int feed(const std::vector<int32_t>& tokens, const int32_t* parents, int rows, T* logits) {
        const int n = (int)tokens.size(), cached = length;
        // A thread is worth waking for some megabytes of weights; one read of them serves a few
        // tokens.
        const int worth = (int)std::min(1024.0, spec.bytes * std::max(1.0, n / 4.0) / 6e6);
        const int threads = std::max(1, std::min(spec.threads, worth));
        spec.session->forward(tokens.data(), n, parents, rows, logits, spec.cos, spec.sin, cached,
                              threads);
        length = cached + n;
        return cached;
    }

    // Note why its draft ended, of which so many tokens were wanted, if it has a confidence.
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
