// The engine of an Electron app: the built main process and preload scripts with a stand-in for Electron, and the real page in Chromium. The page
// of a test is closed at its end, so that each test opens a window of the engine.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, vi } from 'vitest';
import { root } from '../../scripts/setup/packages.mjs';
import { extendTextModel } from '../../src/chat/extend.ts';
import type * as Main from '../../src/host/electron/main.ts';
import type { InWindow } from '../../src/host/electron/preload.ts';
import type { OpenEvent, TextEvent, TextModel, TextRequest } from '../../src/host/electron/main.ts';
import { AppWindow } from '../host/electron/app-window.ts';
import * as electron from '../host/electron/stand-in.ts';
import { usePages } from './chromium.ts';
import { serveSmallChat } from './small-chat.ts';

vi.mock('electron', () => electron);

/** A worker or a page ends within this time, on a busy machine. */
const SOON = { timeout: 30_000 };

interface Embedded {
  text: string;
  embedding: number[];
}

const BERT = join(root, 'test/golden/embedding/bert');
const REQUEST = {
  prompt: { messages: [{ role: 'user' as const, content: 'Tell me about the ocean.' }] },
  temperature: 1,
  seed: 7,
  maxTokens: 16,
};

const pages = usePages();
/** Its words do not matter here; packed.test.ts of the host resolves the shipped model by its name. */
const CHAT = { model: serveSmallChat(pages), contextLength: 2048, quantization: 'int8' as const };
let main: typeof Main;

beforeAll(async () => {
  electron.usePagesOf(pages);
  main = (await import(new URL('../../dist/host/electron/main.js', import.meta.url).href)) as typeof Main;
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
  more: Partial<TextRequest> = {},
): Promise<string> {
  let text = '';
  for await (const event of model.generate({ ...REQUEST, ...more })) {
    text += textIn(event);
    await onEvent(event);
  }
  return text;
}

/** Ends the worker and the window, each during a request; life.test.ts ends the GPU process of the same page. */
async function losses(chat: InWindow<TextModel>, events: readonly OpenEvent[]): Promise<void> {
  pages.allow(/crashed|WebGPU|GPU|context/i);
  const notes = (): string[] => events.flatMap((event) => (event.type === 'note' ? event.message : []));
  const crashed = newest();
  const page = crashed.page!;
  const long = { maxTokens: 24, ignoreEos: true };
  const whole = await reply(chat, () => {}, long);
  const continued = (end: () => Promise<unknown>): Promise<string> => {
    let tokens = 0;
    return reply(chat, (event) => event.type === 'delta' && tokens++ === 2 && end(), long);
  };
  const [worker] = page.workers().filter((one) => one.url().includes('electron-worker'));
  expect(await continued(() => worker!.evaluate(() => self.close()).catch(() => {}))).toBe(whole);
  // On a busy machine the reply may be over before the worker has ended; the next one finds it gone.
  const notesAfterReply = async (): Promise<string[]> => {
    await reply(chat);
    return notes();
  };
  await expect
    .poll(notesAfterReply, SOON)
    .toContainEqual(expect.stringMatching(/the engine's worker ended .*loading the model again/));
  expect(newest()).toBe(crashed);

  const begun = continued(() => crashed.crash());
  const waiting = chat.tokenize('Hello');
  expect(await begun).toBe(whole);
  expect(await waiting).toEqual(await chat.tokenize('Hello'));
  expect(newest()).not.toBe(crashed);
  expect(notes()).toContainEqual(expect.stringMatching(/window ended \(crashed\); loading the model again/));
}

pages.test(
  'an image and an embedding in the main process',
  async () => {
    const model = await main.openImageModel({ model: 'svc-scenes-mini' });
    const types: string[] = [];
    for await (const event of model.generate({
      prompt: 'a red balloon over snowy mountains',
      seed: 3,
      steps: 1,
      width: 32,
      height: 32,
    })) {
      types.push(event.type);
      if (event.type !== 'image') continue;
      expect([event.image.width, event.image.height, event.image.data.length]).toEqual([32, 32, 32 * 32 * 3]);
      expect(new Set(event.image.data).size).toBeGreaterThan(32);
    }
    expect(types.filter((type) => type === 'step')).toHaveLength(1);
    expect(types).toContain('image');
    expect(types.at(-1)).toBe('done');
    await model.close();

    const golden = JSON.parse(readFileSync(join(BERT, 'embeddings.json'), 'utf8')) as { cases: Embedded[] };
    const [{ text, embedding }] = golden.cases as [Embedded];
    const embedder = await main.openAny({ model: BERT });
    if (embedder.kind !== 'embedding') throw new Error(`BERT was opened as ${embedder.kind}`);
    const values = await embedder.model.embed(text);
    expect(values).toHaveLength(embedding.length);
    for (const [i, value] of values.entries()) expect(value).toBeCloseTo(embedding[i]!, 3);
    await embedder.model.close();
    await expect.poll(workers, SOON).toBe(0);
    expect((await main.adapters()).map(({ software }) => software)).toEqual([true]);
  },
  120_000,
);

pages.test(
  'two windows share one engine, whose requests continue after it has ended',
  async () => {
    const [first, second] = [new AppWindow(), new AppWindow()];
    expect(first.added).toEqual(['svcEngine']);
    const events: OpenEvent[] = [];
    const [one, two] = await Promise.all([
      first.engine.openTextModel(CHAT, (event) => events.push(event)),
      second.engine.openTextModel(CHAT),
    ]);
    expect(one.info).toEqual(two.info);
    expect(events.map(({ type }) => type)).toContain('load');
    expect([electron.WindowMain.getAllWindows().length, workers()]).toEqual([1, 1]);
    expect(await newest().page!.evaluate(packedFiles)).toHaveLength(1);
    await pages.slowDown(newest().page!);

    const order: string[] = [];
    const replies = await Promise.all([reply(one, () => order.push('1')), reply(two, () => order.push('2'))]);
    expect(replies[0]).toBe(replies[1]);
    expect(replies[0].length).toBeGreaterThan(10);
    expect(order.lastIndexOf('1')).toBeGreaterThan(order.indexOf('2'));
    expect(order.lastIndexOf('2')).toBeGreaterThan(order.indexOf('1'));
    expect(await two.detokenize(await two.tokenize('Hello'), { skipSpecialTokens: true })).toBe('Hello');
    await expect(two.generate({ ...REQUEST, temperature: -1 }).next()).rejects.toMatchObject({
      name: 'EngineError',
      code: 'bad_request',
      param: 'temperature',
    });

    const chat = extendTextModel(two).chat({ temperature: 1, seed: 7, maxTokens: 16 });
    expect((await chat.send(REQUEST.prompt.messages[0]!.content)).text).toBe(replies[0]);
    expect(await chat.countTokens()).toBeGreaterThan(16);

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
    await expect.poll(async () => (await one.metrics()).running, SOON).toBe(0);
    expect(await reply(one)).toBe(replies[0]);

    const long = 'All work and no play. '.repeat(1000); // goes to the worker for long texts
    expect((await one.renderPrompt({ text: long })).ids).toEqual(await one.tokenize(long));
    await losses(one, events);

    // The app quits: the request ends, and no window is opened again.
    await pages.slowDown(newest().page!); // the crash has ended the worker that was slow
    const opened = electron.windows.length;
    const ending = reply(one, (event) => event.type === 'delta' && electron.app.quit());
    await expect(ending).rejects.toMatchObject({ code: 'cancelled', message: 'the app quits' });
    expect(electron.windows.length).toBe(opened);
    await one.close();
  },
  180_000,
);
