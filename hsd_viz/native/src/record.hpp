// What a decode records: the tables of hsd_viz.trace as rows of numbers. Times are nanoseconds from
// its start.
#pragma once
#include <chrono>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <vector>
#include "verifier.hpp"

namespace hsd {

constexpr double NONE = NAN;  // null

// The order is that of hsd_viz.trace.tables.
enum Kind { ACCEPTED_TOKEN, CORRECTION_TOKEN, BONUS_TOKEN, PLAIN_TOKEN };
enum Fate { ACCEPTED, REJECTED, UNREACHED, CUT };
enum Outcome { CORRECTION, BONUS, PLAIN, STOPPED };
enum NoDraft { NO_MATCH, NOT_WORTH_IT, NO_ROOM, OFF };
enum DraftEnd { BY_LENGTH, BY_CONFIDENCE, BY_EOS, BY_LIMIT };
enum Call { PREFILL, DRAFT, VERIFY, LOOKUP, UPDATE };

// Rows of numbers, one after the other: one for each column that hsd_viz.trace.tables declares, in
// its order, 2 TOP for one of likeliest tokens. A number is a value, the place of a name among
// those declared, or NaN for null and for what only Python knows (texts of tokens).
struct Table {
    std::vector<double> cells;
    void add(std::initializer_list<double> row) { cells.insert(cells.end(), row); }
    void add(const Top& top) {
        for (int k = 0; k < TOP; ++k)
            add({k < top.n ? (double)top.tokens[k] : NONE, k < top.n ? top.shares[k] : NONE});
    }
};

// A round is the one of the innermost open() until close(); a call belongs to it, before the first
// to -1.
class Record {
  public:
    // A source is a level or, above the target's, a database; a name is a level; a path is the sum
    // of 2 to the power of its levels.
    Table tokens, drafts, rounds, calls;
    int64_t emitted = 0;  // tokens

    // Time in forward passes, and in sampling and verification by their logits.
    int64_t inside = 0;

    // It is `now` in the time of the decode: what its caller does with the rows may be a part of
    // that time, or not.
    void resume_at(int64_t now) { zero_ = clock() - now; }
    int64_t now() const { return clock() - zero_; }

    void open() { open_.push_back({next_++, now()}); }
    // The innermost open round, which ends, and the one around it.
    struct Round {
        double id, parent, start, spent;
    };
    Round close() {
        const Open round = open_.back();
        open_.pop_back();
        return {(double)round.id, open_.empty() ? NONE : open_.back().id, (double)round.start,
                (double)(now() - round.start)};
    }
    int round() const { return open_.empty() ? -1 : open_.back().id; }

    void call(int level, Call kind, int64_t start, int fed, int cached = 0, int steps = 1) {
        calls.add({(double)round(), (double)level, (double)level, (double)kind, (double)steps,
                   (double)fed, (double)cached, (double)start, (double)(now() - start)});
    }
    void clear() {
        for (Table* table : {&tokens, &drafts, &rounds, &calls}) table->cells.clear();
    }

  private:
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
