// Part of the type check of the page's files (tsconfig.browser.json): an error here means that an import brought the types of Node,
// with which that check would accept Node's globals.

declare global {
  const process: undefined;
}
