// A run that is played: its events, one after the other, on a timer.
import { advance, lasts, type Speed } from "./events";
import type { Store } from "./run";

/** Milliseconds that a frame counts at most, and between two steps. */
const LONGEST_FRAME = 1000;
const TICK = { least: 16, most: 200 };

/** What a playback moves: the event that is shown. */
interface Stepper {
  /** The event at which the run is. */
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

  /** Play on from the event at which the run is. */
  start() {
    this.isPlaying = true;
    let before = performance.now();
    let left = 0;
    const tick = () => {
      const now = performance.now();
      const here = this.stepper.step();
      // After a hidden page is shown again, playing resumes where it was.
      const passed = left + Math.min(now - before, LONGEST_FRAME);
      const [step, rest] = advance(this.store, here, passed, this.speed);
      before = now;
      left = rest;
      if (step !== here) this.stepper.go(step);
      if (step >= this.store.index().events.length - 1) return this.stepper.end();
      const wait = lasts(this.store, step, this.speed) - left;
      this.timer = setTimeout(tick, Math.max(TICK.least, Math.min(TICK.most, wait)));
    };
    this.timer = setTimeout(tick, 0);
  }

  stop() {
    clearTimeout(this.timer);
    this.isPlaying = false;
  }
}
