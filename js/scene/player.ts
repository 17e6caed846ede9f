// Plays a scene: its time runs from 0 to 1, or through its stills if reduced motion is preferred.
import { type Scene, stillsOf } from "./scene";

/**
 * Milliseconds for which each still is shown with reduced motion, and the end of a played scene
 * before its controls return.
 */
const STILL = 1500;
const REST = 400;

export class ScenePlayer {
  /** Time of the scene; null: it is not playing. */
  time: number | null = null;
  private readonly still = matchMedia("(prefers-reduced-motion: reduce)");
  private frame = 0;
  private timer = 0;

  /** `show` draws the scene at `time`; after the end, `time` is null. */
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
