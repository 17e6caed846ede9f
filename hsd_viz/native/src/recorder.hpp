// Record the rows of rounds: hsd_viz.decoding.log.
#pragma once
#include <algorithm>
#include <cmath>
#include "draft.hpp"
#include "record.hpp"

namespace hsd {

template <class T> class Recorder {
  public:
    Recorder(Record& record, Verifier<T>& verifier) : record_(record), verifier_(verifier) {}

    // Record the tokens that the target emitted, with up to `details` likeliest tokens of their
    // rows (0: no details). `target` is its index in the stack; `path(start)` is the path of a
    // token from a level.
    template <class Path>
    void tokens(const Draft<T>& draft, const LevelRound& level_round, const RowStore<T>& rows,
                int target, int details, Path&& path) {
        const int most = std::min(RECORDED_TOP, details), count = (int)level_round.accepted.size();
        for (int k = 0; k < (int)level_round.emitted.size(); ++k) {
            TokenRow row;
            row.index = record_.emitted++;
            row.token_id = level_round.emitted[k];
            row.round = record_.round();
            if (k < count) {
                const Node& node = draft.nodes[level_round.accepted[k]];
                row.kind = TokenRow::ACCEPTED;
                row.source = node.source;
                row.path = path(node.start);
                row.depth = node.depth;
            } else {
                row.kind = own_kind(level_round.outcome);
                row.source = target;
                row.path = path(target);
                row.depth = 0;
            }
            if (most) describe(k, level_round, most, row);
            if (most && k == count) describe_correction(draft, level_round, rows, most, row);
            record_.tokens.push_back(row);
        }
    }

    // Record the draft of the innermost round, which the level at an index of the stack verified.
    void draft(int place, const Draft<T>& draft, const LevelRound& level_round) {
        const Verdict& verdict = verifier_.verdict;
        const std::vector<DraftRow::Verdict>& fates = fates_of(draft, level_round);
        for (int k = 0; k < draft.size(); ++k) {
            const Node& node = draft.nodes[k];
            DraftRow row;
            row.round = record_.round();
            row.level = place;
            row.source = node.source;
            row.node = k;
            row.parent = node.parent;
            row.depth = node.depth;
            row.token_id = node.token;
            row.p = verdict.p[k];
            row.q = verdict.q[k];
            row.u = verdict.u[k];
            row.verdict = fates[k];
            row.key_length = known(node.key_length);
            row.count = known(node.count);
            row.score = node.score;
            row.position = known(node.position);
            row.h = verdict.h[k];
            row.cosine = node.cosine;
            record_.drafts.push_back(row);
        }
    }

    // Close and record the innermost round, of the level at an index of the stack that verified by
    // `rule`.
    void close_round(int place, const Draft<T>& draft, const LevelRound& level_round, int rule) {
        const int accepted = (int)level_round.accepted.size();
        RoundRow row = record_.close();
        row.level = place;
        row.drafted = draft.size();
        row.examined =
            level_round.outcome == RoundRow::STOPPED ? accepted : verifier_.verdict.examined;
        row.accepted = accepted;
        row.outcome = level_round.outcome;
        if (!draft.size()) row.why_no_draft = draft.why;
        row.rule = draft.sampled ? rule : RoundRow::TOKEN;
        if (draft.size() && draft.has_end) row.draft_end = draft.end;
        record_.rounds.push_back(row);
    }

  private:
    static double known(int64_t value) { return value < 0 ? NONE : (double)value; }

    // The kind of the target's own token.
    static TokenRow::Kind own_kind(RoundRow::Outcome outcome) {
        if (outcome == RoundRow::CORRECTION) return TokenRow::CORRECTION;
        return outcome == RoundRow::BONUS ? TokenRow::BONUS : TokenRow::PLAIN;
    }

    static LikelyTokens likely(const Top& top) {
        LikelyTokens tokens;
        for (int k = 0; k < top.n; ++k) {
            tokens.places[k].token = top.tokens[k];
            tokens.places[k].probability = top.shares[k];
        }
        return tokens;
    }

    // The row that emitted token k came from.
    void describe(int k, const LevelRound& level_round, int most, TokenRow& row) {
        Top top;
        verifier_.describe_walked(k, level_round.emitted[k], most, row.p, row.entropy, top);
        row.top = likely(top);
    }

    // Set the residual from which a sampled correction was drawn.
    void describe_correction(const Draft<T>& draft, const LevelRound& level_round,
                             const RowStore<T>& rows, int most, TokenRow& row) {
        if (level_round.outcome != RoundRow::CORRECTION || verifier_.greedy()) return;
        const T* last = rows.row(level_round.accepted.size());
        Top residual, q;
        row.residual_sum =
            verifier_.describe_correction(draft.nodes, draft.q(), last, most, residual, q);
        row.residual_top = likely(residual);
        row.q_top = likely(q);
    }

    // The verdict on each node.
    const std::vector<DraftRow::Verdict>& fates_of(const Draft<T>& draft,
                                                   const LevelRound& level_round) {
        const Verdict& verdict = verifier_.verdict;
        fates_.assign(draft.size(), DraftRow::UNREACHED);
        for (int node = 0; node < draft.size(); ++node)
            if (!std::isnan(verdict.p[node])) fates_[node] = DraftRow::REJECTED;
        // Accepted nodes after an end token are cut.
        for (int node : verdict.accepted) fates_[node] = DraftRow::CUT;
        for (int node : level_round.accepted) fates_[node] = DraftRow::ACCEPTED;
        return fates_;
    }

    Record& record_;
    Verifier<T>& verifier_;
    std::vector<DraftRow::Verdict> fates_;
};

}  // namespace hsd
