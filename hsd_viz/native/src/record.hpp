// The rows of the tables of hsd_viz.trace that a decode records. Times are nanoseconds from its
// start.
#pragma once
#include <chrono>
#include <cstdint>
#include <vector>
#include "rows.hpp"

namespace hsd {

// A call belongs to the innermost open round; calls before the first round belong to round -1.
class Record {
  public:
    // A source is the number of a level or, above the target's, of a database. A name is the number
    // of a level. A path is the sum of 2 to the power of its levels.
    std::vector<TokenRow> tokens;
    std::vector<DraftRow> drafts;
    std::vector<RoundRow> rounds;
    std::vector<CallRow> calls;
    int64_t emitted = 0;  // tokens

    // The time in forward passes, sampling and verification.
    int64_t inside = 0;

    // Set the time of the decode. The caller decides whether it includes the handling of rows.
    void resume_at(int64_t now) { zero_ = clock() - now; }
    int64_t now() const { return clock() - zero_; }

    void open() { open_.push_back({next_++, now()}); }
    // Close the innermost round, and set the id, the parent and the times of its row.
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

    // Record a call of the level or drafter at an index of the stack, from `start` to now.
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
