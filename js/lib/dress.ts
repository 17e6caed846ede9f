// Adds the styles of the views to shadow roots, which the page's styles do not reach. Hosts such as
// marimo draw widgets into one.
let sheet: CSSStyleSheet | null = null;

/** Add the styles of all views to the page, and keep them for shadow roots. */
export function setStyles(css: string): void {
  sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** Add the styles to the shadow root that contains an element, if there is one. */
export function dress(el: HTMLElement): void {
  const root = el.getRootNode();
  if (!sheet || !(root instanceof ShadowRoot) || root.adoptedStyleSheets.includes(sheet)) return;
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
