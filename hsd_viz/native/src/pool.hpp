// A small thread pool: one caller leads, and the other threads help when they are available.
//
// A piece of work consists of `items` independent calls. They are assigned by an atomic ticket
// (phase, items, next), so that the leader waits only for calls that a helper has begun, never for
// a helper that is late, asleep or descheduled. Results do not depend on the thread of a call.
// Helpers spin for a few microseconds between pieces, then sleep.
#pragma once
#ifdef __wasm__
namespace hsd {

// A worker of a browser has a single thread.
class Team {
  public:
    explicit Team(int) {}
    template <class F> void each(int items, F&& f) {
        for (int item = 0; item < items; ++item) f(item);
    }
};

}  // namespace hsd
#else
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>
#include "vectors.hpp"

namespace hsd {

INLINE void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

class Pool {
  public:
    typedef void (*Call)(void* context, int item);

    // The pool of the process. It is never destroyed: its threads are detached and end with the
    // process. A forked child starts a new pool.
    static Pool& instance() {
        static std::once_flag once;
        std::call_once(once,
                       [] { pthread_atfork(nullptr, nullptr, [] { slot().store(nullptr); }); });
        Pool* pool = slot().load();
        if (!pool) {
            Pool* fresh = new Pool;
            if (slot().compare_exchange_strong(pool, fresh))
                pool = fresh;
            else
                delete fresh;
        }
        return *pool;
    }

    // Become the leader of up to `threads` threads. Returns false if another caller leads; the
    // caller then works alone.
    bool lead(int threads) {
        if (!leader_.try_lock()) return false;
        try {
            while ((int)helpers_.size() < threads - 1) {
                helpers_.reserve(threads - 1);
                std::unique_ptr<Helper> helper(new Helper);
                std::thread(&Pool::help, this, helper.get(), (int)helpers_.size()).detach();
                helpers_.push_back(std::move(helper));
            }
        } catch (...) {
            // No further thread can be started: use the existing ones.
        }
        active_.store(std::min(threads - 1, (int)helpers_.size()));
        return true;
    }

    // Leader only: stop leading, so that another caller may.
    void release() {
        active_.store(0);
        leader_.unlock();
    }

    // Leader only: make the calls 0..items-1 together with the threads that are awake, and return
    // when all are complete.
    void run(int items, Call call, void* context) {
        call_ = call;
        context_ = context;
        chunk_ = std::max(1, items / (4 * (active_.load() + 1)));
        done_.store(0);
        ++phase_;
        ticket_.store(phase_ << 48 | (uint64_t)items << 24);
        for (int k = 0; k < active_.load() && k < items - 1; ++k) helpers_[k]->wake();
        work();
        for (int tries = 0; done_.load(std::memory_order_acquire) != items; ++tries) {
            if (tries < 4000)
                pause_cpu();
            else
                std::this_thread::yield();
        }
        if (failed_.load(std::memory_order_relaxed)) {
            failed_.store(false, std::memory_order_relaxed);
            throw std::bad_alloc();
        }
    }

  private:
    static std::atomic<Pool*>& slot() {
        static std::atomic<Pool*> pool{nullptr};
        return pool;
    }

    // Make calls while there are any. Returns whether any was made.
    bool work() {
        bool some = false;
        uint64_t ticket = ticket_.load();
        for (;;) {
            const int items = ticket >> 24 & 0xffffff, next = ticket & 0xffffff;
            if (next >= items) return some;
            // This chunk_ may belong to another piece. The exchange decides, and any number is
            // valid.
            const int end = std::min(items, next + chunk_.load(std::memory_order_relaxed));
            if (!ticket_.compare_exchange_weak(ticket, (ticket & ~(uint64_t)0xffffff) | end))
                continue;
            try {
                for (int item = next; item < end; ++item) call_(context_, item);
            } catch (const std::bad_alloc&) {
                // The leader raises the error when no remaining call reads its stack frame.
                failed_.store(true, std::memory_order_relaxed);
            }
            done_.fetch_add(end - next, std::memory_order_release);
            some = true;
            ticket = ticket_.load();
        }
    }

    struct Helper {
        std::mutex mutex;
        std::condition_variable woken;
        std::atomic<bool> asleep{false};

        void wake() {
            if (!asleep.load()) return;
            std::lock_guard<std::mutex> lock(mutex);
            asleep.store(false);
            woken.notify_one();
        }
        void sleep() {
            std::unique_lock<std::mutex> lock(mutex);
            asleep.store(true);
            woken.wait(lock, [&] { return !asleep.load(); });
        }
    };

    void help(Helper* self, int index) {
        using clock = std::chrono::steady_clock;
        auto idle_since = clock::now();
        for (;;) {
            if (index < active_.load() && work()) {
                idle_since = clock::now();
                continue;
            }
            for (int k = 0; k < 32; ++k) pause_cpu();
            if (clock::now() - idle_since < std::chrono::microseconds(SPIN_MICROSECONDS)) continue;
            // A piece that begins between the last check and the sleep is done by other threads.
            self->sleep();
            idle_since = clock::now();
        }
    }

    static constexpr int SPIN_MICROSECONDS = 50;

    std::mutex leader_;
    std::vector<std::unique_ptr<Helper> > helpers_;
    uint64_t phase_ = 0;
    Call call_ = nullptr;
    void* context_ = nullptr;
    std::atomic<int> chunk_{1};
    std::atomic<bool> failed_{false};
    alignas(64) std::atomic<uint64_t> ticket_{0};
    alignas(64) std::atomic<int> done_{0};
    alignas(64) std::atomic<int> active_{0};
};

// The threads of a forward pass. With one thread, or if the pool is in use, calls are made in a
// loop.
class Team {
  public:
    explicit Team(int threads) : pool_(threads > 1 ? &Pool::instance() : nullptr) {
        if (pool_ && !pool_->lead(threads)) pool_ = nullptr;
    }
    ~Team() {
        if (pool_) pool_->release();
    }
    Team(const Team&) = delete;

    template <class F> void each(int items, F&& f) {
        if (!pool_ || items < 2) {
            for (int item = 0; item < items; ++item) f(item);
            return;
        }
        pool_->run(
            items, [](void* context, int item) { (*(std::remove_reference_t<F>*)context)(item); },
            &f);
    }

  private:
    Pool* pool_;
};

}  // namespace hsd
#endif
