// The functions that interface.hpp declares and describes. If a function fails, hsd_error() returns
// the reason.
#include "drafter.hpp"
#include "forward.hpp"
#include "loop.hpp"

namespace hsd {

// A function whose types differ from those in interface.hpp is a compile error.
#define API extern "C"

template <class R, class F> static R guarded(R failure, F&& f) {
#ifdef __cpp_exceptions
    try {
        return f();
    } catch (const std::bad_alloc&) {
        set_error("memory");
    } catch (const std::exception& e) {
        set_error(e.what());
    }
    return failure;
#else
    return f();
#endif
}

// Make a call, and return whether it succeeds.
template <class F> static int succeeds(F&& call) {
    return guarded(0, [&] {
        call();
        return 1;
    });
}

API const char* hsd_error() { return last_error; }
API int hsd_vector_bytes() { return VECTOR_BYTES; }

API Model* hsd_model_new(const ModelShape* shape) {
    return guarded<Model*>(nullptr, [&]() -> Model* {
        switch (shape->type) {
#ifndef __wasm__
            case FLOAT32:
                return new_model<float, float>(*shape);
            case FLOAT64:
                return new_model<double, double>(*shape);
            case BFLOAT16:
                return new_model<float, bf16>(*shape);
#endif
            case INT8:
                return new Weights<float, i8>(*shape);
            case INT8_GROUPS:
                return new_model<float, grouped>(*shape);
        }
        raise(std::invalid_argument("no such type"));
    });
}
API int hsd_model_set(Model* model, int layer, int slot, const void* data, const float* scales) {
    return succeeds([&] { model->set(layer, slot, data, scales); });
}
API int hsd_model_panels(Model* model, int layer, int slot, const void* data, int bits) {
    return succeeds([&] { model->set_panels(layer, slot, data, bits); });
}
API int hsd_model_disable_rope(Model* model, int layer) {
    return succeeds([&] { model->disable_rope(layer); });
}
API int hsd_model_head_tokens(Model* model, const int32_t* tokens, int n) {
    return succeeds([&] { model->head_of(tokens, n); });
}
API int64_t hsd_model_bytes(const Model* model) { return (int64_t)model->bytes(); }
API int64_t hsd_model_cache_bytes(const Model* model) { return (int64_t)model->cache_bytes(); }
API void hsd_model_free(Model* model) { delete model; }

API Session* hsd_session_new(const Model* model) {
    return guarded<Session*>(nullptr, [&] { return model->session(); });
}
API int hsd_session_forward(Session* session, const int32_t* tokens, int n, const int32_t* parents,
                            int rows, void* logits, const void* cos, const void* sin, int cached,
                            int threads) {
    return succeeds(
        [&] { session->forward(tokens, n, parents, rows, logits, cos, sin, cached, threads); });
}
API int hsd_session_forward_batch(Session* session, Session* const* sessions, const int32_t* tokens,
                                  int n, void* logits, const void* cos, const void* sin,
                                  const int32_t* cached, int threads) {
    return succeeds(
        [&] { session->forward_batch(sessions, tokens, n, logits, cos, sin, cached, threads); });
}
API int hsd_session_keep(Session* session, int base, const int32_t* places, int n) {
    return succeeds([&] { session->keep(base, places, n); });
}
API int hsd_session_watch(Session* session, int layer) {
    return succeeds([&] { session->watch(layer); });
}
API int hsd_session_states(const Session* session, int n, int8_t* numbers) {
    return succeeds([&] {
        for (int i = 0; i < n; ++i) session->state(i, numbers + (size_t)i * session->width());
    });
}
API void hsd_session_free(Session* session) { delete session; }

API Drafter* hsd_drafter_new(const DrafterSettings* settings) {
    return guarded<Drafter*>(nullptr, [&]() -> Drafter* {
        if (!Drafter::accepts(*settings)) {
            set_error("keys of this length are not for the native drafter");
            return nullptr;
        }
        return new Drafter(*settings);
    });
}
API int hsd_drafter_add(Drafter* drafter, const IndexArrays* file, const double* priors,
                        double discount) {
    return succeeds([&] { drafter->add(file, priors, discount); });
}
API int hsd_drafter_add_semantic(Drafter* drafter, const SemanticSettings* settings,
                                 const double* priors, double discount) {
    return guarded(0, [&] {
        if (!Drafter::accepts(*settings)) {
            set_error("so many copies are not for the native drafter");
            return 0;
        }
        drafter->add_semantic(*settings, priors, discount);
        return 1;
    });
}
API int hsd_drafter_watch(Drafter* drafter, int layer) {
    return succeeds([&] { drafter->watch(layer); });
}
API int hsd_drafter_states(Drafter* drafter, const int8_t* numbers, int n, int width) {
    return succeeds([&] { drafter->observe_states(numbers, n, width); });
}
API int hsd_drafter_costs(Drafter* drafter, const double* at, const double* slopes, int n,
                          double least_slope, double floor) {
    return succeeds([&] { drafter->costs(at, slopes, n, least_slope, floor); });
}
API int hsd_drafter_ends(Drafter* drafter, const int32_t* tokens, int n) {
    return succeeds([&] { drafter->ends(tokens, n); });
}
API int hsd_drafter_extend(Drafter* drafter, const int32_t* tokens, int n) {
    return succeeds([&] { drafter->extend(tokens, n); });
}
API int hsd_drafter_draft(Drafter* drafter, const int32_t* text, int n, int64_t length, int budget,
                          DraftedNode* nodes) {
    return guarded(-2, [&] {
        if (!drafter->ready(n, length, budget)) {
            set_error("emitted tokens or the costs of so many nodes are missing");
            return -2;
        }
        const auto& tree = drafter->draft(text, n, length, budget);
        for (const auto& it : tree) {
            DraftedNode& node = *nodes++;
            node.score = it.score;
            node.cosine = it.cosine;
            node.count = it.count;
            node.token = it.token;
            node.parent = it.parent;
            node.database = it.which;
            node.key_length = it.length;
            node.position = it.position;
            node.depth = it.depth;
        }
        return tree.empty() && drafter->matched() ? -1 : (int)tree.size();
    });
}
API void hsd_drafter_free(Drafter* drafter) { delete drafter; }

API Decode* hsd_decode_new(const DecodeSettings* settings, int wide, const LevelSettings* levels,
                           int n, Drafter* drafter, const int32_t* prompt, int n_prompt,
                           const int32_t* ends, int n_ends) {
    return guarded<Decode*>(nullptr, [&]() -> Decode* {
#ifndef __wasm__
        if (wide)
            return new_wide_decode(*settings, levels, n, drafter, prompt, n_prompt, ends, n_ends);
#endif
        return new Loop<float>(*settings, levels, n, drafter, prompt, n_prompt, ends, n_ends);
    });
}
API int hsd_decode_run(Decode* decode, int64_t ns, int64_t now) {
    return guarded(-1, [&] { return (int)decode->run(ns, now); });
}
template <class Row> static int numbers_of(const std::vector<Row>& rows, const double** numbers) {
    static_assert(std::is_standard_layout_v<Row> && sizeof(Row) % sizeof(double) == 0);
    *numbers = reinterpret_cast<const double*>(rows.data());
    return (int)(rows.size() * (sizeof(Row) / sizeof(double)));
}
API int hsd_decode_rows(const Decode* decode, int table, const double** numbers) {
    const Record& record = decode->record;
    switch (table) {
        case TOKENS_TABLE:
            return numbers_of(record.tokens, numbers);
        case DRAFTS_TABLE:
            return numbers_of(record.drafts, numbers);
        case ROUNDS_TABLE:
            return numbers_of(record.rounds, numbers);
        default:
            return numbers_of(record.calls, numbers);
    }
}
API int64_t hsd_decode_inside(const Decode* decode) { return decode->record.inside; }
API void hsd_decode_free(Decode* decode) { delete decode; }

}  // namespace hsd
