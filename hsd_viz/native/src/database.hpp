// The databases of hsd_viz.drafting in C++: the context database (context_database.py) and index
// files (index/format.py), with the same answers.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>
#include "interface.hpp"

namespace hsd {

constexpr int MAX_CONTINUATIONS = 8;  // given for one key; an index has at most seven

struct Continuation {
    int32_t token;
    int32_t position;  // -1 outside of the text's own database
    int64_t count;
};

struct Match {
    int length;  // of the key
    int n;
    int64_t total;
    Continuation continuations[MAX_CONTINUATIONS];
};

// The CRC-32 (ISO 3309) of zlib, byte by byte.
constexpr std::array<uint32_t, 256> crc_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; ++bit) c = c & 1 ? (c >> 1) ^ 0xEDB88320u : c >> 1;
        table[i] = c;
    }
    return table;
}
inline constexpr std::array<uint32_t, 256> CRC = crc_table();

// The last tokens before a position, and the marks of their suffixes, which are computed once for
// all index files.
struct Tail {
    const int32_t* end;  // tokens are before it
    int size = 0;

    void clear() { size = 0, end = room + MAX_KEY_LENGTH, marked = 0; }
    // Tokens are added from the last to the first.
    void put_before(int32_t token) { room[MAX_KEY_LENGTH - ++size] = token; }

    // The mark of the last n tokens: their CRC-32 as little-endian u32.
    uint32_t mark(int n) {
        if (!(marked >> n & 1)) {
            uint32_t crc = 0xFFFFFFFFu;
            for (int i = n; i > 0; --i) {
                crc ^= (uint32_t)end[-i];
                for (int byte = 0; byte < 4; ++byte) crc = CRC[crc & 0xFF] ^ (crc >> 8);
            }
            marks[n] = ~crc;
            marked |= 1 << n;
        }
        return marks[n];
    }

  private:
    int32_t room[MAX_KEY_LENGTH];
    int marked = 0;  // bit n: marks[n] is known
    uint32_t marks[MAX_KEY_LENGTH + 1];
};

// An index of the positions of a text by the n tokens that end there: the latest position of each
// n-gram and, for each position, the previous one of the same n-gram.
class Places {
  public:
    explicit Places(int n) : n(n), latest_(1024, -1) {}

    // Add the n-gram that ends at `place`, the new end of the text.
    void add(const std::vector<int32_t>& text, int place) {
        if (place + 1 < n) {
            before_.push_back(-1);
            return;
        }
        int32_t& latest = latest_[slot(text, text.data() + place + 1)];
        if (latest < 0 && 2 * ++used_ > latest_.size()) {
            grow(text);
            add(text, place);
            return;
        }
        before_.push_back(latest);
        latest = place;
    }
    // The latest position at which the n tokens before `end` end; -1 if there is none.
    int latest(const std::vector<int32_t>& text, const int32_t* end) const {
        return latest_[slot(text, end)];
    }
    void fetch(const int32_t* end) const { __builtin_prefetch(&latest_[first_slot(end)]); }
    int before(int place) const { return before_[place]; }

    const int n;

  private:
    size_t first_slot(const int32_t* end) const {
        uint64_t hash = 0;
        for (int i = 1; i <= n; ++i)
            hash = (hash ^ (uint32_t)end[-i]) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
        return hash & (latest_.size() - 1);
    }
    size_t slot(const std::vector<int32_t>& text, const int32_t* end) const {
        for (size_t at = first_slot(end);; at = (at + 1) & (latest_.size() - 1)) {
            const int place = latest_[at];
            if (place < 0 ||
                std::memcmp(text.data() + place + 1 - n, end - n, n * sizeof(int32_t)) == 0)
                return at;
        }
    }
    void grow(const std::vector<int32_t>& text) {
        std::vector<int32_t> old(2 * latest_.size(), -1);
        old.swap(latest_);
        used_ = 0;
        for (const int32_t place : old)
            if (place >= 0) latest_[slot(text, text.data() + place + 1)] = place, ++used_;
    }

    std::vector<int32_t> latest_, before_;
    size_t used_ = 0;
};

// The text of a run, searched by keys of up to `longest` tokens: ContextDatabase.
class Context {
  public:
    Context(int longest, int recent, int most) : longest_(longest), recent_(recent), most_(most) {}

    int size() const { return (int)text_.size(); }

    void extend(const int32_t* tokens, int n) {
        for (int i = 0; i < n; ++i) {
            text_.push_back(tokens[i]);
            for (Places& places : places_) places.add(text_, size() - 1);
        }
    }

    // The previous position of the same token; -1 if there is none.
    int before(int place) const { return places_[SINGLE].before(place); }
    int32_t token(int place) const { return text_[place]; }

    // Prefetch the memory that a look-up reads first.
    void fetch(const Tail& tail) const {
        for (const Places& places : places_)
            if (places.n <= tail.size) places.fetch(tail.end);
    }
    // The continuations of the longest suffix of `tail`, of up to `longest` tokens, that a token
    // follows in the text.
    bool lookup(const Tail& tail, int longest, Match& match) const {
        int cap = std::min({longest, longest_, tail.size});
        for (const Places& places : places_) {
            if (places.n > cap) continue;
            int place = places.latest(text_, tail.end);
            // No token follows a match at the end of the text.
            if (place >= 0 && place == size() - 1) place = places.before(place);
            if (place >= 0) {
                count(places, place, tail.end, cap, match);
                return true;
            }
            cap = places.n - 1;
        }
        return false;
    }

  private:
    // The longest match, of up to `cap` tokens, among the positions from `place` on, and the
    // continuations of its latest occurrences.
    void count(const Places& places, int place, const int32_t* end, int cap, Match& match) const {
        int length = 0, found = 0, latest[MAX_CONTINUATIONS];
        for (; place >= 0; place = places.before(place)) {
            int same = places.n;
            while (same < cap && same <= place && text_[place - same] == end[-1 - same]) ++same;
            if (same > length) length = same, found = 0;
            if (same == length && found < recent_) latest[found++] = place;
            if (found == recent_ && length == cap) break;
        }
        match.length = length;
        match.total = found;
        match.n = 0;
        for (int i = 0; i < found; ++i) {
            const int32_t token = text_[latest[i] + 1];
            int k = 0;
            while (k < match.n && match.continuations[k].token != token) ++k;
            if (k == match.n) match.continuations[match.n++] = {token, latest[i] + 1, 0};
            ++match.continuations[k].count;
        }
        // Of equally frequent continuations, the latest comes first.
        for (int i = 1; i < match.n; ++i)
            for (int k = i;
                 k > 0 && match.continuations[k].count > match.continuations[k - 1].count; --k)
                std::swap(match.continuations[k], match.continuations[k - 1]);
        match.n = std::min(match.n, most_);
    }

    const int longest_, recent_, most_;
    std::vector<int32_t> text_;
    // The lengths of n-grams. Only positions of the longest n-gram that occurs are visited.
    Places places_[4] = {Places(5), Places(3), Places(2), Places(1)};
    static constexpr int SINGLE = 3;  // the index of single tokens
};

// An open index file, at its mapped address.
struct IndexFile : IndexArrays {
    // The same as Index.lookup. It never reads outside the arrays, for any contents.
    bool lookup(Tail& tail, Match& match) const {
        const int size = std::min(tail.size, longest);
        int64_t found = -1;
        int length = 0;
        // Most pairs of tokens are keys, so the search begins with two tokens; a single token is
        // the fallback.
        for (int n = std::min(size, 2); n >= 1 && n <= size;) {
            const int64_t row = find(tail.mark(n));
            if (row >= 0) {
                found = row, length = n;
                if (n == 1) break;
                ++n;
            } else if (n == 2) {
                n = 1;
            } else {
                break;
            }
        }
        return found >= 0 && read(found, length, match);
    }

    // A look-up waits for memory four times in sequence. These functions let the first three waits
    // of likely keys overlap, also those of several files.
    void fetch_starts(Tail& tail) const {
        for (int n = 1; n <= std::min(tail.size, LIKELY); ++n) {
            const int64_t bucket = tail.mark(n) >> shift;
            if (bucket + 1 < n_starts) __builtin_prefetch(starts + bucket);
        }
    }
    void fetch_rows(Tail& tail) const {
        for (int n = 1; n <= std::min(tail.size, LIKELY); ++n) {
            const int64_t bucket = tail.mark(n) >> shift;
            if (bucket + 1 >= n_starts || starts[bucket] >= n_marks || starts[bucket] >= n_places)
                continue;
            __builtin_prefetch(marks + starts[bucket]);
            __builtin_prefetch(places + starts[bucket]);
        }
    }

  private:
    static constexpr int LIKELY = 4;

    int64_t find(uint32_t mark) const {
        const int64_t bucket = mark >> shift;
        if (bucket + 1 >= n_starts) return -1;
        int64_t end = std::min<int64_t>(starts[bucket + 1], n_marks);
        int64_t i = starts[bucket];
        if (most_in_bucket && end - i > most_in_bucket) end = i + most_in_bucket;
        while (i < end && marks[i] != mark) ++i;
        return i < end ? i : -1;
    }
    int64_t value(int64_t i) const {
        return value_bytes == 2 ? ((const uint16_t*)values)[i] : ((const uint32_t*)values)[i];
    }
    int64_t count(int64_t i) const {
        const int64_t stored = value(i);
        return wide || stored < 32768 ? stored : (stored - 32768) << 8;
    }
    bool read(int64_t row, int length, Match& match) const {
        if (row >= n_places) return false;
        const int64_t at = places[row] >> 3, n = places[row] & 7;
        if (at + 2 * n >= n_values) return false;
        match.length = length;
        match.total = count(at);
        match.n = 0;
        for (int64_t i = at + 1; i < at + 2 * n; i += 2) {
            const int64_t token = value(i), seen = count(i + 1);
            if (limit >= 0 && !(token < limit && 0 < seen && seen <= match.total)) continue;
            match.continuations[match.n++] = {(int32_t)token, -1, seen};
        }
        return match.total > 0 && (match.n > 0 || limit < 0);
    }
};

}  // namespace hsd
