// The polyfill of the browsers' Prompt API, on a scripted model.

import { expect, it } from 'vitest';
import type { ChatMessage, TextRequest } from '../../../src/index.ts';
import { createLanguageModel, type PromptMessage } from '../../../src/chat/prompt-api/prompt-api.ts';
import { type ScriptedRound, scriptedModel, type ScriptedModel } from '../scripted-model.ts';

function made(rounds: ScriptedRound[], contextLength?: number) {
  const model = scriptedModel(rounds, contextLength);
  return { model, LanguageModel: createLanguageModel({ open: async () => model }) };
}
const promptOf = ({ prompt }: TextRequest): unknown[] =>
  ('messages' in prompt ? prompt.messages : []).map(({ role, content }: ChatMessage) => [role, content]);
const last = (model: ScriptedModel): TextRequest => model.requests.at(-1)!;

it('availability follows the opening, which create() reports and begins once', async () => {
  const model = scriptedModel([]);
  let open!: () => void;
  let opened = 0;
  const LanguageModel = createLanguageModel({
    async open(onEvent) {
      opened += 1;
      await new Promise<void>((resolve) => (open = resolve));
      onEvent({ type: 'download', file: 'x', bytes: 1, totalBytes: 4 });
      return model;
    },
  });
  expect(await LanguageModel.availability()).toBe('downloadable');
  expect(await LanguageModel.params()).toBeNull();
  const shares: number[] = [];
  const first = LanguageModel.create({
    monitor: (monitor) =>
      monitor.addEventListener('downloadprogress', (event) =>
        shares.push((event as Event & { loaded: number }).loaded),
      ),
  });
  const controller = new AbortController();
  const second = LanguageModel.create({ signal: controller.signal });
  await new Promise(setImmediate);
  expect(await LanguageModel.availability()).toBe('downloading');
  controller.abort();
  await expect(second).rejects.toMatchObject({ name: 'AbortError' });
  open();
  await first;
  expect([shares, opened]).toEqual([[0.25, 1], 1]);
  expect(await LanguageModel.availability({ expectedInputs: [{ type: 'text' }] })).toBe('available');
  expect(await LanguageModel.availability({ expectedInputs: [{ type: 'image' }] })).toBe('unavailable');
  expect(await LanguageModel.params()).toMatchObject({ defaultTemperature: 0.4, maxTemperature: 2 });
  await expect(LanguageModel.create({ expectedInputs: [{ type: 'audio' }] })).rejects.toMatchObject({
    name: 'NotSupportedError',
  });
});

it('prompt() and promptStreaming() continue the conversation of the initial prompts', async () => {
  const { model, LanguageModel } = made([{ text: 'One two' }, { text: 'Three four' }]);
  const session = await LanguageModel.create({
    initialPrompts: [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'a' },
    ],
    temperature: 0.7,
    topK: 3,
  });
  expect(await session.prompt('x')).toBe('One two');
  await session.append([{ role: 'user', content: [{ type: 'text', value: 'noted' }] }]);
  const pieces: string[] = [];
  for await (const piece of session.promptStreaming([{ role: 'user', content: 'y' }])) pieces.push(piece);
  expect(pieces).toEqual(['Three', ' four']);
  expect(promptOf(last(model))).toEqual([
    ['system', 'S'],
    ['user', 'q'],
    ['assistant', 'a'],
    ['user', 'x'],
    ['assistant', 'One two'],
    ['user', 'noted'],
    ['user', 'y'],
  ]);
  expect(last(model)).toMatchObject({ temperature: 0.7, topK: 3 });
  expect(session.contextUsage).toBeGreaterThan(0);
  expect(session.inputQuota).toBe(4096);
  expect(await session.measureContextUsage('two words')).toBe(1);
});

it('prompts wait for each other, and clones go their own way', async () => {
  const { model, LanguageModel } = made(['A', 'B', 'C'].map((text) => ({ text })));
  const session = await LanguageModel.create();
  const replies = await Promise.all([session.prompt('a'), session.prompt('b')]);
  expect(replies).toEqual(['A', 'B']);
  const clone = await session.clone();
  session.destroy();
  expect(await clone.prompt('c')).toBe('C');
  expect(promptOf(last(model)).map((one) => (one as string[])[1])).toEqual(['a', 'A', 'b', 'B', 'c']);
  await expect(session.prompt('d')).rejects.toMatchObject({ name: 'InvalidStateError' });
});

it('a stream that nobody reads does not hold later prompts, and one that is cancelled ends', async () => {
  const { LanguageModel } = made([{ text: 'A b' }, { text: 'B', hangs: true }, { text: 'C' }]);
  const session = await LanguageModel.create();
  const unread = session.promptStreaming('a');
  const cancelled = session.promptStreaming('b').getReader();
  expect(await cancelled.read()).toEqual({ done: false, value: 'B' });
  await cancelled.cancel();
  expect(await session.prompt('c')).toBe('C');
  const pieces: string[] = [];
  for await (const piece of unread) pieces.push(piece);
  expect(pieces).toEqual(['A', ' b']);
});

it('a constraint is a schema or an expression, and tools run', async () => {
  const { model, LanguageModel } = made([
    { calls: [{ name: 'add', arguments: '{"a":1,"b":2}' }] },
    { text: '3' },
    { text: 'yes' },
  ]);
  const session = await LanguageModel.create({
    tools: [
      {
        name: 'add',
        description: 'Adds',
        inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
        execute: ({ a, b }: { a: number; b: number }) => String(a + b),
      },
    ],
  });
  expect(await session.prompt('1 + 2?', { responseConstraint: { type: 'number' } })).toBe('3');
  expect(promptOf(last(model)).at(-1)).toEqual(['tool', '3']);
  expect(last(model).constraint).toEqual({ type: 'json_schema', schema: { type: 'number' } });
  await session.prompt('Sure?', { responseConstraint: /^(yes|no)$/ });
  expect(last(model).constraint).toEqual({ type: 'regex', pattern: '^(yes|no)$' });
});

it('an abort and destroy() end prompts and leave the conversation as it was', async () => {
  const hanging = { text: 'Well', hangs: true };
  const { LanguageModel } = made([hanging, hanging, hanging]);
  const session = await LanguageModel.create();
  const controller = new AbortController();
  const stream = session.promptStreaming('x', { signal: controller.signal });
  const read = async (): Promise<void> => {
    for await (const _ of stream) controller.abort();
  };
  await expect(read()).rejects.toMatchObject({ name: 'AbortError' });
  expect(session.contextUsage).toBe(0);
  for await (const _ of session.promptStreaming('y')) break;
  const prompt = session.prompt('z');
  session.destroy();
  await expect(prompt).rejects.toMatchObject({ name: expect.stringMatching(/AbortError|InvalidStateError/) });
});

it('a session drops what overflows the context, but no initial prompts, and says so', async () => {
  const long = (word: string): string => Array<string>(20).fill(word).join(' ');
  const { model, LanguageModel } = made(
    ['A', 'B', 'C', 'D'].map((text) => ({ text })),
    80,
  );
  const session = await LanguageModel.create({ initialPrompts: [{ role: 'user', content: 'q' }] });
  let overflows = 0;
  session.addEventListener('contextoverflow', () => (overflows += 1));
  for (const word of ['a', 'b', 'c', 'd']) await session.prompt(long(word));
  expect(overflows).toBeGreaterThan(0);
  expect(promptOf(last(model))[0]).toEqual(['user', 'q']);
  expect(promptOf(last(model))).not.toContainEqual(['user', long('a')]);
});

it.each<[PromptMessage[], string]>([
  [[{ role: 'assistant', content: 'x', prefix: true }], 'NotSupportedError'],
  [[{ role: 'assistant', content: 'x' }], 'NotSupportedError'],
  [[{ role: 'system', content: 'x' }], 'TypeError'],
  [[{ role: 'user', content: [{ type: 'image', value: 'x' }] }], 'NotSupportedError'],
])('a prompt of %j is refused with %s', async (input, name) => {
  const session = await made([]).LanguageModel.create();
  await expect(session.prompt(input)).rejects.toMatchObject({ name });
});

it('media are Blobs, bytes, and what pages decode', async () => {
  const { model, LanguageModel } = made([{ text: 'A' }]);
  const session = await LanguageModel.create();
  const data = new Uint8ClampedArray(4);
  const channel = { numberOfChannels: 2, sampleRate: 8, getChannelData: (at: number) => Float32Array.of(at) };
  await session.prompt([
    {
      role: 'user',
      content: [
        { type: 'image', value: new Blob([new Uint8Array([1])]) },
        { type: 'image', value: { width: 1, height: 1, data } },
        { type: 'audio', value: channel },
        { type: 'audio', value: new Uint8Array([2]).buffer },
      ],
    },
  ]);
  expect(promptOf(last(model))).toEqual([
    [
      'user',
      [
        { type: 'image', image: new Uint8Array([1]) },
        { type: 'image', image: { width: 1, height: 1, data } },
        { type: 'audio', audio: { samples: Float32Array.of(0.5), rate: 8 } },
        { type: 'audio', audio: new Uint8Array([2]) },
      ],
    ],
  ]);
});
