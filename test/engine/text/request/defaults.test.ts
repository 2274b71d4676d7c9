import { expect, it } from 'vitest';
import {
  contextNotes,
  endTokens,
  samplingDefaults,
  stepRows,
  suppressedTokens,
} from '../../../../src/engine/text/request/defaults.ts';
import type { Checkpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { noteOf } from '../../../../src/files/message.ts';
import { readShader } from '../../../../src/gpu/node.ts';
import { openPaperDevice } from '../../../../src/gpu/paper-device.ts';
import type { TextDeclaration } from '../../../../src/models/text/blocks/architecture.ts';
import type { Tokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';

const checkpoint = (generationConfig: Record<string, unknown>, config: Record<string, unknown> = {}) =>
  ({
    generationConfig,
    config,
    configSource: { name: 'config.json', metadata: null },
  }) as unknown as Checkpoint;
const tokenizer = (eosId: number | null) => ({ eosId }) as unknown as Tokenizer;

it('sampling defaults come from generation_config.json, and from the contract for null and missing values', () => {
  const { sampling, source } = samplingDefaults(
    checkpoint({ temperature: 0.3, top_k: 20, top_p: null }),
    'model',
  );
  expect(sampling).toEqual({ temperature: 0.3, topP: 1, topK: 20, minP: 0, repetitionPenalty: 1 });
  expect(source).toMatchObject({ temperature: 'generation_config.json', topP: 'contract', minP: 'contract' });
});

it.each([
  ...['0.3', true, [0.3], {}, -1, 3, NaN, Infinity].map((value) => ['temperature', value]),
  ...['1', 0, -1, 1.5, NaN, [null]].map((value) => ['top_p', value]),
  ...[0.5, -2, 1e308, '20', true].map((value) => ['top_k', value]),
  ...[-0.1, 2, 'x'].map((value) => ['min_p', value]),
  ...[0, -1, Infinity, '1'].map((value) => ['repetition_penalty', value]),
] as [string, unknown][])(
  'the value of generation_config.json %s %j is refused, but not with defaults of the contract',
  (key, value) => {
    const broken = checkpoint({ [key]: value });
    expect(() => samplingDefaults(broken, 'model')).toThrow(
      expect.objectContaining({
        code: 'bad_checkpoint',
        param: key,
        message: expect.stringMatching(
          new RegExp(`^generation_config\\.json: ${key} is .*samplingDefaults`),
        ) as string,
      }) as Error,
    );
    expect(samplingDefaults(broken, 'contract').sampling.temperature).toBe(1);
  },
);

it('end tokens are those of both files and the tokenizer, without ids that the model does not have', () => {
  const both = checkpoint({ eos_token_id: [3, 900] }, { eos_token_id: 5 });
  expect(endTokens(both, tokenizer(3), 10)).toEqual([3, 5]);
  expect(endTokens(checkpoint({ eos_token_id: null }), tokenizer(null), 10)).toEqual([]);
});

it.each([-1, 0.5, 1e9, '2', true, [null], [[2]], NaN, {}])('eos_token_id %j is refused by its file', (id) => {
  const wrong = (at: Checkpoint) => () => endTokens(at, tokenizer(null), 10);
  expect(wrong(checkpoint({ eos_token_id: id }))).toThrow(/^generation_config\.json: eos_token_id is /);
  expect(wrong(checkpoint({}, { eos_token_id: id }))).toThrow(/^config\.json: eos_token_id is /);
});

it('suppressed tokens are those of generation_config.json, else of config.json, without ids that the model does not have', () => {
  const suppressed = (generation: unknown, config?: unknown) =>
    suppressedTokens(checkpoint({ suppress_tokens: generation }, { suppress_tokens: config }), 10);
  expect(suppressed([3, 8, 3, -1, 10])).toEqual([3, 8]);
  expect(suppressed(null, [4])).toEqual([4]);
  expect(suppressed([], [4])).toEqual([]);
  expect(suppressed(undefined)).toEqual([]);
  expect(() => suppressed(3)).toThrow(/^generation_config\.json: suppress_tokens is 3, a list of token ids/);
  expect(() => suppressed(null, ['3'])).toThrow(/^config\.json: suppress_tokens is /);
});

it('requests at once are as many as one binding has fixed states for', () => {
  const device = openPaperDevice({ shaders: readShader, memoryBudget: 2 ** 30 });
  const values = Math.floor(device.capabilities.bindingLimit / 4 / 20 / 4) * 4;
  const config = {
    widest: 64,
    vocabulary: 64,
    experts: null,
    layers: [{ kind: 'slot', values }],
    inputs: {},
  };
  const rowsFor = (slots: number): number =>
    stepRows(device, config as unknown as TextDeclaration, 64, slots);
  expect(rowsFor(16)).toBe(64);
  expect(() => rowsFor(17)).toThrow('at most 16');
});

it('a context that is shortened is a warning where its length was asked for', () => {
  const device = openPaperDevice({ shaders: readShader, memoryBudget: 10e6 });
  const notes = (contextLength?: number) =>
    contextNotes({ model: '', contextLength }, { context: 4096 }, 320, device).map(noteOf);
  expect(notes()).toMatchObject([{ message: expect.stringContaining('from 4096 to 320') as string }]);
  expect(notes()[0]).not.toHaveProperty('isWarning');
  expect(notes(864)).toMatchObject([
    { message: expect.stringContaining('from 864 to 320') as string, isWarning: true },
  ]);
});
