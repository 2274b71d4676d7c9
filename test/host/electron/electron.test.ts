// What the main process takes from Electron, with the stand-in: its scheme, the hidden window among the app's, and the end of the app.

import { expect, test, vi } from 'vitest';
import { openEnginePage, unlessQuitting } from '../../../src/host/electron/electron.ts';
import type { Pages } from '../../browser/chromium.ts';
import * as electron from './stand-in.ts';

vi.mock('electron', () => import('./stand-in.ts'));

const OPTIONS = { show: true, webPreferences: { preload: '' } };
const PAGE = {
  on() {},
  exposeFunction: async () => {},
  addInitScript: async () => {},
  goto: async () => {},
  evaluate: async () => true,
  close: async () => {},
};
electron.usePagesOf({ url: 'http://x/', route() {}, open: async () => PAGE } as unknown as Pages);
vi.mock('node:fs', async (load) => ({ ...(await load<object>()), readFileSync: () => '' }));

const open = (): ReturnType<typeof openEnginePage> => openEnginePage(async () => new Response());
const isPending = async (promise: Promise<void>): Promise<boolean> =>
  Promise.race([promise.then(() => false), new Promise<true>((resolve) => setTimeout(resolve, 20, true))]);

test('the scheme of the engine stays beside those of the app', () => {
  electron.protocol.registerSchemesAsPrivileged([{ scheme: 'app', privileges: {} }]);
  expect(electron.schemes.map(({ scheme }) => scheme)).toEqual(['svc-engine', 'app']);
});

test('the hidden window keeps to the sandbox, and its end is reported once', async () => {
  const page = await open();
  expect(electron.windows.at(-1)!.options).toMatchObject({
    show: false,
    webPreferences: {
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      backgroundThrottling: false,
    },
  });
  const gone = vi.fn();
  page.onGone(gone);
  electron.windows.at(-1)!.webContents.emit('render-process-gone', {}, { reason: 'oom' });
  page.destroy();
  await expect.poll(() => gone.mock.calls).toEqual([['oom']]);
});

test('a window whose process ends while it is opened is an error', async () => {
  const { evaluate } = PAGE;
  PAGE.evaluate = () => new Promise(() => {});
  const opening = open();
  await expect.poll(() => electron.WindowMain.getAllWindows()).toHaveLength(1);
  electron.windows.at(-1)!.webContents.emit('render-process-gone', {}, { reason: 'oom' });
  await expect(opening).rejects.toMatchObject({
    code: 'device_lost',
    message: expect.stringContaining('oom'),
  });
  expect(electron.WindowMain.getAllWindows()).toEqual([]);
  PAGE.evaluate = evaluate;
});

test('a page whose script does not run is an error, and its window is closed', async () => {
  PAGE.evaluate = async () => false;
  await expect(open()).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringContaining('its script did not run'),
  });
  PAGE.evaluate = async () => true;
  expect(electron.WindowMain.getAllWindows()).toEqual([]);
});

test('window-all-closed is emitted while the hidden window is open', async () => {
  const page = await open();
  const closed = vi.fn();
  electron.app.on('window-all-closed', closed);
  const windows = [new electron.WindowMain(OPTIONS), new electron.WindowMain(OPTIONS)] as const;
  windows[0].close();
  expect(closed).not.toHaveBeenCalled();
  windows[1].close();
  expect(closed).toHaveBeenCalledOnce();
  page.destroy();
  expect(closed).toHaveBeenCalledOnce();
});

test('a quit is decided by the windows, and by the app', async () => {
  await unlessQuitting();
  const document = new electron.WindowMain(OPTIONS);
  const stay = (event: Event): void => event.preventDefault();
  document.on('close', stay);
  electron.app.emit('before-quit');
  const waiting = unlessQuitting();
  expect(await isPending(waiting)).toBe(true);
  document.close();
  await waiting;

  // A page that asks whether to leave: the window stays, unless the app overrules the page.
  electron.app.emit('before-quit');
  const asked = unlessQuitting();
  document.webContents.emit('will-prevent-unload', { defaultPrevented: true });
  expect(await isPending(asked)).toBe(true);
  document.webContents.emit('will-prevent-unload', { defaultPrevented: false });
  await asked;

  electron.app.emit('before-quit');
  const kept = unlessQuitting();
  electron.app.emit('will-quit', { defaultPrevented: true });
  await kept;

  document.off('close', stay);
  electron.app.quit();
  await expect(unlessQuitting()).rejects.toMatchObject({ code: 'cancelled', message: 'the app quits' });
});
