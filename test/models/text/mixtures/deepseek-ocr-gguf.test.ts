// GGUF files of DeepSeek-OCR's language model: the chat template, and what is refused. Their tokens are compared with those of llama.cpp in
// test/engine/gguf-greedy.test.ts.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { openCheckpoint, readCheckpointSpeech } from '../../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { readText } from '../../../../src/models/text/registry.ts';
import { temporaryFolders } from '../../../files/folders.ts';
import { rewritten } from '../../../files/gguf/rewritten.ts';
import type { Written } from '../../../files/gguf/write-gguf.ts';

const FILE = fileURLToPath(new URL('../../../golden/gguf/deepseek-ocr/model.gguf', import.meta.url));
const folders = temporaryFolders();
const folderOf = async (bytes: Uint8Array) => openDiskFolder(await folders({ 'm.gguf': bytes }));

/** The file with further metadata. */
async function opened(more: Record<string, Written>) {
  const folder = await folderOf(await rewritten(FILE, () => true, more));
  const checkpoint = await openCheckpoint(folder, TEXT_CLASSES);
  await checkpoint.close();
  return checkpoint;
}

it('the template of the class stands in place of one that knows no images', async () => {
  const folder = await folderOf(readFileSync(FILE));
  const { chatTemplate } = await readCheckpointSpeech(folder, TEXT_CLASSES.template);
  expect(chatTemplate!['default']).toMatch(/bos_token.*<image>/s);
  expect((await opened({})).chatTemplate).toEqual(chatTemplate);
  const own = `{{ messages[0].content }}{{ 'image' }}`;
  expect((await opened({ 'tokenizer.chat_template': own })).chatTemplate).toEqual({ default: own });
});

it.each([
  ['attention.sliding_window', 128],
  ['expert_group_count', 2],
  ['rope.dimension_count', 4],
])('a file with another %s is refused', async (key, value) => {
  const refused = async (): Promise<unknown> => {
    const { config, architecture, configSource } = await opened({ [`deepseek2-ocr.${key}`]: value });
    return readText(config, architecture, configSource);
  };
  await expect(refused()).rejects.toMatchObject({
    code: expect.stringMatching(/^(unsupported|bad_checkpoint)$/),
    message: expect.stringContaining(`deepseek2-ocr.${key}`),
  });
});
