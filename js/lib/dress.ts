// The styles of the views where a host draws widgets into a shadow root, as marimo does: those of
// the page do not reach there.
let sheet: CSSStyleSheet | null = null;

/** Give the page the styles of all views, and keep them for shadow roots. */
export function setStyles(css: string): void {
  sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** Give the styles to the shadow root that an element is in. */
export function dress(el: HTMLElement): void {
  const root = el.getRootNode();
  if (!sheet || !(root instanceof ShadowRoot) || root.adoptedStyleSheets.includes(sheet)) return;
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
