// The levels of a decode, the lowest first: the database drafter, if any, draft models, the target.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>
#include "level.hpp"

namespace hsd {

template <class T> class LevelStack {
  public:
    // `levels` are n models, the target last, above the drafter, if there is one.
    LevelStack(const DecodeSettings& settings, const LevelSettings* levels, int n,
               const Drafter* drafter)
        : limit_(settings.limit) {
        if (drafter) levels_.emplace_back(LevelSettings{}, settings.vocab, 0);
        for (int i = 0; i < n; ++i)
            levels_.emplace_back(levels[i], settings.vocab, (int)levels_.size());
        target_place_ = top();
    }

    Level<T>& operator[](int i) { return levels_[i]; }
    int top() const { return (int)levels_.size() - 1; }
    Level<T>& top_level() { return levels_.back(); }
    // The index of the target in the complete stack, by which records name levels.
    int target_place() const { return target_place_; }
    // The length of text up to which all levels can draft.
    int64_t reach() const { return reach_; }

    // Remove the draft models whose context a text of this length fills. Decoding continues without
    // them.
    void leave_full(int64_t length) {
        reach_ = limit_;
        for (int i = top() - 1; i >= 0; --i) {
            const int64_t positions = levels_[i].spec.positions;
            if (levels_[i].is_database() || !positions) continue;
            if (positions > length)
                reach_ = std::min(reach_, positions);
            else
                levels_.erase(levels_.begin() + i);
        }
    }

    // Truncate the caches of the levels below i.
    void shorten_below(int i, int length) {
        for (int below = 0; below < i; ++below)
            levels_[below].length = std::min(levels_[below].length, length);
    }

    // The path of a token from the level `start` on, as the sum of 2 to the power of the indices of
    // the levels that it passed.
    double path_from(int start) const {
        double path = 0;
        for (const Level<T>& level : levels_)
            if (level.place >= start) path += std::ldexp(1.0, level.place);
        return path;
    }

  private:
    const int64_t limit_;  // of the text
    std::vector<Level<T>> levels_;
    int target_place_ = 0;
    int64_t reach_ = 0;
};

}  // namespace hsd
