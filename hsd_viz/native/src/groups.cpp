// Models whose weights have a scale per group.
#include "forward.hpp"

namespace hsd {

template <> Model* new_model<float, grouped>(const ModelShape& shape) {
    return new Weights<float, grouped>(shape);
}

}  // namespace hsd
