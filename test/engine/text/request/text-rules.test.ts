// Untyped values passed to the library: every wrong one is refused by its name, and valid ones pass.

import { describe, expect, it } from 'vitest';
import { checkTextModelOptions, checkTextRequest } from '../../../../src/engine/text/request/text-rules.ts';
import { EngineError } from '../../../../src/files/error.ts';
import { openImageModel, openTextModel, probeAdapter } from '../../../../src/index.ts';

function refusal(action: () => unknown): { code: string; param: string | null; message: string } {
  try {
    action();
  } catch (error) {
    if (error instanceof EngineError) return { code: error.code, param: error.param, message: error.message };
    throw error;
  }
  throw new Error('it was accepted');
}

const options = (given: unknown): (() => void) => {
  const wrong = given as Parameters<typeof checkTextModelOptions>[0];
  return () => checkTextModelOptions(wrong);
};
const request = (given: unknown): (() => void) => {
  const wrong = given as Parameters<typeof checkTextRequest>[0];
  return () => checkTextRequest(wrong, 300);
};
const message = (given: object): object => ({ prompt: { messages: [given] } });

describe('options of a text model', () => {
  it.each([
    [{ model: 'm' }],
    [{ model: 'm', adapter: 1, memoryBudget: 2 ** 32, contextLength: 1, inline: true, revision: undefined }],
    [{ model: 'm', hostCache: 1, storageCache: 'file', storageCacheBytes: 1 }],
    [{ model: 'm', adapter: 'intel', quantization: 'auto', maxQueuedRequests: 0, prefillChunk: 16 }],
    [{ model: 'm', deterministic: true, batchInvariance: true }],
    [{ model: 'm', deterministic: false, batchInvariance: false }],
  ])('%j pass', (given) => {
    options(given)();
  });

  it.each<[unknown, string, string]>([
    [undefined, 'model', 'an object'],
    ['org/name', 'model', 'an object'],
    [{}, 'model', 'is missing'],
    [{ model: '' }, 'model', 'not empty'],
    [{ model: 5 }, 'model', 'is 5'],
    [{ model: 'm', quantization: 'q4' }, 'quantization', 'is "q4", it must be one of none, int8, int4, auto'],
    [{ model: 'm', memoryBudget: '4GB' }, 'memoryBudget', 'is "4GB", it must be a whole number of bytes'],
    [{ model: 'm', memoryBudget: Infinity }, 'memoryBudget', 'is Infinity'],
    [{ model: 'm', adapter: -1 }, 'adapter', 'from 0 to 99'],
    [{ model: 'm', contextLength: -1 }, 'contextLength', 'is -1, it must be a whole number'],
    [{ model: 'm', contextLength: null }, 'contextLength', 'is null'],
    [{ model: 'm', maxRunningRequests: 257 }, 'maxRunningRequests', 'from 1 to 256'],
    [{ model: 'm', inline: 'yes' }, 'inline', 'true or false'],
    [{ model: 'm', hostCache: 1, prefixCache: false }, 'hostCache', 'where the prefix cache is off'],
    [
      { model: 'm', storageCache: 'file', prefixCache: false },
      'storageCache',
      'where the prefix cache is off',
    ],
    [
      { model: 'm', activationDtype: 'int8', deterministic: true },
      'activationDtype',
      'which `deterministic` rules out: leave one of them out',
    ],
    [{ model: 'm', activationDtype: 'int4' }, 'activationDtype', 'float'],
    [{ model: 'm', deterministic: true, batchInvariance: false }, 'batchInvariance', 'leave one of them out'],
    [
      { model: 'm', speculativeNumDraftTokens: 4 },
      'speculativeNumDraftTokens',
      'has no effect without drafts',
    ],
    [{ model: 'm', speculativeAdaptive: false }, 'speculativeAdaptive', 'set `speculativeAlgorithm`, too'],
    [
      { model: 'm', speculativeAlgorithm: 'mtp', speculativeNgramCapacity: 9 },
      'speculativeNgramCapacity',
      'is mtp: it is for ngram',
    ],
    [
      { model: 'm', speculativeAlgorithm: 'ngram', speculativeNgramCapacity: 9, prefixCache: false },
      'speculativeNgramCapacity',
      'share nothing',
    ],
    [
      { model: 'm', speculativeAlgorithm: 'ngram', speculativeDraftModelPath: 'x' },
      'speculativeDraftModelPath',
      'is for `speculativeAlgorithm` mtp, eagle3 or draft',
    ],
    [{ model: 'm', speculativeAlgorithm: 'eagle3' }, 'speculativeDraftModelPath', 'needs a draft model'],
    [{ model: 'm', storageCacheBytes: 1 }, 'storageCacheBytes', 'without `storageCache`'],
    [
      { model: 'm', storageCache: 'rediss://a', storageCacheBytes: 1 },
      'storageCacheBytes',
      'where `storageCache` is a redis:// address',
    ],
    [{ model: 'm', contextSize: 5 }, 'contextSize', 'it takes model, revision'],
    [{ model: 'm', context_length: 5 }, 'context_length', 'it is written contextLength'],
  ])('%j are refused', (given, param, words) => {
    const found = refusal(options(given));
    expect(found).toMatchObject({ code: 'bad_request', param });
    expect(found.message).toContain(words);
  });

  it('are refused before anything is opened', async () => {
    // @ts-expect-error: what a program without types may do
    await expect(openTextModel({})).rejects.toMatchObject({ code: 'bad_request', param: 'model' });
    // @ts-expect-error: the same
    const opening = openImageModel({ model: 'm', steps: 5 });
    await expect(opening).rejects.toMatchObject({ code: 'bad_request', param: 'steps' });
    await expect(probeAdapter(-1)).rejects.toMatchObject({ code: 'bad_request', param: 'adapter' });
  });
});

describe('fields of a text request', () => {
  const prompt = { ids: [1] };
  it.each([
    [{ prompt }],
    [{ prompt: { text: '' }, temperature: 0, topP: 1, topK: -1, minP: 1, maxTokens: Infinity, n: 128 }],
    [{ prompt, seed: -5, stop: ['a'], stopTokenIds: [299], logitBias: { 0: -100 }, ignoreEos: false }],
    [message({ role: 'assistant', content: null })],
    [
      message({
        role: 'assistant',
        tool_calls: [{ function: { name: 'f', arguments: {} }, index: 0 }],
      }),
    ],
    [message({ role: 'user', content: [{ type: 'text', text: 'hi', extra: 1 }] })],
    [{ prompt: { messages: [{ role: 'user', content: 'hi' }], tools: [], templateKwargs: { a: 1 } } }],
  ])('%j pass', (given) => {
    request(given)();
  });

  it.each<[unknown, string, string]>([
    [undefined, 'request', 'is undefined, it must be an object'],
    [{}, 'prompt', 'is missing'],
    [{ messages: [] }, 'prompt', "such as prompt: { messages: [{ role: 'user'"],
    [{ prompt: [message({})] }, 'prompt', "such as prompt: { messages: [{ role: 'user'"],
    [{ prompt, stop: Array(17).fill('a') }, 'stop', 'has 17 entries, it must have at most 16'],
    [{ prompt: 'hi' }, 'prompt', 'is "hi", it must be an object with messages, text or ids'],
    [{ prompt: {} }, 'prompt', 'none of messages, text and ids'],
    [{ prompt: { text: 'a', ids: [1] } }, 'prompt', 'more than one'],
    [{ prompt: { text: 5 } }, 'text', 'is 5'],
    [{ prompt: { messages: [] } }, 'messages', 'has 0 entries, it must have at least 1'],
    [{ prompt: { messages: 'hi' } }, 'messages', 'a list'],
    [message({ role: 'bot', content: 'hi' }), 'messages.0.role', 'is "bot", it must be one of system'],
    [message({ role: 'user' }), 'messages.0.content', 'a text or a list'],
    [message({ role: 'user', content: null }), 'messages.0.content', 'is null'],
    [message({ role: 'user', content: 5 }), 'messages.0.content', 'is 5'],
    [message({ role: 'user', content: [{ text: 'a' }] }), 'messages.0.content.0.type', 'is missing'],
    [
      message({ role: 'user', content: [{ type: 'image', image: 'a.png' }] }),
      'messages.0.content.0.image',
      'is "a.png", it must be the bytes of a file as a Uint8Array',
    ],
    [message({ content: 'hi' }), 'messages.0.role', 'is missing'],
    [
      message({ role: 'user', content: 'hi', tool_calls: [{ function: { name: 'f', arguments: '{}' } }] }),
      'messages.0.role',
      'assistant',
    ],
    [{ prompt: { messages: [{ role: 'user', content: 'a' }], kwargs: {} } }, 'kwargs', 'templateKwargs'],
    [{ prompt, temperature: '1' }, 'temperature', 'is "1", it must be a number from 0 to 2'],
    [{ prompt, temperature: NaN }, 'temperature', 'is NaN'],
    [{ prompt, topP: 0 }, 'topP', 'above 0'],
    [{ prompt, maxTokens: -1 }, 'maxTokens', 'is -1, it must be a whole number of at least 0'],
    [{ prompt, max_tokens: 5 }, 'max_tokens', 'it is written maxTokens'],
    [{ prompt, stop: 'a' }, 'stop', 'a list'],
    [{ prompt, stop: [''] }, 'stop.0', 'not empty'],
    [{ prompt, seed: 2 ** 60 }, 'seed', 'whole number'],
    [{ prompt, onToken: () => {} }, 'onToken', 'is unknown to a request'],
  ])('%j are refused', (given, param, words) => {
    const found = refusal(request(given));
    expect(found).toMatchObject({ code: 'bad_request', param });
    expect(found.message).toContain(words);
  });
});
