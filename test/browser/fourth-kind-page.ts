// A page that opens models of a kind of its own, and the worker that serves them.

import { openModel } from '../../src/host/page/open-model.ts';
import { serveKinds } from '../../src/host/page/serve.ts';
import { ECHO } from '../host/fourth-kind.mjs';

declare global {
  /** Opens a model of the kind, has it repeat a text, and closes it. */
  var echo: (text: string) => Promise<{ words: string[]; heard: number; kind: string }>;
}

const SCRIPT = {
  name: 'fourth-kind-page',
  base: import.meta.url,
  create: () => new Worker(new URL('./fourth-kind-page.js', import.meta.url), { type: 'module' }),
};

if (typeof document === 'undefined') serveKinds(self, [ECHO]);

globalThis.echo = async (text) => {
  const model = await openModel(ECHO, { model: 'hills' }, () => {}, undefined, SCRIPT);
  const words: string[] = [];
  for await (const { word } of model.generate({ text })) words.push(word);
  const found = { words, heard: await model.heard(), kind: model.info.kind };
  await model.close();
  return found;
};
