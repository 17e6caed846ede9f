/** The views' styles as text, from build.mjs. */
declare module "hsd-viz:style" {
  const text: string;
  export default text;
}
