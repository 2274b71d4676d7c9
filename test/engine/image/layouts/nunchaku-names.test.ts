// Headers of SVDQuant's files in the names of each family: the pages of Z-Image and Qwen-Image find every tensor that they ask for, and leave none.

import { describe, expect, it } from 'vitest';
import { QWEN_IMAGE_FILES } from '../../../../src/engine/image/families/qwen-image/qwen-image-layout.ts';
import { Z_IMAGE_FILES } from '../../../../src/engine/image/families/z-image/z-image-layout.ts';
import { checkRequests } from '../../../../src/engine/weights/check.ts';
import { unreadNote } from '../../../../src/engine/weights/unread.ts';
import { collect } from '../../../../src/engine/weights/collect.ts';
import { readNunchaku } from '../../../../src/files/coded/nunchaku.ts';
import type { PartLayout } from '../../../../src/files/pipeline/file-layout.ts';
import { findPart } from '../../../../src/files/pipeline/file-parts.ts';
import { renameTensors } from '../../../../src/files/pipeline/renamed-tensors.ts';
import type { TensorEntry } from '../../../../src/files/tensors/safetensors.ts';
import { qwenImage } from '../../../../src/models/image/qwen-image.ts';
import { readQwenImageConfig } from '../../../../src/models/image/qwen-image-config.ts';
import { zImage } from '../../../../src/models/image/z-image.ts';
import { readZImageConfig } from '../../../../src/models/image/z-image-config.ts';
import { tensorsOf, type WeightTable } from '../../../../src/models/weights.ts';
import { memorySource } from '../../../files/memory-source.ts';

const source = memorySource('headers', new Uint8Array(0));
const RANK = 32;

const header = (name: string, dtype: TensorEntry['dtype'], shape: number[]): TensorEntry => ({
  ...{ name, dtype, shape, source, offset: 0 },
  bytes: shape.reduce((product, size) => product * size, dtype === 'I8' ? 1 : 2),
});

/** The tensors of a module with a low-rank part. */
const lowRank = (module: string, rows: number, k: number, bias: boolean): TensorEntry[] => [
  header(`${module}.qweight`, 'I8', [rows, k / 2]),
  header(`${module}.wscales`, 'BF16', [k / 64, rows]),
  header(`${module}.smooth_factor`, 'BF16', [k]),
  header(`${module}.smooth_factor_orig`, 'BF16', [k]),
  header(`${module}.proj_down`, 'BF16', [k, RANK]),
  header(`${module}.proj_up`, 'BF16', [rows, RANK]),
  ...(bias ? [header(`${module}.bias`, 'BF16', [rows])] : []),
];

const modulation = (module: string, rows: number, k: number): TensorEntry[] => [
  header(`${module}.qweight`, 'I32', [rows / 4, k / 2]),
  header(`${module}.wscales`, 'BF16', [k / 64, rows]),
  header(`${module}.wzeros`, 'BF16', [k / 64, rows]),
  header(`${module}.bias`, 'BF16', [rows]),
];

/** A file with these modules in place of the tensors of a page that `replaced` names. */
function fileOf(
  page: (table: WeightTable) => unknown,
  replaced: RegExp,
  modules: TensorEntry[],
): Map<string, TensorEntry> {
  const plain = collect(new Map(), page)
    .requests.flatMap(tensorsOf)
    .filter(({ name }) => !replaced.test(name))
    .map(({ name, shape }) => header(name, 'BF16', [...shape]));
  return readNunchaku(new Map([...plain, ...modules].map((entry) => [entry.name, entry])));
}

function expectRead(
  tensors: Map<string, TensorEntry>,
  layouts: readonly PartLayout[],
  page: (table: WeightTable) => unknown,
): void {
  const found = findPart(tensors, layouts)!;
  const renamed = renameTensors(tensors, found.layout.names(tensors));
  const collected = collect(renamed, page);
  expect(unreadNote(checkRequests(collected, renamed), found.className)).toBe(null);
  expect(collected.requests.some(({ names }) => names[0]!.endsWith('.weight.down'))).toBe(true);
}

describe('names of SVDQuant', () => {
  it("are read in Z-Image's files, whose refiners may stay plain", () => {
    const hidden = 384;
    const config = readZImageConfig({
      ...{ dim: hidden, in_channels: 16, n_heads: 3, n_kv_heads: 3, n_layers: 1, n_refiner_layers: 1 },
      ...{ cap_feat_dim: 64, axes_dims: [32, 48, 48], axes_lens: [1536, 512, 512] },
    });
    const page = (table: WeightTable) => zImage(config, table);
    const ffn = collect(new Map(), page)
      .requests.flatMap(tensorsOf)
      .find(({ name }) => name.endsWith('0.feed_forward.w1.weight'))!.shape[0]!;
    const of = (block: string): TensorEntry[] => [
      ...lowRank(`${block}.attention.to_qkv`, 3 * hidden, hidden, false),
      ...lowRank(`${block}.attention.to_out.0`, hidden, hidden, false),
      ...lowRank(`${block}.feed_forward.net.0.proj`, 2 * ffn, hidden, false),
      ...lowRank(`${block}.feed_forward.net.2`, hidden, ffn, false),
    ];
    const layers = /^layers\.0\.(attention\.to|feed_forward)/;
    expectRead(fileOf(page, layers, of('layers.0')), Z_IMAGE_FILES.parts['transformer']!, page);
  });

  it("are read in Qwen-Image's files, modulation included", () => {
    const hidden = 256;
    const config = readQwenImageConfig({
      ...{ num_layers: 1, attention_head_dim: 128, num_attention_heads: 2, joint_attention_dim: 128 },
      axes_dims_rope: [16, 56, 56],
    });
    const page = (table: WeightTable) => qwenImage(config, table);
    const block = 'transformer_blocks.0';
    const modules = [
      ...['attn.to_qkv', 'attn.add_qkv_proj'].flatMap((name) =>
        lowRank(`${block}.${name}`, 3 * hidden, hidden, true),
      ),
      ...['attn.to_out.0', 'attn.to_add_out'].flatMap((name) =>
        lowRank(`${block}.${name}`, hidden, hidden, true),
      ),
      ...['img_mlp', 'txt_mlp'].flatMap((name) => [
        ...lowRank(`${block}.${name}.net.0.proj`, 4 * hidden, hidden, true),
        ...lowRank(`${block}.${name}.net.2`, hidden, 4 * hidden, true),
      ]),
      ...['img_mod.1', 'txt_mod.1'].flatMap((name) => modulation(`${block}.${name}`, 6 * hidden, hidden)),
    ];
    const replaced = /^transformer_blocks\.0\.(attn\.(to|add)_|(img|txt)_(mlp|mod))/;
    expectRead(fileOf(page, replaced, modules), QWEN_IMAGE_FILES.parts['transformer']!, page);
  });
});
