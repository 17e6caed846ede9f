// Verification of a tree of point-mass drafts: hsd_viz.decoding.verify.walk.
#pragma once
#include <cstdint>

namespace hsd {

// Of n fed tokens the last rows - 1 are a draft, and the one before them is the text's last. `own(row)` is the verifier's token after a
// row, asked for in the order of the walk, or -1 where it is undecided. Put into `found`: these tokens by row (room for all), how many rows
// are walked, how many places were examined, the walked rows (room for all), and for each node of the draft 1 where it was walked to, 0
// where it was tried, -1 where it was not reached. Returns how many rows are walked, 0 where a token was undecided.
template <class Own> int walk(const int32_t* tokens, int n, const int32_t* parents, int rows, int32_t* found, Own&& own) {
    const int first = n - rows;
    int32_t *walks = found + rows, *examined = found + rows + 1, *walked = found + rows + 2, *fates = walked + rows;
    int count = 1, last = 0;
    bool tried = false;
    *walks = walked[0] = 0;
    if ((found[0] = own(0)) < 0) return 0;
    for (int row = 1; row < rows; ++row) {
        const int parent = parents ? parents[first + row] - first : row - 1;
        const bool reached = parent == 0 || (parent > 0 && fates[parent - 1] == 1);
        const bool hit = reached && tokens[first + row] == found[parent];
        fates[row - 1] = hit ? 1 : reached ? 0 : -1;
        if (hit) {
            if ((found[row] = own(row)) < 0) return 0;
            walked[count++] = last = row;
            tried = false;
        } else if (reached && parent == last) {
            tried = true;
        }
    }
    *walks = count;
    // Every place on the path but the last had a child, the one that was walked to.
    *examined = count - 1 + tried;
    return count;
}

}  // namespace hsd
