// Adapters of a folder that requests name: each file is open once, a bounded number of them, and none after the model is closed.

import { expect, it } from 'vitest';
import { ImageLoras } from '../../../src/engine/image/lora/image-loras.ts';
import { imageFamilies } from '../../../src/engine/image/families/registry.ts';
import type { LoraTarget } from '../../../src/engine/image/lora/open-lora.ts';
import { promptNotes } from '../../../src/engine/image/request/request-notes.ts';
import { entriesOfChange } from '../../../src/engine/weights/change.ts';
import { safetensorsHead } from '../../../src/files/tensors/safetensors.ts';
import type { Folder } from '../../../src/files/source.ts';
import { memorySource } from '../../files/memory-source.ts';
import { tinySD1 } from './tiny-pipelines.ts';

const { tensors: TINY } = tinySD1();
const TARGET: LoraTarget = {
  family: imageFamilies().find(({ name }) => name === 'stable-diffusion')!,
  families: imageFamilies(),
  components: {
    has: (name) => TINY[name] !== undefined,
    filesOf: (name) => ({ tensors: TINY[name]! }) as never,
  },
};

const MODULE = 'mid_block.attentions.0.transformer_blocks.0.attn1.to_q';
const [ROWS = 0, COLUMNS = 0] = TINY['unet']!.get(`${MODULE}.weight`)!.shape;
const SPECS = [
  { name: `unet.${MODULE}.lora_A.weight`, dtype: 'F32', shape: [2, COLUMNS] },
  { name: `unet.${MODULE}.lora_B.weight`, dtype: 'F32', shape: [ROWS, 2] },
] as const;
const HEAD = safetensorsHead(SPECS.map((spec) => ({ ...spec, shape: [...spec.shape] })));
const BYTES = new Uint8Array(HEAD.length + 8 * (ROWS + COLUMNS));
BYTES.set(HEAD);

/** Adapters of a folder in which every name is a file. `opened` are the paths that were opened, `open` is the number of open files. */
async function adaptersOf(bytes = (_path: string) => BYTES) {
  const files = { opened: [] as string[], open: 0 };
  const folderOf = (path: string): Folder => ({
    path,
    names: async () => [path],
    async open(name) {
      files.opened.push(path);
      files.open++;
      return { ...memorySource(name, bytes(path)), close: async () => void files.open-- };
    },
  });
  const platform = {
    openFolder: async (path: string) => folderOf(path),
    folderWithin: async (name: string) =>
      name.endsWith('.safetensors') ? ({ path: name } as const) : ('missing' as const),
  };
  const found = { platform, find: async (path: string) => path, onNote: () => {} };
  const adapters = await ImageLoras.open(found, { loraDir: 'all' }, TARGET);
  const choose = (...lora: string[]) => adapters.choose({ prompt: 'x', seed: 1, lora });
  return { adapters, files, choose };
}

it('a LoRA file is opened once, whatever its name and whenever it is asked for', async () => {
  const { adapters, files, choose } = await adaptersOf();
  const chosen = await Promise.all([choose('a'), choose('a.safetensors'), choose('a'), choose('b')]);
  const [first, ...others] = chosen.map(({ applied }) => applied[0]!.lora);
  expect(others.slice(0, 2)).toEqual([first, first]);
  expect(files.opened.sort()).toEqual(['a.safetensors', 'b.safetensors']);
  expect((await choose('a', 'a.safetensors')).applied.map(({ lora }) => lora)).toEqual([first, first]);
  expect(files.open).toBe(2);
  await adapters.close();
  expect(files.open).toBe(0);
});

it('LoRAs that were not used for long are closed, and read again by requests that draw with them', async () => {
  const { adapters, files, choose } = await adaptersOf();
  const { applied } = await choose('first');
  for (let i = 0; i < 80; i++) await choose(`style-${i}`);
  expect(files.open).toBe(64);
  const [factor] = [...applied[0]!.lora.changes.get('unet')!.values()].flat().flatMap(entriesOfChange);
  expect(await factor!.source.read(factor!.offset, factor!.bytes)).toHaveLength(factor!.bytes);
  expect(files.open).toBe(64);
  await adapters.close();
  expect(files.open).toBe(0);
});

it('a damaged LoRA file is read anew by the next request', async () => {
  let isDamaged = true;
  const { adapters, files, choose } = await adaptersOf(() => (isDamaged ? BYTES.subarray(0, 20) : BYTES));
  await expect(choose('a')).rejects.toMatchObject({ code: 'bad_request', param: 'lora' });
  expect(files.open).toBe(0);
  isDamaged = false;
  expect((await choose('a')).applied).toHaveLength(1);
  await adapters.close();
});

it('a model that is closed opens no LoRAs, and closes those that are being opened', async () => {
  const { adapters, files, choose } = await adaptersOf();
  const choosing = choose('a');
  await adapters.close();
  await choosing.catch(() => {});
  expect(files.open).toBe(0);
  await expect(choose('b')).rejects.toMatchObject({ code: 'cancelled' });
  expect(files.open).toBe(0);
});

it.each([
  ['no end', '<lora:'.repeat(1e5)],
  ['a name without an end', `<lora:${'a'.repeat(1e6)}`],
  ['a scale behind spaces', `<lora:a:${' '.repeat(1e6)}x>`],
  ['a scale of many digits', `<lora:a:${'1'.repeat(1e6)}x>`],
  ['weights', 'a:'.repeat(1e5)],
  ['colons', `(${':'.repeat(1e5)}`],
  ['brackets', `[a:b:${'1'.repeat(1e6)}`],
  ['spaces', `a${' '.repeat(1e6)}AND`],
])('a prompt with tags of LoRAs is searched in linear time, or this takes hours: %s', async (_, prompt) => {
  const { adapters } = await adaptersOf();
  await adapters.choose({ prompt, seed: 1 });
  promptNotes(prompt, false);
  promptNotes(prompt, true);
  await adapters.close();
});
