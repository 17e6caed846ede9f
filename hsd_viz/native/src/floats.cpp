// Models in float32, and with weights in bfloat16.
#include "forward.hpp"

namespace hsd {

template <> Model* new_model<float, float>(const ModelShape& shape) {
    return new Weights<float, float>(shape);
}
template <> Model* new_model<float, bf16>(const ModelShape& shape) {
    return new Weights<float, bf16>(shape);
}

}  // namespace hsd
