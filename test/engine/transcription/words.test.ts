// Words of texts against those that transformers divides them into, and times of tokens along a path that is known.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { TRANSCRIPTION_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { HeadLooks } from '../../../src/engine/transcription/head-looks.ts';
import type { TranscriptionRunner, WrittenPart } from '../../../src/engine/transcription/runner.ts';
import { StepQueue } from '../../../src/engine/transcription/step-queue.ts';
import { tokenTimes } from '../../../src/engine/transcription/token-times.ts';
import { divideWords } from '../../../src/engine/transcription/words.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { finished } from '../../../src/models/preparation.ts';
import { readAlignment } from '../../../src/models/audio/whisper-alignment.ts';

const FOLDER = fileURLToPath(new URL('../../golden/whisper/', import.meta.url));

interface Divided {
  language: string;
  ids: number[];
  words: [string, number][];
}

it('words are those of transformers', async () => {
  const { divided } = JSON.parse(readFileSync(`${FOLDER}transcripts.json`, 'utf8')) as { divided: Divided[] };
  const checkpoint = await openCheckpoint(await nodePlatform.openFolder(FOLDER), TRANSCRIPTION_CLASSES);
  const tokenizer = await checkpoint.tokenizer();
  await checkpoint.close();
  for (const { language, ids, words } of divided) {
    const found = divideWords(ids, language, (some) => tokenizer.decode(some, { skipSpecialTokens: false }));
    expect(found.map(({ text, tokens }) => [text, tokens.length])).toEqual(words);
    expect(found.flatMap(({ tokens }) => tokens)).toEqual(ids);
  }
});

it('tokens end where their heads look', () => {
  // Two heads see tokens 0, 1 and 2 at rows 1, 4 and 7 of 10, of which 9 have sound; another sees nothing.
  const rows = [1, 4, 7].map((at) =>
    Float32Array.from({ length: 30 }, (_, i) => (i < 20 && i % 10 === at ? 1 : 0)),
  );
  const timesOf = (tokens: Float32Array[], medianWidth: number): number[] => {
    const heads = new HeadLooks({ heads: 3, keys: 10, medianWidth }, 9);
    // However the tokens are divided.
    for (const token of tokens) finished(heads.measure([token]));
    return finished(tokenTimes(finished(heads.looks(tokens))));
  };
  expect(timesOf(rows, 1)).toEqual([0, 4, 7]);
  expect(timesOf(rows.slice(0, 1), 7)).toEqual([0]);
});

it('the looks of heads come in short turns, from weights that are kept or computed again', async () => {
  const ids = [9, 0, 1, 2, 3, 4];
  const shape = { heads: 2, keys: 10, medianWidth: 3 };
  const weightsOf = (id: number) =>
    Float32Array.from({ length: 20 }, (_, i) => 1 / (1 + Math.abs((i % 10) - 2 * id)));
  const looksBy = async (mostKept: number) => {
    const firsts: number[] = [];
    const runner = {
      ...{ facts: { maxRunningRequests: 1 }, mostRows: 4, aligned: { ...shape, rows: 2 } },
      hear: () => {},
      align: (part: WrittenPart) => {
        firsts.push(part.first);
        return Promise.resolve(part.ids.slice(part.first).map(weightsOf));
      },
    } as unknown as TranscriptionRunner;
    const steps = new StepQueue(runner, { mostKept });
    const { signal } = new AbortController();
    const looks = await steps.withWindow(new Float32Array(1), ({ align }) => align(ids, 1, 9), signal);
    return { looks, firsts };
  };
  const kept = await looksBy(5 * 20);
  expect(kept.firsts).toEqual([1, 3, 5]);
  const again = await looksBy(5 * 20 - 1);
  expect(again).toEqual({ looks: kept.looks, firsts: [1, 3, 5, 1, 3, 5] });
  const heads = new HeadLooks(shape, 9);
  const turns = [...heads.measure(ids.slice(1).map(weightsOf)), ...heads.looks([weightsOf(0)])];
  expect(turns).toHaveLength(5 * 2 + 2);
  expect([...tokenTimes(kept.looks)]).toHaveLength(5);
});

it("heads are those of generation_config.json, none if they are not the decoder's, else those of the later half", () => {
  const read = (generation: Record<string, unknown>, config = {}) =>
    readAlignment({ config, generation }, { layers: 3, heads: 2 });
  const { alignment } = read({ alignment_heads: [[2, 1]] });
  expect(alignment).toEqual({ heads: [{ layer: 2, head: 1 }], medianWidth: 7 });
  expect(read({}, { median_filter_width: 5 }).alignment).toEqual({
    heads: [1, 2].flatMap((layer) => [0, 1].map((head) => ({ layer, head }))),
    medianWidth: 5,
  });
  for (const stated of [[], [[3, 0]], [[0, 2]], [[1]], 'all'])
    expect(read({ alignment_heads: stated })).toEqual({
      alignment: null,
      problem: expect.stringContaining('alignment_heads is not a list of pairs of a layer below 3'),
    });
  expect(() => read({}, { median_filter_width: 4 })).toThrow('median_filter_width is 4, and must be odd');
});
