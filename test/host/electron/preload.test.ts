// The preload script of an app's window: what its page gets, and an app whose main process has no engine.

import { expect, test, vi } from 'vitest';
import type { WindowCalls } from '../../../src/host/electron/window-calls.ts';

const { exposed, ipcRenderer } = vi.hoisted(() => ({
  exposed: [] as { args: unknown[] }[],
  ipcRenderer: {
    invoke: (): Promise<unknown> =>
      Promise.reject(new Error("No handler registered for 'svc-engine:window'")),
    postMessage() {},
  },
}));
vi.mock('electron', () => ({
  ipcRenderer,
  contextBridge: { executeInMainWorld: (given: { args: unknown[] }) => exposed.push(given) },
}));

test('a window of an app that does not import the main face gets an error that says so', async () => {
  await import('../../../src/host/electron/preload.ts');
  const engine = exposed[0]!.args[0] as WindowCalls;
  const error = {
    code: 'unsupported',
    message: expect.stringContaining('svc-engine/electron/main') as string,
  };
  const { opened } = engine.open('text', { model: 'svc-chat-mini' }, () => {});
  expect(await opened).toMatchObject({ error });
  expect(await engine.adapters()).toMatchObject({ error });
});
