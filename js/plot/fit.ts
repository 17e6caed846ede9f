// A figure for the page that shows it: in its theme, without the heading that the page writes itself, as wide as its place.

export interface Layout {
  title?: { text?: string };
  width?: number;
  height?: number;
  margin?: { t?: number; r?: number; b?: number; l?: number };
  paper_bgcolor?: string;
  dragmode?: unknown;
  meta?: { head?: number };
}
/** Pixels of the narrowest figure: on a narrower page it scrolls. */
const LEAST = 640;
/** Pixels above a drawing that plotly's buttons take. */
const TOOLBAR = 30;

/** Prepare the layout of a figure, in place, for a page `width` pixels wide. */
export function fitted(layout: Layout, width: number): Layout {
  const [head, top] = [layout.meta?.head, layout.margin?.t ?? 0];
  layout.width = Math.max(LEAST, width);
  if (head !== undefined) {
    const t = Math.max(TOOLBAR, top - head);
    layout.height = (layout.height ?? 450) - top + t;
    layout.margin = { ...layout.margin, t };
    layout.title = undefined;
  }
  layout.paper_bgcolor = "rgba(0,0,0,0)";
  // A finger scrolls the page.
  if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;
  return layout;
}
