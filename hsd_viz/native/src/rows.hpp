// Written by `python -m tools.reference` from hsd_viz/trace/tables.toml, which has the meanings of
// tables and columns.
//
// The rows of the tables as numbers: a value, the place of a name among those declared (or among
// those of the decode: levels, sources), or NONE for null and for what only Python knows (texts of
// tokens).
#pragma once
#include <cmath>

namespace hsd {

constexpr double NONE = NAN;

// The likeliest tokens that are recorded of a distribution, at most.
constexpr int RECORDED_TOP = 5;

// Likeliest tokens with their probabilities, likeliest first; NONE: there are no more.
struct LikelyTokens {
    struct {
        double token = NONE;
        double probability = NONE;
    } places[RECORDED_TOP];
};

// One emitted token.
struct TokenRow {
    enum Kind { ACCEPTED, CORRECTION, BONUS, PLAIN };
    double index = NONE;
    double token_id = NONE;
    double text = NONE;
    double raw = NONE;
    double round = NONE;
    double kind = NONE;
    double source = NONE;
    double path = NONE;
    double depth = NONE;
    double p = NONE;
    double entropy = NONE;
    LikelyTokens top;
    LikelyTokens residual_top;
    LikelyTokens q_top;
    double residual_sum = NONE;
};

// One token submitted to a verifier; a token that passes several levels has a row in each of their
// rounds.
struct DraftRow {
    enum Verdict { ACCEPTED, REJECTED, UNREACHED, CUT };
    double round = NONE;
    double level = NONE;
    double source = NONE;
    double node = NONE;
    double parent = NONE;
    double depth = NONE;
    double token_id = NONE;
    double text = NONE;
    double p = NONE;
    double q = NONE;
    double u = NONE;
    double verdict = NONE;
    double key_length = NONE;
    double count = NONE;
    double score = NONE;
    double position = NONE;
    double h = NONE;
    double cosine = NONE;
};

// One verification by a level: its draft, what it accepted and what it added.
struct RoundRow {
    enum Outcome { CORRECTION, BONUS, PLAIN, STOPPED };
    enum WhyNoDraft { NO_MATCH, NOT_WORTH_IT, NO_ROOM, OFF };
    enum Rule { TOKEN, BLOCK, BRANCH };
    enum DraftEnd { LENGTH, CONFIDENCE, EOS, LIMIT };
    double id = NONE;
    double parent = NONE;
    double level = NONE;
    double drafted = NONE;
    double examined = NONE;
    double accepted = NONE;
    double outcome = NONE;
    double why_no_draft = NONE;
    double start_ns = NONE;
    double duration_ns = NONE;
    double rule = NONE;
    double draft_end = NONE;
};

// One forward pass, launch or look-up. Calls never overlap.
struct CallRow {
    enum Kind { PREFILL, DRAFT, VERIFY, LOOKUP, UPDATE };
    double round = NONE;
    double level = NONE;
    double name = NONE;
    double kind = NONE;
    double steps = NONE;
    double fed = NONE;
    double cached = NONE;
    double start_ns = NONE;
    double duration_ns = NONE;
};

// The numbers of the tables.
enum TableNumber { TOKENS_TABLE, DRAFTS_TABLE, ROUNDS_TABLE, CALLS_TABLE };

}  // namespace hsd
