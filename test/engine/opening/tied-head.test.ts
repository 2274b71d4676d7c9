// Heads that config.json ties to the embedding, in every form in which files store them.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import { editTensors } from '../checkpoint-folder.ts';
import { collect, goldenCases, goldenModel, greedy } from '../fixture.ts';

let folder: { path: string; remove(): void };
beforeEach(() => void (folder = goldenModel('qwen3')));
afterEach(() => folder.remove());

const golden = goldenCases('qwen3').find(({ name }) => name === 'default')!.greedy!;

/** Opens the folder, generates some tokens, and closes it. */
async function open() {
  const notes: string[] = [];
  const model = await openInline(
    TEXT,
    nodePlatform,
    { model: folder.path, safe: true, memoryBudget: 2 ** 30 },
    (event) => void (event.type === 'note' && notes.push(event.message)),
  );
  const { ids } = await collect(model.generate(greedy(golden.prompt_ids, golden.tokens.length)));
  await model.close();
  return { tokens: ids[0]!, notes, info: model.info };
}

describe('tied embeddings', () => {
  const HEAD = 'lm_head.weight';
  const EMBEDDING = 'model.embed_tokens.weight';

  it('may be stored under the name of the head', async () => {
    editTensors(folder.path, (tensors) => {
      tensors.set(HEAD, tensors.get(EMBEDDING)!);
      tensors.delete(EMBEDDING);
    });
    const { tokens, notes } = await open();
    expect(tokens).toEqual(golden.tokens);
    expect(notes).toEqual([]);
  });

  it('may be stored under both names', async () => {
    editTensors(folder.path, (tensors) => tensors.set(HEAD, tensors.get(EMBEDDING)!));
    const { tokens, notes, info } = await open();
    expect(tokens).toEqual(golden.tokens);
    expect(notes).toEqual([]);
    editTensors(folder.path, (tensors) => void tensors.delete(HEAD));
    expect(info.parameters).toBe((await open()).info.parameters);
  });

  it('are not tied where the file has another head: it is used, with a note', async () => {
    editTensors(folder.path, (tensors) => {
      const { dtype, shape, bytes } = tensors.get(EMBEDDING)!;
      // Reverses the rows of the vocabulary: the same logits for other tokens.
      const rowBytes = bytes.length / shape[0]!;
      const rows = Array.from({ length: shape[0]! }, (_, row) =>
        bytes.subarray(row * rowBytes, (row + 1) * rowBytes),
      );
      tensors.set(HEAD, { dtype, shape, bytes: Buffer.concat(rows.toReversed()) });
    });
    const { tokens, notes, info } = await open();
    expect(notes).toEqual([
      expect.stringMatching(
        /tie_word_embeddings true, and lm_head\.weight in model\.safetensors differs from model\.embed_tokens\.weight/,
      ),
    ]);
    expect(tokens[0]).toBe(info.vocabSize - 1 - golden.tokens[0]!);
    const file = join(folder.path, 'config.json');
    const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify({ ...config, tie_word_embeddings: false }));
    const untied = await open();
    expect(untied.tokens).toEqual(tokens);
    expect(untied.notes).toEqual([]);
  });
});
