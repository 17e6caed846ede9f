// The curve of a prediction: a handle per question, which is dragged or moved by the keys of its
// slider, and the measured curve once the answer is shown.

type Point = readonly [place: number, value: number];

/** What a page says of the curve (`curve_data` of hsd_viz/views/lesson_exercises.py). */
export interface Curve {
  measured: Point[];
  naive: Point[];
  /** Of the curve and of the naive line. */
  names: [string, string];
  /** Labels of the places and of the values. */
  axes: [string, string];
}
const HEIGHT = 360;
const MARGIN = { left: 28, right: 20, top: 36, bottom: 46 };
/** Radius of a handle, of what can be grabbed around it, and of a measured point, in pixels. */
const RADIUS = { handle: 12, grip: 24, point: 4 };
/** Pixels between two numbers of the axis of places, and the parts of the other axis. */
const TICK = 20;
const PARTS = 4;

type Attributes = Record<string, string | number>;

function node(name: string, attributes: Attributes, text = ""): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}

/** The value of a slider that is the nearest to a number, within its range. */
export function nearestOf(slider: HTMLInputElement, value: number): number {
  const step = Number(slider.step);
  const within = Math.min(Number(slider.max), Math.max(Number(slider.min), value));
  return Math.round(within / step) * step;
}

/** The places of an axis that have a number: none closer than `least` to the one before. */
export function ticksOf(places: readonly number[], at: (place: number) => number, least: number) {
  const ticks: number[] = [];
  for (const place of places) {
    const last = ticks.at(-1);
    if (last === undefined || at(place) - at(last) >= least) ticks.push(place);
  }
  return ticks;
}

/** A drawing of a curve, above the sliders of its prediction. */
class Drawing {
  private readonly svg = node("svg", { height: HEIGHT, "aria-hidden": "true" });
  private readonly sliders: HTMLInputElement[];
  private width = 0;
  private dragged: HTMLInputElement | undefined;

  constructor(
    private readonly guess: HTMLElement,
    private readonly box: HTMLElement,
    private readonly curve: Curve,
  ) {
    this.sliders = [...guess.querySelectorAll<HTMLInputElement>("input[type=range]")];
    guess.dataset.drawn = "";
    box.append(this.svg);
    for (const slider of this.sliders)
      for (const kind of ["input", "focus", "blur"])
        slider.addEventListener(kind, () => this.draw());
    guess.querySelector("details")?.addEventListener("toggle", () => this.draw());
    this.svg.addEventListener("pointerdown", (event) => this.grab(event));
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const kind of ["pointerup", "pointercancel"] as const)
      this.svg.addEventListener(kind, () => {
        this.dragged = undefined;
      });
    window.addEventListener("resize", () => this.draw());
    this.draw();
  }

  private get isAnswered() {
    return this.guess.querySelector("details")?.open ?? false;
  }

  private readonly x = (place: number) => {
    const first = this.curve.measured[0][0];
    const last = this.curve.measured[this.curve.measured.length - 1][0];
    const room = this.width - MARGIN.left - MARGIN.right;
    return MARGIN.left + ((place - first) / (last - first)) * room;
  };

  private get top() {
    return Number(this.sliders[0].max);
  }

  private readonly y = (value: number) =>
    HEIGHT - MARGIN.bottom - (value / this.top) * (HEIGHT - MARGIN.top - MARGIN.bottom);

  private pathOf(points: readonly Point[]) {
    return `M${points.map(([place, value]) => `${this.x(place)} ${this.y(value)}`).join("L")}`;
  }

  private grab(event: PointerEvent) {
    const name = (event.target as Element).getAttribute("data-slider");
    const slider = this.sliders[Number(name)];
    if (name === null || slider.disabled) return;
    this.dragged = slider;
    this.svg.setPointerCapture(event.pointerId);
  }

  private drag(event: PointerEvent) {
    const slider = this.dragged;
    if (!slider) return;
    const height = event.clientY - this.svg.getBoundingClientRect().top;
    const room = HEIGHT - MARGIN.top - MARGIN.bottom;
    const value = ((HEIGHT - MARGIN.bottom - height) / room) * this.top;
    slider.value = String(nearestOf(slider, value));
    slider.dispatchEvent(new Event("input"));
  }

  private draw() {
    this.width = this.box.clientWidth;
    this.svg.setAttribute("width", String(this.width));
    const { naive } = this.curve;
    const line = node("path", { class: "naive", d: this.pathOf(naive) });
    this.svg.replaceChildren(...this.axes(), line, ...this.nameOf(naive, this.curve.names[1]));
    if (this.isAnswered) this.svg.append(...this.answer());
    this.svg.append(...this.handles());
  }

  private axes(): SVGElement[] {
    const { measured, axes } = this.curve;
    const foot = HEIGHT - MARGIN.bottom;
    const end = this.width - MARGIN.right;
    const drawn: SVGElement[] = [];
    for (let k = 0; k <= PARTS; k++) {
      const value = (k * this.top) / PARTS;
      const y = this.y(value);
      drawn.push(node("line", { class: "grid", x1: MARGIN.left, x2: end, y1: y, y2: y }));
      drawn.push(node("text", { x: MARGIN.left - 8, y: y + 4, class: "end" }, `${value}`));
    }
    const places = measured.map(([place]) => place);
    for (const place of ticksOf(places, this.x, TICK))
      drawn.push(node("text", { x: this.x(place), y: foot + 18, class: "middle" }, `${place}`));
    const middle = (MARGIN.left + end) / 2;
    drawn.push(node("text", { x: middle, y: HEIGHT - 8, class: "middle" }, axes[0]));
    drawn.push(node("text", { x: 0, y: 14 }, axes[1]));
    return drawn;
  }

  /** The name of a line at its end, on the side that has room. */
  private nameOf(points: readonly Point[], name: string): SVGElement[] {
    const [place, value] = points[points.length - 1];
    const isRight = this.x(place) > this.width / 2 + MARGIN.left + MARGIN.right;
    const shift = isRight ? 0 : RADIUS.handle + 8;
    const at = { x: this.x(place) + shift, y: this.y(value) - (isRight ? 12 : -4) };
    return [node("text", { ...at, class: isRight ? "end name" : "name" }, name)];
  }

  private answer(): SVGElement[] {
    const { measured, names } = this.curve;
    const drawn = [node("path", { class: "measured", d: this.pathOf(measured) })];
    for (const [place, value] of measured)
      drawn.push(
        node("circle", {
          class: "measured",
          cx: this.x(place),
          cy: this.y(value),
          r: RADIUS.point,
        }),
      );
    return [...drawn, ...this.nameOf(measured, names[0])];
  }

  private handles(): SVGElement[] {
    const [first] = this.curve.measured;
    const points: Point[] = [first];
    const drawn: SVGElement[] = [];
    this.sliders.forEach((slider, k) => {
      const value = slider.valueAsNumber;
      const place = Number(slider.dataset.place);
      points.push([place, value]);
      const center = { cx: this.x(place), cy: this.y(value) };
      const under = { x: center.cx, y: center.cy + 30, class: "middle value" };
      const isMarked = document.activeElement === slider;
      const kind = isMarked ? "handle marked" : "handle";
      drawn.push(node("circle", { ...center, r: RADIUS.handle, class: kind }));
      drawn.push(node("text", { x: center.cx, y: center.cy + 5, class: "middle arrow" }, "↕"));
      if ("given" in slider.dataset && !this.isAnswered)
        drawn.push(node("text", under, value.toFixed(1)));
      drawn.push(node("circle", { ...center, r: RADIUS.grip, class: "grip", "data-slider": k }));
    });
    const start = {
      class: "start",
      cx: this.x(first[0]),
      cy: this.y(first[1]),
      r: RADIUS.point + 1,
    };
    const isGiven = this.sliders.some((slider) => "given" in slider.dataset);
    const line = node("path", { class: "guessed-line", d: this.pathOf(points) });
    return [...(isGiven ? [line] : []), node("circle", start), ...drawn];
  }
}

/** Draw the curve of a prediction, if it has one. */
export function drawCurve(guess: HTMLElement): void {
  const box = guess.querySelector<HTMLElement>("[data-curve]");
  if (box) new Drawing(guess, box, JSON.parse(box.dataset.curve ?? ""));
}
