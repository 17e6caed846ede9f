// The interface: plain C functions. Those that can fail return 0 (or a null handle) and leave a sentence in hsd_error().
#include "drafter.hpp"
#include "forward.hpp"

using namespace hsd;

#define API extern "C" __attribute__((visibility("default")))

static thread_local char error[200] = "";

template <class R, class F> static R guarded(R failure, F&& f) {
    try {
        return f();
    } catch (const std::bad_alloc&) {
        std::strncpy(error, "memory", sizeof error - 1);
    } catch (const std::exception& e) {
        std::strncpy(error, e.what(), sizeof error - 1);
    }
    return failure;
}

API const char* hsd_error() { return error; }
API int hsd_vector_bytes() { return VECTOR_BYTES; }

API Model* hsd_model_new(const Shape* shape) {
    return guarded<Model*>(nullptr, [&]() -> Model* {
        switch (shape->type) {
            case 0: return new Weights<float, float>(*shape);
            case 1: return new Weights<double, double>(*shape);
            case 2: return new Weights<float, bf16>(*shape);
            case 3: return new Weights<float, f16>(*shape);
            case 4: return new Weights<float, i8>(*shape);
        }
        throw std::invalid_argument("no such type");
    });
}
API int hsd_model_set(Model* model, int layer, int slot, const void* data, const float* scales) {
    return guarded(0, [&] { return model->set(layer, slot, data, scales), 1; });
}
API int hsd_model_window(Model* model, int layer, int size) {
    return guarded(0, [&] { return model->window(layer, size), 1; });
}
API int64_t hsd_model_bytes(const Model* model) { return (int64_t)model->bytes(); }
API void hsd_model_free(Model* model) { delete model; }

API Session* hsd_session_new(const Model* model) {
    return guarded<Session*>(nullptr, [&] { return model->session(); });
}
// With a rule the draft is verified, too.
API int hsd_session_forward(Session* session, const int32_t* tokens, int n, const int32_t* parents, int rows, void* logits, const Rule* rule,
                            const double* chances, const Drafted* drafted, int32_t* found, int most, double* numbers, const void* cos,
                            const void* sin, int cached, int threads) {
    return guarded(0, [&] {
        session->forward(tokens, n, parents, rows, logits, cos, sin, cached, threads);
        if (rule) session->verify(tokens, n, parents, rows, logits, *rule, chances, drafted ? *drafted : Drafted{}, found, most, numbers);
        return 1;
    });
}
// Returns how many tokens were decoded, -1 when it failed. Without `rows` it stops before a token that rounding could decide.
API int hsd_session_sample(Session* session, const int32_t* tokens, int n, const Rule* rule, const double* chances, const int32_t* ends,
                           int n_ends, int wanted, void* rows, int32_t* ids, int most, double* numbers, int64_t* times, const void* cos,
                           const void* sin, int cached, int threads) {
    return guarded(-1, [&] {
        return session->sample(tokens, n, *rule, chances, ends, n_ends, wanted, rows, ids, most, numbers, times, cos, sin, cached, threads);
    });
}
API void hsd_session_keep(Session* session, int base, const int32_t* places, int n) { session->keep(base, places, n); }
API void hsd_session_free(Session* session) { delete session; }

// Rows of logits [., vocab] described one after the other: 2 + 2 * most numbers each.
API void hsd_describe(const void* logits, int wide, int vocab, const int32_t* rows, const int32_t* tokens, int n, int most, double* out) {
    for (int k = 0; k < n; ++k, out += 2 + 2 * most)
        if (wide)
            describe((const double*)logits + (size_t)rows[k] * vocab, vocab, tokens[k], most, out);
        else
            describe((const float*)logits + (size_t)rows[k] * vocab, vocab, tokens[k], most, out);
}

API Drafter* hsd_drafter_new(const Drafting* rules) {
    return guarded<Drafter*>(nullptr, [&] { return new Drafter(*rules); });
}
API int hsd_drafter_add(Drafter* drafter, const IndexFile* file, const double* priors, double discount) {
    return guarded(0, [&] { return drafter->add(file, priors, discount), 1; });
}
API int hsd_drafter_costs(Drafter* drafter, const double* at, const double* slopes, int n, double least_slope, double floor) {
    return guarded(0, [&] { return drafter->costs(at, slopes, n, least_slope, floor), 1; });
}
API int hsd_drafter_ends(Drafter* drafter, const int32_t* tokens, int n) {
    return guarded(0, [&] { return drafter->ends(tokens, n), 1; });
}
API void hsd_drafter_buffers(Drafter* drafter, const int32_t* in, int64_t* out, double* scores) { drafter->buffers(in, out, scores); }
API int hsd_drafter_extend(Drafter* drafter, int n) {
    return guarded(0, [&] { return drafter->extend(n), 1; });
}
// Returns how many nodes the tree has, 0 or -1 where there is none; -2 when it failed.
API int hsd_drafter_draft(Drafter* drafter, int emitted, int n, int64_t length, int budget) {
    return guarded(-2, [&] { return drafter->draft(emitted, n, length, budget); });
}
API void hsd_drafter_free(Drafter* drafter) { delete drafter; }
