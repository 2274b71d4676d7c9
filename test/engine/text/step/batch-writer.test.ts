// What the batch writer puts into the step buffers: sources, three-part positions, tiles cut at spans, tables of pages and sequences.

import { expect, it } from 'vitest';
import { BatchWriter } from '../../../../src/engine/text/step/batch-writer.ts';
import type { StepBuffers, UsedWords } from '../../../../src/engine/text/step/step-buffers.ts';
import {
  FROM_INPUT,
  FROM_SLOT,
  NO_LORA,
  ROW_WORDS,
  SEQUENCE_WORDS,
  TILE_WORDS,
} from '../../../../src/kernels/batch.ts';
import type { TextInputs } from '../../../../src/models/text/blocks/architecture.ts';

function hostBuffers(): { buffers: StepBuffers; used: () => UsedWords } {
  const words = (): Uint32Array<ArrayBuffer> => new Uint32Array(256);
  const view = new DataView(new ArrayBuffer(4));
  let used: UsedWords = {};
  const named = {
    rows: words(),
    planes: words(),
    turns: words(),
    tiles: words(),
    sourceTiles: words(),
    sequences: words(),
  };
  const sampling = { pooled: words(), wanted: words(), choices: view, biases: view, counts: words() };
  const adapters = { adapters: words(), sampledAdapters: words() };
  const tables = [0, 1].map(() => ({ pages: words(), places: words(), scale: 1 }));
  const buffers: StepBuffers = {
    batch: {} as StepBuffers['batch'],
    tables: [],
    readsSequences: true,
    spareSlot: 0,
    words: { ...named, ...sampling, ...adapters, tables },
    upload: (given) => void (used = given),
    destroy: () => {},
  };
  return { buffers, used: () => used };
}

function writerFor(inputs: TextInputs) {
  const { buffers, used } = hostBuffers();
  const writer = new BatchWriter(buffers, { ropes: [], inputs });
  const table = (words: Uint32Array, width: number, count: number): number[][] =>
    Array.from({ length: count }, (_, i) => [...words.slice(i * width, (i + 1) * width)]);
  return { writer, used, words: buffers.words, table };
}

const TEXT: TextInputs = { embeddings: false, positions: 1, attention: 'causal' };
const IMAGE: TextInputs = { embeddings: true, positions: 3, attention: 'spans' };
const lengthAt = (): number => 1;

it('the batch writer writes rows of several sequences, their pages by kind and who is sampled', () => {
  const { writer, used, words, table } = writerFor(TEXT);
  writer.begin({ adapted: true });
  const tables = [
    [3, 1],
    [7, 9],
  ];
  writer.add({ first: 31, rows: 3, ids: Array(33).fill(5), slot: 2, tables, lengthAt, lora: 4 });
  writer.want(4);
  writer.add({ first: 0, rows: 18, ids: Array(18).fill(6), slot: 0, tables: [[0], [2]], lengthAt });
  writer.want();
  const sizes = writer.end({ choices: 2 });
  expect(sizes).toEqual({
    rows: 21,
    sampled: 2,
    tiles: 3,
    tileRows: 16,
    contextPages: 2,
    expandedPages: 0,
    sequences: 2,
  });
  expect(table(words.rows, ROW_WORDS, 4)).toEqual([
    [5, 31, 0, 0],
    [5, 32, 0, 0],
    [FROM_SLOT + 2, 33, 0, 0],
    [6, 0, 0, 1],
  ]);
  expect(table(words.tiles, TILE_WORDS, 3)).toEqual([
    [0, 3, 0, 31, 0],
    [3, 16, 2, 0, 0],
    [19, 2, 2, 16, 0],
  ]);
  expect(table(words.sequences, SEQUENCE_WORDS, 2)).toEqual([
    [0, 3, 31, 2],
    [3, 18, 0, 0],
  ]);
  const [first, second] = words.tables;
  expect([...first!.pages.slice(0, 3)]).toEqual([3, 1, 0]);
  expect([...second!.pages.slice(0, 3)]).toEqual([7, 9, 2]);
  expect([...first!.places.slice(0, 4)]).toEqual([3 * 32 + 31, 32, 33, 0]);
  expect([...second!.places.slice(0, 4)]).toEqual([7 * 32 + 31, 9 * 32, 9 * 32 + 1, 64]);
  expect([...words.wanted.slice(0, 2)]).toEqual([2, 20]);
  expect([...words.sampledAdapters.slice(0, 2)]).toEqual([4, NO_LORA]);
  expect([...words.adapters.slice(2, 4)]).toEqual([4, NO_LORA]);
  expect(used()).toMatchObject({
    rows: 84,
    'pages 0': 3,
    'pages 1': 3,
    'places 1': 21,
    planes: 0,
    choices: 2,
  });
});

it('the batch writer writes input embeddings, positions of three parts, and tiles that end where spans do', () => {
  const { writer, used, words, table } = writerFor(IMAGE);
  writer.begin();
  const image = { first: 2, end: 6 };
  writer.add({
    ...{ first: 0, rows: 8, ids: [10, 11, 0, 0, 0, 0, 12, 13], slot: 0, tables: [[0], [0]], lengthAt },
    inputs: [{ ...image, input: 3 }],
    spans: [image],
    place: (token) =>
      token < 2
        ? [token, token, token]
        : token < 6
          ? [2, 2 + (token >> 2), 2 + (token & 1)]
          : [token - 2, 4, 4],
  });
  writer.pool(1, 7);
  const sizes = writer.end();
  expect(sizes).toMatchObject({ rows: 8, tiles: 3, tileRows: 4, sampled: 1 });
  expect(table(words.rows, ROW_WORDS, 8).map(([source, time]) => [source, time])).toEqual([
    [10, 0],
    [11, 1],
    [FROM_INPUT + 3, 2],
    [FROM_INPUT + 4, 2],
    [FROM_INPUT + 5, 2],
    [FROM_INPUT + 6, 2],
    [12, 4],
    [13, 5],
  ]);
  expect(table(words.planes, 2, 7).slice(1)).toEqual([
    [1, 1],
    [2, 2],
    [2, 3],
    [3, 2],
    [3, 3],
    [4, 4],
  ]);
  expect(table(words.tiles, TILE_WORDS, 3)).toEqual([
    [0, 2, 0, 0, 0],
    [2, 4, 0, 2, 5],
    [6, 2, 0, 6, 0],
  ]);
  expect([...words.pooled.slice(0, 2)]).toEqual([1, 7]);
  expect(words.wanted[0]).toBe(7);
  expect(used()).toMatchObject({ planes: 16, pooled: 2, wanted: 1 });
});

it('rows of padding see the text before them and no other', () => {
  const { writer, words, table } = writerFor(IMAGE);
  writer.begin();
  writer.add({
    ...{ first: 0, rows: 7, ids: [1, 2, 3, 4, 0, 0, 0], slot: 0, tables: [[0], [0]], lengthAt },
    spans: [{ first: 4, end: 7, last: 3 }],
  });
  writer.want();
  expect(writer.end()).toMatchObject({ tiles: 2, contextPages: 1 });
  expect(table(words.tiles, TILE_WORDS, 2)).toEqual([
    [0, 4, 0, 0, 0],
    [4, 3, 0, 4, 3],
  ]);
});

it('a span that a step would cut, and embeddings for a model without them, are assertions', () => {
  const { writer } = writerFor(IMAGE);
  const part = { first: 0, rows: 4, ids: [1, 2, 3, 4, 5], slot: 0, tables: [[0], [0]], lengthAt };
  writer.begin();
  expect(() => writer.add({ ...part, spans: [{ first: 2, end: 5 }] })).toThrow(
    'that of tokens 2 to 5 ends at 4',
  );
  const text = writerFor(TEXT);
  text.writer.begin();
  expect(() => text.writer.add({ ...part, inputs: [] })).toThrow('takes no input embeddings');
});

it('positions behind a source are counted from the page behind it, and tiles see the source apart', () => {
  const { writer, used, words, table } = writerFor(TEXT);
  writer.begin({});
  const tables = [
    [7, 3, 5],
    [1, 2, 4],
  ];
  const ids = Array.from({ length: 66 }, (_, i) => i);
  writer.add({ first: 64, rows: 2, ids, slot: 0, tables, lengthAt, source: { tokens: 40, pages: 2 } });
  // Rows that see one token alone have tiles of their own.
  writer.add({ first: 32, rows: 2, ids, slot: 1, tables, lengthAt, source: { tokens: 1, pages: 1 } });
  writer.end();
  expect(table(words.tiles, TILE_WORDS, 3)).toEqual([
    [0, 2, 2, 0, 0],
    [2, 1, 4, 0, 0],
    [3, 1, 4, 1, 0],
  ]);
  expect(table(words.sourceTiles, TILE_WORDS, 3)).toEqual([
    [0, 2, 0, 0, 39],
    [2, 1, 3, 0, 0],
    [3, 1, 3, 0, 0],
  ]);
  expect(table(words.rows, ROW_WORDS, 4).map(([source, position]) => [source, position])).toEqual([
    [64, 0],
    [65, 1],
    [32, 0],
    [33, 1],
  ]);
  expect(used()).toMatchObject({ tiles: 3 * TILE_WORDS, sourceTiles: 3 * TILE_WORDS });
  writer.begin({});
  writer.add({ first: 0, rows: 1, ids, slot: 0, tables, lengthAt });
  writer.end();
  expect(used()).toMatchObject({ sourceTiles: 0 });
});
