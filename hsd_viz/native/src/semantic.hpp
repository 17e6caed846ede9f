// SemanticDatabase of hsd_viz.drafting.semantic_database in C++: the same cosines and copies.
#pragma once
#include <cmath>
#include "database.hpp"

namespace hsd {

// A passage after an earlier occurrence of the last token of a text before which the state was
// similar: the position of its next token, and the cosine.
struct Copy {
    int position;
    double cosine;
};

// The directions of a layer's input states at the positions of a text.
class Semantic {
  public:
    Semantic() = default;
    explicit Semantic(const SemanticSettings& settings) : settings_(settings) {}

    int size() const { return (int)squares_.size(); }

    void observe(const int8_t* numbers, int n, int width) {
        width_ = width;
        numbers_.insert(numbers_.end(), numbers, numbers + (size_t)n * width);
        for (int i = 0; i < n; ++i) squares_.push_back((double)product(size(), size()));
    }

    // The occurrences of the last token of `context` with the most similar states before them: the
    // most similar first, of equal ones the latest. None if the state before the last token is not
    // known.
    void find(const Context& context, int64_t length, std::vector<Copy>& copies) const {
        copies.clear();
        if (length != context.size() || length < 2 || size() < length - 1) return;
        const int last = (int)length - 1;
        int scanned = 0;
        for (int place = context.before(last); place > 0 && scanned < settings_.scanned;
             place = context.before(place), ++scanned) {
            const double similarity = cosine(place - 1, last - 1);
            if (!(similarity >= settings_.least_cosine)) continue;
            size_t at = copies.size();
            while (at > 0 && copies[at - 1].cosine < similarity) --at;
            copies.insert(copies.begin() + at, {place + 1, similarity});
            if ((int)copies.size() > settings_.most) copies.pop_back();
        }
    }

    // The band of a cosine, from 1 on. The trust in copies is learned per band.
    int band(double cosine) const {
        return std::min(settings_.bands,
                        1 + (int)((cosine - settings_.least_cosine) / settings_.band_width));
    }

  private:
    int64_t product(int a, int b) const {
        const int8_t* x = numbers_.data() + (size_t)a * width_;
        const int8_t* y = numbers_.data() + (size_t)b * width_;
        int32_t sum = 0;
        for (int d = 0; d < width_; ++d) sum += (int32_t)x[d] * y[d];
        return sum;
    }
    double cosine(int a, int b) const {
        const double norms = std::sqrt(squares_[a] * squares_[b]);
        return norms > 0 ? (double)product(a, b) / norms : 0;
    }

    SemanticSettings settings_{};
    int width_ = 0;
    std::vector<int8_t> numbers_;
    std::vector<double> squares_;
};

}  // namespace hsd
