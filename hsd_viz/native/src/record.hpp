// What a decode records: rows of the tables of hsd_viz.trace. Times are nanoseconds from its start.
#pragma once
#include <chrono>
#include <cstdint>
#include <vector>
#include "rows.hpp"

namespace hsd {

// A round is the one of the innermost open() until close(); a call belongs to it, before the first
// to -1.
class Record {
  public:
    // A source is a level or, above the target's, a database; a name is a level; a path is the sum
    // of 2 to the power of its levels.
    std::vector<TokenRow> tokens;
    std::vector<DraftRow> drafts;
    std::vector<RoundRow> rounds;
    std::vector<CallRow> calls;
    int64_t emitted = 0;  // tokens

    // Time in forward passes, and in sampling and verification by their logits.
    int64_t inside = 0;

    // It is `now` in the time of the decode: what its caller does with the rows may be a part of
    // that time, or not.
    void resume_at(int64_t now) { zero_ = clock() - now; }
    int64_t now() const { return clock() - zero_; }

    void open() { open_.push_back({next_++, now()}); }
    // End the innermost open round. Of its row are set: its id, the round around it, its times.
    RoundRow close() {
        const Open closed = open_.back();
        open_.pop_back();
        RoundRow row;
        row.id = closed.id;
        row.parent = open_.empty() ? NONE : open_.back().id;
        row.start_ns = closed.start;
        row.duration_ns = now() - closed.start;
        return row;
    }
    int round() const { return open_.empty() ? BEFORE_ROUNDS : open_.back().id; }

    // A call of the level or drafter at a place of the stack, from `start` to now.
    void call(int place, CallRow::Kind kind, int64_t start, int fed, int cached = 0,
              int steps = 1) {
        CallRow row;
        row.round = round();
        row.level = place;
        row.name = place;
        row.kind = kind;
        row.steps = steps;
        row.fed = fed;
        row.cached = cached;
        row.start_ns = start;
        row.duration_ns = now() - start;
        calls.push_back(row);
    }
    void clear() {
        tokens.clear();
        drafts.clear();
        rounds.clear();
        calls.clear();
    }

  private:
    static constexpr int BEFORE_ROUNDS = -1;
    struct Open {
        int id;
        int64_t start;
    };
    static int64_t clock() {
        return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    }

    std::vector<Open> open_;
    int next_ = 0;
    int64_t zero_ = 0;
};

}  // namespace hsd
