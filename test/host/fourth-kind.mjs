// A fourth kind of model, which no file of the engine knows: it repeats the words of a text. Its device computes nothing.

/** @typedef {{ model: string, inline?: boolean, sleepAfter?: number }} EchoOptions */
/** @typedef {{ type: 'word', word: string }} EchoEvent */
/**
 * @typedef {import('../../src/host/session/model.ts').Model<{ kind: 'echo', name: string, path: string }, { text: string }, EchoEvent> &
 *   { heard(): Promise<number> }} EchoModel
 */

/** @type {import('../../src/host/kinds/model-kind.ts').ModelKind<EchoOptions, EchoModel>} */
export const ECHO = {
  name: 'echo',
  article: 'an',
  noun: 'echo model',
  endpoint: 'POST /v1/echo',
  opener: 'openEchoModel',
  module: import.meta.url,
  calls: { heard: {} },
  check({ model }) {
    if (typeof model !== 'string') throw new TypeError('model must be a text');
  },
  sleep: () => ({
    waitQueue: { enter: (request) => ({ ended: new Promise(() => {}), leave: () => request }) },
    rest: async () => ({ answers: {}, restore: async () => {} }),
  }),
  summary: ({ name }) => [`Model: ${name}`],
  paper: () => Promise.reject(new Error('models of this kind are not planned')),
  engine:
    async () =>
    async (_platform, { model }) => ({
      openDevice: async () => /** @type {any} */ ({ isLost: false, loss: async () => null, destroy() {} }),
      async load(device, _before, onEvent) {
        onEvent({ type: 'load', bytes: 1, totalBytes: 1 });
        return { device };
      },
      serve: async (session) => {
        let heard = 0;
        return {
          info: { kind: 'echo', name: model, path: `/models/${model}` },
          async *generate({ text }, { signal } = {}) {
            session.assertOpen();
            for (const word of text.split(' ')) {
              signal?.throwIfAborted();
              heard += 1;
              yield { type: 'word', word };
            }
          },
          heard: async () => heard,
        };
      },
    }),
};
