// The end of a host: what it waits for before its thread may end.

import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ModelHost, waitUntilReleased } from '../../../src/host/thread/model-host.ts';
import type { AnyModel } from '../../../src/host/session/model.ts';
import { withResolvers } from '../../../src/engine/async/resolvers.ts';
import { portPair } from '../port-pair.ts';

/** A host on the far side of a port, with what it did and the messages that it sent, in order. */
function hosted() {
  const order: string[] = [];
  const settled = withResolvers<void>();
  const { near, far } = portPair();
  near.onMessage((message) => void order.push((message as { type: string }).type));
  const model = { info: {}, close: async () => void order.push('close') };
  const host = new ModelHost(far, {
    calls: {},
    open: async () => model as unknown as AnyModel,
    release: () => void order.push('release'),
    settle: () => settled.promise.then(() => void order.push('settle')),
  });
  return { host, near, order, settled };
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await setImmediate();
};

it('the host leaves only after the pending work of the device has settled', async () => {
  const { near, order, settled } = hosted();
  near.post({ type: 'open', options: {} });
  await turns();
  near.post({ type: 'leave', done: null });
  await turns();
  expect(order).toEqual(['opened', 'release', 'close']);
  settled.resolve();
  await turns();
  expect(order).toEqual(['opened', 'release', 'close', 'settle', 'left']);
});

it('the host closes its model only after the pending work of the device has settled', async () => {
  const { near, order, settled } = hosted();
  near.post({ type: 'open', options: {} });
  await turns();
  near.post({ type: 'call', id: 0, method: 'close', given: [], cancellable: null });
  await turns();
  expect(order).toEqual(['opened', 'close']);
  settled.resolve();
  await turns();
  expect(order).toEqual(['opened', 'close', 'settle', 'result']);
});

it('a host that does not answer in time is told apart from one that has left', () => {
  const silent = { post() {}, onMessage() {}, onLost() {} };
  expect(waitUntilReleased(silent, 1)).toBe(false);
  const quick = {
    ...silent,
    post: (message: unknown) => void ((message as { done: Int32Array }).done[0] = 1),
  };
  expect(waitUntilReleased(quick, 1)).toBe(true);
});
