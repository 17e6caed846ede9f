/** Pixels of the screen per pixel of a node's own layout: not 1 where a page sets the CSS zoom. */
export const zoomOf = (node: HTMLElement) => node.getBoundingClientRect().width / node.offsetWidth || 1;
