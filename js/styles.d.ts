/** The views' styles as text, from build.mjs. */
declare module "hsd-viz:style" {
  const text: string;
  export default text;
}
/** Those of the elements for pages of others. */
declare module "hsd-viz:elements-style" {
  const text: string;
  export default text;
}
