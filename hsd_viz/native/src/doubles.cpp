// Models in float64, and the loop that decodes with them.
#include "forward.hpp"
#include "loop.hpp"

namespace hsd {

template <> Model* new_model<double, double>(const ModelShape& shape) {
    return new Weights<double, double>(shape);
}

Decode* new_wide_decode(const DecodeSettings& settings, const LevelSettings* levels, int n,
                        Drafter* drafter, const int32_t* prompt, int n_prompt, const int32_t* ends,
                        int n_ends) {
    return new Loop<double>(settings, levels, n, drafter, prompt, n_prompt, ends, n_ends);
}

}  // namespace hsd
