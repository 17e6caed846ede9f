// Helpers for the DOM: elements, attributes, keys, the host's theme. They insert text only, never
// markup, and make no requests.

/**
 * Suppress JupyterLab's shortcuts ("d d" deletes the cell) while an element has the focus; only
 * this attribute does so.
 */
export function suppressShortcuts(el: HTMLElement) {
  el.addEventListener(
    "focusin",
    (e) => ((e.target as HTMLElement).dataset.lmSuppressShortcuts = "true"),
  );
}

type Attributes = Record<string, string | number>;

export function setAttributes<N extends Element>(node: N, attributes: Attributes): N {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  cls = "",
  text = "",
  attributes: Attributes = {},
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  if (text) node.textContent = text;
  return setAttributes(node, attributes);
}
/**
 * Call the action of a pressed key and return whether there is one. Ignores keys with a
 * modifier, except Shift if `shift` is true: then `keys` handles it.
 */
export function press(e: KeyboardEvent, keys: Record<string, () => unknown>, shift = false) {
  if (e.ctrlKey || e.metaKey || e.altKey || (e.shiftKey && !shift) || !Object.hasOwn(keys, e.key))
    return false;
  keys[e.key]();
  e.preventDefault();
  e.stopPropagation();
  return true;
}
/** Create an SVG element. */
export const draw = (tag: keyof SVGElementTagNameMap, attributes: Attributes) =>
  setAttributes(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
/**
 * Follow the theme of JupyterLab or Voilà (set on <body>), else that of the browser; print is
 * light. `behind` names the style property that gets the page's colour behind `root`; `changed` is
 * called after every change. Returns a function that stops.
 */
export function followTheme(
  root: HTMLElement,
  behind = "",
  changed: (dark: boolean) => void = () => {},
) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  const apply = () => {
    const host = document.body.dataset.jpThemeLight;
    const dark = !paper.matches && (host === undefined ? system.matches : host === "false");
    for (let node = behind ? root.parentElement : null; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (!/^(transparent|rgba\(.*, 0\))$/.test(colour)) {
        root.style.setProperty(behind, colour);
        break;
      }
    }
    changed(dark);
  };
  const observer = new MutationObserver(apply);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  for (const query of [system, paper]) query.addEventListener("change", apply);
  apply();
  const frame = requestAnimationFrame(apply); // a view is created before it is attached to the page
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
    for (const query of [system, paper]) query.removeEventListener("change", apply);
  };
}

/** Decompress a text from gzip. */
export const unpacked = async (packed: BlobPart) =>
  new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
/** Import a module from its text. */
export const moduleOf = (text: string): Promise<{ default: unknown }> =>
  import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
