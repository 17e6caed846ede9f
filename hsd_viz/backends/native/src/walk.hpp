// Greedy verification of a tree of drafts: hsd_viz.decoding.verify.walk, where the verifier's tokens are the arg-maxes of its rows.
#pragma once
#include <cstdint>

namespace hsd {

// Of n fed tokens the last rows - 1 are a draft, and the one before them is the text's last. `said` begins with the arg-max of each row;
// behind them are put how many rows are walked, how many places were examined, the walked rows (room for all), and for each node of
// the draft 1 where it was walked to, 0 where it was tried, -1 where it was not reached. Returns how many rows are walked.
inline int walk(const int32_t* tokens, int n, const int32_t* parents, int rows, int32_t* said) {
    const int first = n - rows;
    int32_t *examined = said + rows + 1, *walked = said + rows + 2, *fates = walked + rows;
    int count = 1, last = 0;
    bool tried = false;
    walked[0] = 0;
    for (int row = 1; row < rows; ++row) {
        const int parent = parents ? parents[first + row] - first : row - 1;
        const bool reached = parent == 0 || (parent > 0 && fates[parent - 1] == 1);
        const bool hit = reached && tokens[first + row] == said[parent];
        fates[row - 1] = hit ? 1 : reached ? 0 : -1;
        if (hit) {
            walked[count++] = last = row;
            tried = false;
        } else if (reached && parent == last) {
            tried = true;
        }
    }
    said[rows] = count;
    // Every place on the path but the last had a child, the one that was walked to.
    *examined = count - 1 + tried;
    return count;
}

}  // namespace hsd
