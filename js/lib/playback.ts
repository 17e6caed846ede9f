// Plays the events of a run on a timer.
import { advance, lasts, type Speed } from "./events";
import type { Store } from "./run";

/** Maximum time that a frame counts, and limits of the time between two steps; milliseconds. */
const MAX_FRAME = 1000;
const TICK = { least: 16, most: 200 };

/** The shown event, which a playback moves. */
interface Stepper {
  /** Return the event shown. */
  step(): number;
  go(step: number): void;
  /** Called after the last event. */
  end(): void;
}

export class Playback {
  isPlaying = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Store,
    public speed: Speed,
    private readonly stepper: Stepper,
  ) {}

  /** Continue playing from the event shown. */
  start() {
    this.isPlaying = true;
    let before = performance.now();
    let remaining = 0;
    const tick = () => {
      const now = performance.now();
      const here = this.stepper.step();
      // When a hidden page is shown again, continue from the event shown before.
      const passed = remaining + Math.min(now - before, MAX_FRAME);
      const [step, rest] = advance(this.store, here, passed, this.speed);
      before = now;
      remaining = rest;
      if (step !== here) this.stepper.go(step);
      if (step >= this.store.index().events.length - 1) return this.stepper.end();
      const wait = lasts(this.store, step, this.speed) - remaining;
      this.timer = setTimeout(tick, Math.max(TICK.least, Math.min(TICK.most, wait)));
    };
    this.timer = setTimeout(tick, 0);
  }

  stop() {
    clearTimeout(this.timer);
    this.isPlaying = false;
  }
}
