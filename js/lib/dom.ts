// Shared by all views: elements, roles, colours by source, the host's theme. Text only; no
// requests.

/**
 * JupyterLab's shortcuts ("d d" deletes the cell) are suppressed only by an attribute of the
 * focused element.
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
 * Act on a key, unless a modifier is held (Shift where `keys` does not read it) or it is another
 * one; returns whether it did.
 */
export function press(e: KeyboardEvent, keys: Record<string, () => unknown>, shift = false) {
  if (e.ctrlKey || e.metaKey || e.altKey || (e.shiftKey && !shift) || !Object.hasOwn(keys, e.key))
    return false;
  keys[e.key]();
  e.preventDefault();
  e.stopPropagation();
  return true;
}
/** An SVG element. */
export const draw = (tag: keyof SVGElementTagNameMap, attributes: Attributes) =>
  setAttributes(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
/**
 * Follow the theme of JupyterLab and Voilà (set on <body>), else of the browser; print is light.
 * `behind` names the style property for the page's colour behind `root`; `changed` is called after
 * every change. Returns a function that stops following.
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
  for (const said of [system, paper]) said.addEventListener("change", apply);
  apply();
  const frame = requestAnimationFrame(apply); // a view is created before it is attached to the page
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
    for (const said of [system, paper]) said.removeEventListener("change", apply);
  };
}

/** The text of what was packed by gzip. */
export const unpacked = async (packed: BlobPart) =>
  new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
/** A module from its text. */
export const moduleOf = (text: string): Promise<{ default: unknown }> =>
  import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
