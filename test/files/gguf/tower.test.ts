// Which file is a model's tower, and what is said of a tower that is missing, of another kind, or of another model.

import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { modelFiles, towerBeside } from '../../../src/files/gguf/file-names.ts';
import type { GgufTensor } from '../../../src/files/gguf/gguf.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { GGUF_TOWERS, mediaFamily } from '../../../src/models/towers/media-families.ts';
import { towerName } from '../../../src/models/gguf-towers.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/gguf-towers', import.meta.url));
const GEMMA = `${GOLDEN}/gemma3/gemma3-F16.gguf`;
const GEMMA_TOWER = `${GOLDEN}/gemma3/mmproj-gemma3-F16.gguf`;
const GEMMA_3N = `${GOLDEN}/gemma3n/gemma3n-F16.gguf`;
const QWEN = `${GOLDEN}/qwen3-vl/qwen3-vl-F16.gguf`;
const PAGES = `${GOLDEN}/deepseek-ocr/deepseek-ocr-F16.gguf`;
const MISTRAL = `${GOLDEN}/mistral3/mistral3-F16.gguf`;
const PIXTRAL_TOWER = `${GOLDEN}/pixtral/mmproj-pixtral-F16.gguf`;

const made: string[] = [];
afterAll(() => made.forEach((folder) => rmSync(folder, { recursive: true })));

/** Copies of files in a folder of their own. */
function folderOf(...files: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'towers-'));
  made.push(folder);
  for (const file of files) copyFileSync(file, join(folder, file.slice(file.lastIndexOf('/') + 1)));
  return folder;
}

/** A file of the tower of Gemma 3 with another text in place of its projector's, which is as long. */
function withProjector(folder: string, projector: string): string {
  const bytes = readFileSync(GEMMA_TOWER);
  const at = bytes.indexOf('clip.projector_type') + 'clip.projector_type'.length + 12;
  bytes.write(projector, at);
  const file = join(folder, 'mmproj-other.gguf');
  writeFileSync(file, bytes);
  return file;
}

async function opened(path: string) {
  const checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
  await checkpoint.close();
  return checkpoint;
}

describe('the file of a tower', () => {
  it.each([
    ['m-Q4_K_M.gguf', ['mmproj-BF16.gguf', 'mmproj-F16.gguf', 'mmproj-F32.gguf'], 'mmproj-F16.gguf'],
    ['m-Q4_K_M.gguf', ['mmproj-F32.gguf', 'mmproj-m-Q8_0.gguf'], 'mmproj-m-Q8_0.gguf'],
    ['m-Q4_K_M.gguf', ['m-Q8_0.gguf', 'm.mmproj-bf16.gguf'], 'm.mmproj-bf16.gguf'],
    ['m-Q4_K_M.gguf', ['mmproj-model-f16.gguf'], 'mmproj-model-f16.gguf'],
    ['m-Q4_K_M.gguf', ['other-Q8_0.gguf', 'mmproj-other-f16.gguf'], null],
    ['m-Q4_K_M.gguf', ['other-Q8_0.gguf', 'mmproj-m-f16.gguf', 'mmproj-other-f16.gguf'], 'mmproj-m-f16.gguf'],
    ['m-Q4_K_M.gguf', ['imatrix-m.gguf', 'readme.md'], null],
  ])('of %s among %j is %s', (model, others, tower) => {
    expect(towerBeside(model, [model, ...others])).toBe(tower);
  });

  it('is one of the files of a model, and has none itself', () => {
    const names = ['a-00001-of-00002.gguf', 'a-00002-of-00002.gguf', 'mmproj-F16.gguf', 'b/mmproj-F16.gguf'];
    expect(modelFiles('a-00001-of-00002.gguf', names)).toEqual(names.slice(0, 3));
    expect(modelFiles('mmproj-F16.gguf', names)).toEqual(['mmproj-F16.gguf']);
  });
});

describe('a GGUF language model', () => {
  it('is opened by its file or its folder with the tower beside it', async () => {
    for (const path of [GEMMA, `${GOLDEN}/gemma3`]) {
      const { wrapper, towerNote, shards } = await opened(path);
      expect({ wrapper: wrapper!.architecture, towerNote, shards }).toEqual({
        wrapper: 'Gemma3ForConditionalGeneration',
        towerNote: null,
        shards: ['gemma3-F16.gguf'],
      });
    }
  });

  it('of Gemma 3n is opened with its towers', async () => {
    const { wrapper, beside, towerNote } = await opened(GEMMA_3N);
    expect([wrapper!.architecture, towerNote]).toEqual(['Gemma3nForConditionalGeneration', null]);
    const { readers } = mediaFamily(wrapper!.architecture)!.read({ ...beside!, hidden: 64 });
    expect(Object.keys(readers)).toEqual(['image', 'audio']);
  });

  it.each([GEMMA, GEMMA_3N, QWEN, PAGES])(
    'without its tower takes text only, with a note: %s',
    async (file) => {
      const { wrapper, beside, towerNote } = await opened(folderOf(file));
      expect([wrapper, beside]).toEqual([null, null]);
      expect(towerNote).toMatch(
        /takes text only: put the file of its tower, mmproj-….gguf, into the same folder$/,
      );
    },
  );

  it('of Gemma 3n takes text only if it was converted without tokens of media', async () => {
    const folder = folderOf(`${GOLDEN}/gemma3n/mmproj-gemma3n-F16.gguf`);
    const bytes = readFileSync(GEMMA_3N, 'latin1').replaceAll('<image_soft_token>', '<unused_soft_text>');
    writeFileSync(join(folder, 'gemma3n-F16.gguf'), bytes, 'latin1');
    const { wrapper, towerNote } = await opened(folder);
    expect(wrapper).toBe(null);
    expect(towerNote).toMatch(
      /^mmproj-gemma3n-F16\.gguf needs tokens of media, and the vocabulary of gemma3n-F16\.gguf has no <image_soft_token>: .*: gemma3n-F16\.gguf is opened for text only$/,
    );
  });

  it('opens without a tower and without a note if its architecture is also that of models without one', async () => {
    expect((await opened(folderOf(MISTRAL))).towerNote).toBe(null);
  });

  it('takes text only beside a tower that is not built, and with one that is named is refused', async () => {
    const folder = folderOf(GEMMA);
    const tower = withProjector(folder, 'gemma9');
    const known =
      /mmproj-other\.gguf: clip\.projector_type gemma9 is not built; towers of qwen2vl_merger, .*voxtral are/;
    const { wrapper, towerNote } = await opened(folder);
    expect(wrapper).toBe(null);
    expect(towerNote).toMatch(known);
    expect(towerNote).toMatch(/: gemma3-F16\.gguf is opened for text only$/);
    const options = { model: GEMMA, memoryBudget: 2 ** 30, mmproj: tower };
    await expect(openInline(TEXT, nodePlatform, options)).rejects.toThrow(known);
  });

  it('refuses the tower of another model by name', async () => {
    await expect(opened(folderOf(GEMMA, `${GOLDEN}/qwen3-vl/mmproj-qwen3-vl-F16.gguf`))).rejects.toThrow(
      /mmproj-qwen3-vl-F16\.gguf is the tower of another model than gemma3-F16\.gguf: towers of qwen3vl_merger stand before qwen3vl/,
    );
    const wider = folderOf(`${GOLDEN}/voxtral/voxtral-F16.gguf`, PIXTRAL_TOWER);
    await expect(opened(wider)).rejects.toThrow(
      /mmproj-pixtral-F16\.gguf is the tower of another model than voxtral-F16\.gguf: its rows have 40 columns, and those of the model 48; put the mmproj file of this model in its place/,
    );
  });
});

describe('a GGUF tower that the user names', () => {
  it('stands in place of that beside the model', async () => {
    const folder = folderOf(GEMMA);
    withProjector(folder, 'gemma9');
    const model = await openInline(TEXT, nodePlatform, {
      model: folder,
      memoryBudget: 2 ** 30,
      mmproj: GEMMA_TOWER,
    });
    expect(model.info.media).toEqual(['image']);
    await model.close();
  });

  it.each([
    [
      { model: GEMMA, mmproj: `${GOLDEN}/gemma3` },
      /`mmproj` .*gemma3 names no GGUF file: give the path of one/,
    ],
    [
      { model: GEMMA, mmproj: GEMMA },
      /gemma3-F16\.gguf holds no tower \(clip\.projector_type is missing\): give an mmproj file/,
    ],
    [{ model: `${GOLDEN}/../qwen3`, mmproj: GEMMA_TOWER }, /is not a GGUF model, .*: leave out `mmproj`/],
  ])('is refused: %j', async (options, message) => {
    await expect(openInline(TEXT, nodePlatform, { memoryBudget: 2 ** 30, ...options })).rejects.toThrow(
      message,
    );
  });
});

it('matrices whose names the first converters of towers exchanged are told by their shapes', () => {
  const names = { layer: 'l.#.', modules: { ffn_up: 'up.', ffn_down: 'down.' }, outer: {} };
  const shapes: Record<string, number[]> = {
    'v.blk.0.ln1.weight': [8],
    'v.blk.0.ffn_up.weight': [8, 24],
    'v.blk.0.ffn_down.weight': [24, 8],
  };
  const tensors = new Map(
    Object.entries(shapes).map(([name, shape]) => [name, { name, shape } as unknown as GgufTensor]),
  );
  const named = (name: string) => towerName({ name, shape: [] }, tensors, names);
  expect(['v.blk.1.ffn_up.weight', 'v.blk.1.ffn_down.bias'].map(named)).toEqual([
    'l.1.down.weight',
    'l.1.up.bias',
  ]);
});

it('every kind of GGUF tower makes a class that reads media', () => {
  for (const { classNames } of GGUF_TOWERS)
    for (const name of classNames) expect(mediaFamily(name), name).not.toBe(null);
});
