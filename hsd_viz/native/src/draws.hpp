// Uniform random numbers in [0, 1 - 2^-52] by name: hsd_viz.decoding.sampling. The same seed,
// stream and place give the same number.
#pragma once
#include <cstdint>

namespace hsd {

class Draws {
  public:
    explicit Draws(uint64_t seed) : at_(key(seed, 0)), fresh_(key(seed, 1)) {}

    // The target's own token at a place of the text.
    double at(int64_t position) const { return number(at_, (uint64_t)position); }
    // The next number of the stream that nothing returns to.
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
