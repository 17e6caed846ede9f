// Uniform random numbers in [0, 1 - 2^-52], as in hsd_viz.decoding.sampling: the same seed, stream
// and counter give the same number.
#pragma once
#include <cstdint>

namespace hsd {

class Draws {
  public:
    explicit Draws(uint64_t seed) : at_(key(seed, 0)), fresh_(key(seed, 1)) {}

    // The number for the target's own token at a position of the text.
    double at(int64_t position) const { return number(at_, (uint64_t)position); }
    // The next number of the stream whose numbers are used only once.
    double fresh() { return number(fresh_, used_++); }

  private:
    static constexpr uint64_t G = 0x9E3779B97F4A7C15u;

    static uint64_t mix(uint64_t z) {  // splitmix64 (Steele, Lea & Flood 2014)
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    static uint64_t key(uint64_t seed, uint64_t stream) {
        return mix(mix(seed + G) ^ mix(stream + 2 * G));
    }
    static double number(uint64_t key, uint64_t k) {
        return (double)(mix(key + k * G) >> 12) * 0x1p-52;
    }

    const uint64_t at_, fresh_;
    uint64_t used_ = 0;
};

}  // namespace hsd
