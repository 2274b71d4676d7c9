// The public interface: its exports, and a program that uses nothing else.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as face from '../src/index.ts';

it('the public face exports these names and no more', () => {
  expect(Object.keys(face).toSorted((a, b) => a.localeCompare(b))).toEqual([
    'adapters',
    'checkKernels',
    'checkMediaFormat',
    'checkVideo',
    'configOfImage',
    'configOfVideo',
    'coverImage',
    'decodeAlphaMask',
    'decodeImage',
    'decodeMask',
    'DEFAULTS',
    'describeDownload',
    'deviceBudget',
    'downloadModel',
    'encodeImage',
    'encodeVideo',
    'EngineError',
    'extendEmbeddingModel',
    'extendTextModel',
    'extendTranscriptionModel',
    'findCachedModels',
    'findModels',
    'fitModel',
    'formatTranscription',
    'frameOf',
    'IMAGE_FORMATS',
    'imageFormatOf',
    'infillPrompt',
    'LIMITS',
    'listModels',
    'mcpTools',
    'mediaFormat',
    'mediaKind',
    'MODEL_KINDS',
    'openAny',
    'openEmbeddingModel',
    'openImageModel',
    'openTextModel',
    'openTranscriptionModel',
    'PIPELINE_CLASSES',
    'planInThread',
    'planModel',
    'probeAdapter',
    'READ_FORMATS',
    'REASONING_FORMATS',
    'removeFound',
    'removeModel',
    'resolveModel',
    'sameProportions',
    'shippedImageModelPath',
    'shippedModelPath',
    'shippedVideoModelPath',
    'SUPPORTED',
    'tool',
    'TOOL_CALL_FORMATS',
    'TRANSCRIPTION_FORMATS',
    'transcriptionEvents',
    'tuneTextModel',
    'verboseTranscription',
    'VIDEO_FORMATS',
    'videoFormatOf',
    'wholeTranscription',
  ]);
});

it('adapters() lists adapters, and probeAdapter() finds that each computes right', async () => {
  const adapters = await face.adapters();
  expect(adapters.length).toBeGreaterThan(0);
  for (const [i, adapter] of adapters.entries()) {
    expect(adapter.index).toBe(i);
    expect(adapter.limits['maxStorageBufferBindingSize']).toBeGreaterThanOrEqual(128 * 2 ** 20);
    expect(await face.probeAdapter(String(i))).toMatchObject({ ok: true, problem: null });
  }
});

it('probeAdapter() refuses an adapter that is not there by naming those that are', async () => {
  const result = await face.probeAdapter('no such adapter');
  expect(result.ok).toBe(false);
  expect(result.problem).toContain('no such adapter');
  const opening = face.openTextModel({ model: face.shippedModelPath(), adapter: '17' });
  await expect(opening).rejects.toMatchObject({ code: 'bad_request', param: 'adapter' });
});

it('the path of the shipped model is a folder that resolves to itself', async () => {
  const path = face.shippedModelPath();
  expect(existsSync(join(path, 'config.json'))).toBe(true);
  expect((await face.resolveModel(path)).path).toBe(path);
  expect(await face.resolveModel('svc-chat-mini')).toEqual({ path, id: 'svc-chat-mini', revision: null });
});

it('a path that is not a folder is refused by the name that was given', async () => {
  const opening = face.openTextModel({ model: './no/such/folder' });
  await expect(opening).rejects.toMatchObject({ code: 'model_not_found' });
  await expect(opening).rejects.toThrow('no/such/folder');
});

it('a conversation with the shipped model needs no options', async () => {
  const notes: face.OpenEvent[] = [];
  const model = await face.openTextModel({ model: face.shippedModelPath(), memoryBudget: 2 ** 29 }, (event) =>
    notes.push(event),
  );
  try {
    expect(model.info).toMatchObject({ name: 'svc-chat-mini', hasChatTemplate: true, quantization: 'none' });
    const messages: face.ChatMessage[] = [{ role: 'user', content: 'Hello!' }];
    const ask = async (request: Partial<face.TextRequest>): Promise<string> => {
      let text = '';
      let end: face.TextEvent | null = null;
      for await (const event of model.generate({ prompt: { messages }, maxTokens: 40, ...request })) {
        if (event.type === 'delta') text += event.text;
        if (event.type === 'done') end = event;
      }
      expect(end).toMatchObject({ type: 'done', choice: 0 });
      return text;
    };
    const greedy = await ask({ temperature: 0 });
    expect(greedy).not.toBe('');
    expect(await ask({ temperature: 0 })).toBe(greedy);
    expect(await ask({ temperature: 1.5, seed: 4 })).toBe(await ask({ temperature: 1.5, seed: 4 }));
    expect(await ask({ temperature: 0, stop: [greedy.slice(2, 5)] })).toBe(greedy.slice(0, 2));
    const { text, ids } = await model.renderPrompt({ messages });
    expect(text).toContain('Hello!');
    expect(await model.detokenize(ids)).toBe(text);
    await expect(model.detokenize([model.info.vocabSize])).rejects.toMatchObject({ param: 'ids.0' });
    expect(notes.some(({ type }) => type === 'warmup')).toBe(true);
  } finally {
    await model.close();
  }
});
