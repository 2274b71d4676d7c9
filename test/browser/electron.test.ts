// The engine of an Electron app: the built main process and preload scripts with a stand-in for Electron, and the real page in Chromium. The page
// of a test is closed at its end, so that each test opens a window of the engine.

import { beforeAll, expect, vi } from 'vitest';
import type * as Main from '../../src/electron/main.ts';
import type { InWindow } from '../../src/electron/preload.ts';
import type { TextEvent, TextModel } from '../../src/electron/main.ts';
import { AppWindow } from '../electron/app-window.ts';
import * as electron from '../electron/stand-in.ts';
import { usePages } from './chromium.ts';

vi.mock('electron', () => electron);

const CHAT = { model: 'svc-chat-mini', contextLength: 256, quantization: 'int8' as const };
const REQUEST = {
  prompt: { messages: [{ role: 'user' as const, content: 'Tell me about the ocean.' }] },
  temperature: 1,
  seed: 7,
  maxTokens: 16,
};

const pages = usePages();
let main: typeof Main;

beforeAll(async () => {
  electron.usePagesOf(pages);
  main = (await import(new URL('../../dist/electron/main.js', import.meta.url).href)) as typeof Main;
});

/** Names of the files of packed weights in the storage of the page. */
async function packedFiles(): Promise<string[]> {
  const names: string[] = [];
  const root = await (await navigator.storage.getDirectory()).getDirectoryHandle('svc-engine');
  for await (const name of (await root.getDirectoryHandle('packed')).keys()) names.push(name);
  return names;
}

const newest = (): electron.WindowMain => electron.windows.at(-1)!;
const workers = (): number => newest().page!.workers().length;
const textIn = (event: TextEvent): string => (event.type === 'delta' ? event.text : '');

async function reply(
  model: InWindow<TextModel>,
  onEvent: (event: TextEvent) => unknown = () => {},
): Promise<string> {
  let text = '';
  for await (const event of model.generate(REQUEST)) {
    text += textIn(event);
    await onEvent(event);
  }
  return text;
}

pages.test(
  'the main process and two windows share one engine',
  async () => {
    expect((await main.adapters()).map(({ software }) => software)).toEqual([true]);
    const chat = await main.openTextModel(CHAT);
    const expected = await reply(chat);
    expect(expected.length).toBeGreaterThan(10);

    const [first, second] = [new AppWindow(), new AppWindow()];
    expect(first.added).toEqual(['svcEngine']);
    const events: string[] = [];
    const [one, two] = await Promise.all([
      first.engine.openTextModel(CHAT, ({ type }) => events.push(type)),
      second.engine.openTextModel(CHAT),
    ]);
    expect(one.info).toEqual(chat.info);
    expect(events).toContain('load');
    expect([electron.windows.length, workers()]).toEqual([1, 2]);
    expect(await newest().page!.evaluate(packedFiles)).toHaveLength(1);

    const order: string[] = [];
    const replies = await Promise.all([reply(one, () => order.push('1')), reply(two, () => order.push('2'))]);
    expect(replies).toEqual([expected, expected]);
    expect(order.lastIndexOf('1')).toBeGreaterThan(order.indexOf('2'));
    expect(order.lastIndexOf('2')).toBeGreaterThan(order.indexOf('1'));
    expect(await two.detokenize(await two.tokenize('Hello'), { skipSpecialTokens: true })).toBe('Hello');
    await expect(two.generate({ ...REQUEST, temperature: -1 }).next()).rejects.toMatchObject({
      name: 'EngineError',
      code: 'bad_request',
      param: 'temperature',
    });

    // A window that aborts, and one that closes during its request.
    const abort = new AbortController();
    const last: TextEvent[] = [];
    for await (const event of two.generate(
      { ...REQUEST, maxTokens: 200, ignoreEos: true },
      { signal: abort.signal },
    )) {
      last.push(event);
      if (event.type === 'delta') abort.abort();
    }
    expect(last.at(-1)).toMatchObject({ type: 'done', finishReason: 'abort' });
    const leaving = two.generate({ ...REQUEST, maxTokens: 200, ignoreEos: true });
    while ((await one.metrics()).running === 0) await leaving.next();
    second.close();
    await expect.poll(async () => (await one.metrics()).running).toBe(0);
    expect(await reply(one)).toBe(expected);

    const long = 'All work and no play. '.repeat(1000); // goes to the worker for long texts
    expect((await one.renderPrompt({ text: long })).ids).toEqual(await one.tokenize(long));
    await one.close();
    await expect.poll(workers).toBe(1);
    await chat.close();
    await expect.poll(workers).toBe(0);

    // The hidden window is not counted among the app's.
    const closed = vi.fn();
    electron.app.on('window-all-closed', closed);
    const windows = [1, 2].map(
      () => new electron.WindowMain({ show: true, webPreferences: { preload: '' } }),
    );
    windows[0]!.close();
    expect(closed).not.toHaveBeenCalled();
    windows[1]!.close();
    expect(closed).toHaveBeenCalledOnce();
    electron.app.off('window-all-closed', closed);

    electron.protocol.registerSchemesAsPrivileged([{ scheme: 'app', privileges: {} }]);
    expect(electron.schemes.map(({ scheme }) => scheme)).toEqual(['svc-engine', 'app']);
  },
  120_000,
);

pages.test(
  'an image',
  async () => {
    const model = await main.openImageModel({ model: 'svc-scenes-mini' });
    const types: string[] = [];
    for await (const event of model.generate({
      prompt: 'a red balloon over snowy mountains',
      seed: 3,
      steps: 2,
      width: 64,
      height: 64,
    })) {
      types.push(event.type);
      if (event.type !== 'image') continue;
      expect([event.image.width, event.image.height, event.image.data.length]).toEqual([64, 64, 64 * 64 * 3]);
      expect(new Set(event.image.data).size).toBeGreaterThan(32);
    }
    expect(types.filter((type) => type === 'step')).toHaveLength(2);
    expect(types).toContain('image');
    expect(types.at(-1)).toBe('done');
    await model.close();
  },
  120_000,
);

pages.test(
  'requests continue after a crash of the window',
  async () => {
    pages.allow(/crashed/);
    const notes: string[] = [];
    const chat = await main.openTextModel(
      CHAT,
      (event) => event.type === 'note' && notes.push(event.message),
    );
    const expected = await reply(chat);
    const crashed = newest();
    let tokens = 0;
    const begun = reply(chat, async (event) => {
      if (event.type === 'delta' && tokens++ === 2) await crashed.crash();
    });
    const waiting = chat.tokenize('Hello');
    expect(await begun).toBe(expected);
    expect(await waiting).toEqual(await chat.tokenize('Hello'));
    expect(newest()).not.toBe(crashed);
    expect(notes).toContainEqual(expect.stringMatching(/window ended \(crashed\); loading the model again/));

    // The app begins to quit, and a window prevents it: the request waits for that, and continues.
    const document = new electron.WindowMain({ show: true, webPreferences: { preload: '' } });
    document.on('close', (event: Event) => event.preventDefault());
    tokens = 0;
    const kept = reply(chat, (event) => event.type === 'delta' && tokens++ === 2 && electron.app.quit());
    expect(await kept).toBe(expected);
    document.removeAllListeners('close');

    // The app quits: the request ends, and no window is opened again.
    const opened = electron.windows.length;
    const ending = reply(chat, (event) => event.type === 'delta' && electron.app.quit());
    await expect(ending).rejects.toMatchObject({ code: 'cancelled', message: 'the app quits' });
    expect(electron.windows.length).toBe(opened);
    await chat.close();
  },
  120_000,
);
