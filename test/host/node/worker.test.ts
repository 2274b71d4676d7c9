// The engine in a thread of its own: the same tokens as in the caller's, and the caller's thread left as it is.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  EngineError,
  openTextModel,
  type OpenEvent,
  type TextModel,
  type TextModelOptions,
} from '../../../src/index.ts';
import { collect, goldenCases, goldenModel, greedy } from '../../engine/fixture.ts';
import { nodeArgs } from '../../started.ts';

const threads: Worker[] = [];
vi.mock('node:worker_threads', async (load) => {
  const original = await load<{ Worker: typeof Worker }>();
  class Watched extends original.Worker {
    constructor(...options: ConstructorParameters<typeof Worker>) {
      super(...options);
      threads.push(this);
    }
  }
  return { ...original, Worker: Watched };
});

const immediate = globalThis.setImmediate;
const folders = { llama: goldenModel('llama'), qwen3: goldenModel('qwen3') };
afterAll(() => Object.values(folders).forEach((folder) => folder.remove()));

const options = (name: keyof typeof folders): TextModelOptions => ({
  model: folders[name].path,
  memoryBudget: 2 ** 29,
});
const open = (name: keyof typeof folders, onEvent?: (event: OpenEvent) => void): Promise<TextModel> =>
  openTextModel(options(name), onEvent);

const golden = (name: keyof typeof folders) => goldenCases(name)[0]!.greedy!;

describe('a model in its thread', () => {
  let model: TextModel;
  const events: OpenEvent[] = [];
  beforeAll(async () => {
    model = await open('qwen3', (event) => events.push(event));
  });
  afterAll(() => model.close());
  afterEach(async () => {
    expect(await model.metrics()).toMatchObject({ running: 0, waiting: 0, pages: { used: 0 } });
  });

  it('reports the progress of its opening', () => {
    expect(events.some(({ type }) => type === 'load')).toBe(true);
    const warmup = events.filter((event) => event.type === 'warmup');
    expect(warmup.length).toBeGreaterThan(2);
    expect(warmup.at(-1)!.done).toBe(warmup.at(-1)!.total);
  });

  it('generates what transformers generates', async () => {
    const { ids, ends } = await collect(model.generate(greedy(golden('qwen3').prompt_ids, 32)));
    expect(ids).toEqual([golden('qwen3').tokens]);
    expect(ends).toHaveLength(1);
  });

  it('answers calls while it generates', async () => {
    const generating = collect(model.generate(greedy([1, 2, 3], 100)));
    expect(await model.detokenize(await model.tokenize('hi !'))).toContain('hi !');
    expect((await model.renderPrompt({ messages: [{ role: 'user', content: 'hi' }] })).text).toBe(
      '<user>hi<assistant>',
    );
    expect((await generating).ids[0]).toHaveLength(100);
  });

  it('stops when the signal aborts, and ends with abort', async () => {
    const controller = new AbortController();
    let tokens = 0;
    let end: unknown;
    for await (const event of model.generate(greedy([5, 6], 120), { signal: controller.signal })) {
      if (event.type === 'delta' && ++tokens === 3) controller.abort();
      if (event.type === 'done') end = event.finishReason;
    }
    expect(end).toBe('abort');
    expect(tokens).toBeLessThan(100);
  });

  it('refuses a request whose signal had aborted before', async () => {
    const events = model.generate(greedy([5], 2), { signal: AbortSignal.abort() });
    await expect(events.next()).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('stops when the reader leaves', async () => {
    for await (const event of model.generate(greedy([5, 6], 120))) if (event.type === 'delta') break;
    while ((await model.metrics()).running > 0) await nextTurn();
  });

  it.each([
    ['context_length_exceeded', { prompt: { ids: Array(200).fill(1) as number[] } }, 'prompt'],
    ['bad_request', { prompt: { ids: [1] }, temperature: 9 }, 'temperature'],
    ['bad_request', { prompt: { ids: [99_999] } }, 'prompt'],
  ])('passes an error as it is: %s', async (code, request, param) => {
    const error = await collect(model.generate(request)).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(EngineError);
    expect(error).toMatchObject({ code, param });
  });

  it('generates the same from a long text as in its own thread', async () => {
    const text = 'a '.repeat(15_000);
    const ids = await model.tokenize(text);
    expect((await model.renderPrompt({ text })).ids).toEqual(ids);
  });

  it("leaves the caller's setImmediate as it was, and its loop free", async () => {
    expect(globalThis.setImmediate).toBe(immediate);
    const generating = collect(model.generate(greedy([7], 120)));
    const late: number[] = [];
    const state = { over: false };
    void generating.then(() => (state.over = true));
    while (!state.over) {
      const started = performance.now();
      await nextTurn();
      late.push(performance.now() - started);
    }
    expect(late.length).toBeGreaterThan(100);
    expect(late.toSorted((a, b) => a - b)[Math.floor(late.length / 2)]).toBeLessThan(2);
    await generating;
  });
});

it('two models live side by side', async () => {
  const models = await Promise.all([open('llama'), open('qwen3')]);
  const [llama, qwen3] = await Promise.all([
    collect(models[0].generate(greedy(golden('llama').prompt_ids, 32))),
    collect(models[1].generate(greedy(golden('qwen3').prompt_ids, 32))),
  ]);
  expect(llama.ids).toEqual([golden('llama').tokens]);
  expect(qwen3.ids).toEqual([golden('qwen3').tokens]);
  await models[0].close();
  const again = await collect(models[1].generate(greedy(golden('qwen3').prompt_ids, 8)));
  expect(again.ids).toEqual([golden('qwen3').tokens.slice(0, 8)]);
  await models[1].close();
});

it('a checkpoint without a chat template opens, and has a note', async () => {
  const folder = goldenModel('qwen3');
  const file = join(folder.path, 'tokenizer_config.json');
  const settings = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...settings, chat_template: undefined }));
  const notes: string[] = [];
  const onEvent = (event: OpenEvent) => void (event.type === 'note' && notes.push(event.message));
  await using model = await openTextModel({ ...options('qwen3'), model: folder.path }, onEvent);
  folder.remove();
  expect(model.info.hasChatTemplate).toBe(false);
  expect(notes.join()).toContain('no chat template');
  const messages = [{ role: 'user' as const, content: 'hi' }];
  await expect(model.renderPrompt({ messages })).rejects.toThrow('chat_template.jinja');
  expect((await model.renderPrompt({ text: 'hi' })).ids.length).toBeGreaterThan(0);
});

it('a conversation whose template does not end delays no other request, and ends with its client', async () => {
  const folder = goldenModel('qwen3');
  const slow =
    '{% if m.content == "slow" %}{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}{% endif %}';
  const source = `{% for m in messages %}${slow}<{{ m.role }}>{{ m.content }}{% endfor %}`;
  writeFileSync(join(folder.path, 'chat_template.jinja'), source);
  await using model = await openTextModel({ ...options('qwen3'), model: folder.path });
  const conversation = (content: string) => ({ messages: [{ role: 'user' as const, content }] });
  const client = new AbortController();
  const endless = collect(model.generate({ prompt: conversation('slow') }, { signal: client.signal })).catch(
    (error: EngineError) => error.code,
  );
  for (let i = 0; i < 3; i++) expect((await model.renderPrompt(conversation('hi'))).text).toBe('<user>hi');
  const state = { over: false };
  void endless.then(() => (state.over = true));
  expect(state.over).toBe(false);
  client.abort();
  expect(await endless).toBe('cancelled');
  folder.remove();
});

describe('opening a model in a thread fails', () => {
  it('with the code of what went wrong, and the thread ends', async () => {
    const folder = goldenModel('qwen3', { architectures: ['OtherForCausalLM'] });
    const ended = new Promise((resolve) => setTimeout(() => threads.at(-1)!.once('exit', resolve), 0));
    const opening = openTextModel({ model: folder.path });
    await expect(opening).rejects.toMatchObject({ code: 'unsupported' });
    await ended;
    folder.remove();
  });

  it('with bad_checkpoint where a file is broken', async () => {
    const folder = goldenModel('qwen3');
    const file = join(folder.path, 'model.safetensors');
    writeFileSync(file, readFileSync(file).subarray(0, 1000));
    await expect(openTextModel({ model: folder.path })).rejects.toMatchObject({ code: 'bad_checkpoint' });
    folder.remove();
  });
});

describe('a model in its thread at the end', () => {
  it('ends what runs as it is closed, and closing twice is closing once', async () => {
    const model = await open('qwen3');
    const thread = threads.at(-1)!;
    const running = collect(model.generate(greedy([1], 120)));
    await model.metrics();
    await Promise.all([model.close(), model.close()]);
    await model.close();
    expect((await running).ends).toMatchObject([{ finishReason: 'abort' }]);
    expect(thread.threadId).toBe(-1);
    await expect(collect(model.generate(greedy([1], 1)))).rejects.toMatchObject({ code: 'cancelled' });
    await expect(model.metrics()).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('reports that its thread has ended', async () => {
    const model = await open('qwen3');
    await threads.at(-1)!.terminate();
    await expect(model.metrics()).rejects.toThrow('open the model again');
    await expect(collect(model.generate(greedy([1], 1)))).rejects.toMatchObject({ code: 'internal' });
    await model.close();
  });

  it('ends with an uncaught error of its thread, and so do requests that wait', async () => {
    const model = await open('qwen3');
    const thread = threads.at(-1)!;
    const failed = new Promise((resolve) => thread.once('error', resolve));
    const running = collect(model.generate(greedy([1], 120)));
    const refused = expect(running).rejects.toThrow('TypeError');
    await model.metrics();
    thread.postMessage(null);
    await refused;
    expect(await failed).toBeInstanceOf(TypeError);
    await model.close();
  });

  it.each(['opening', 'generating'])('lets a program exit while %s', { timeout: 30_000 }, async (when) => {
    const script = new URL('leave-early.ts', import.meta.url);
    const child = spawn(process.execPath, nodeArgs(script, folders.qwen3.path, when), {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.on('data', (bytes) => (errors += String(bytes)));
    expect(await once(child, 'exit'), errors).toEqual([7, null]);
  });

  it('lets a program end that never closes its model', { timeout: 30_000 }, async () => {
    const script = new URL('open-and-forget.ts', import.meta.url);
    const child = spawn(process.execPath, nodeArgs(script, folders.qwen3.path), {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let heard = '';
    let errors = '';
    child.stdout.on('data', (bytes) => (heard += String(bytes)));
    child.stderr.on('data', (bytes) => (errors += String(bytes)));
    expect(await once(child, 'exit'), errors).toEqual([0, null]);
    expect(heard).toMatch(/^accepted\n(.*\n)*done\n$/);
  });

  it('gives opening up if the signal aborts', async () => {
    const controller = new AbortController();
    const onEvent = ({ type }: OpenEvent) => void (type === 'warmup' && controller.abort());
    for (const inline of [false, true]) {
      const opening = openTextModel({ ...options('qwen3'), inline }, onEvent, controller.signal);
      await expect(opening).rejects.toMatchObject({ code: 'cancelled' });
    }
    await expect.poll(() => threads.at(-1)!.threadId, { timeout: 10_000 }).toBe(-1);
  });

  it('refuses calls after its end if it is inline, too', async () => {
    const model = await openTextModel({ ...options('qwen3'), inline: true });
    await Promise.all([model.close(), model.close()]);
    await expect(collect(model.generate(greedy([1], 1)))).rejects.toMatchObject({ code: 'cancelled' });
    await sleep(0);
    expect(globalThis.setImmediate).toBe(immediate);
  });
});
