// The script of the pages that tests open: the public face and the files of shipped models as globals, because a function that a test
// passes to page.evaluate cannot import.

import * as engine from '../../src/browser.ts';

declare global {
  /** The public face in a page. */
  var svc: typeof engine;
  /** The files of a model of models/. */
  var shippedFiles: (model: string) => Promise<File[]>;
}

globalThis.svc = engine;

globalThis.shippedFiles = async (model) => {
  const names = (await (await fetch(`/list/${model}`)).json()) as string[];
  return Promise.all(
    names.map(async (name) => new File([await (await fetch(`/models/${model}/${name}`)).blob()], name)),
  );
};
