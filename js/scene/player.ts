// Plays a scene: its time runs from 0 to 1, or over its stills where motion is reduced.
import { type Scene, stillsOf } from "./scene";

/**
 * Milliseconds of each still with reduced motion, and of the end of a played scene before its
 * controls return.
 */
const STILL = 1500;
const REST = 400;

export class ScenePlayer {
  /** The time of the scene; null: it is not played. */
  time: number | null = null;
  private readonly still = matchMedia("(prefers-reduced-motion: reduce)");
  private frame = 0;
  private timer = 0;

  /** `show` draws the scene at its time, and at last without one. */
  constructor(private readonly show: () => void) {}

  play(scene: Scene) {
    this.stop();
    const began = performance.now();
    const stills = stillsOf(scene);
    const tick = () => {
      const passed = performance.now() - began;
      if (this.still.matches) {
        this.time = stills[Math.floor(passed / STILL)] ?? null;
        if (this.time !== null) this.timer = setTimeout(tick, STILL) as unknown as number;
      } else {
        const isOver = passed > scene.lasts + REST;
        this.time = isOver ? null : Math.min(1, passed / scene.lasts);
        if (!isOver) this.frame = requestAnimationFrame(tick);
      }
      this.show();
    };
    tick();
  }

  stop() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.time = null;
  }
}
