// Layers in formats that are not computed are refused by the names of the formats.

import { describe, expect, it } from 'vitest';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { write } from './drawn-files.ts';
import { originalZImage } from './original-names.ts';
import { tinyZImage } from './tiny-transformers.ts';
import type { StoredTensor } from './tiny-tensors.ts';

const open = (tensors: readonly StoredTensor[]) =>
  openPipeline(write('unread formats', tensors), openDiskFolder, knownPipelines());

describe('layers in formats of newer ComfyUI files', () => {
  const bytes = new TextEncoder().encode(JSON.stringify({ format: 'nvfp4' }));
  const [first, ...others] = originalZImage(tinyZImage('formats').tensors['transformer']!, '').filter(
    ({ shape }) => shape.length === 2,
  );
  const module = first!.name.replace(/\.weight$/, '');
  const codes: StoredTensor = {
    ...first!,
    dtype: 'U8',
    shape: [first!.bytes.length / 2, 1],
    bytes: first!.bytes.subarray(first!.bytes.length / 2),
  };
  const scale: StoredTensor = {
    ...first!,
    name: `${module}.weight_scale_2`,
    dtype: 'F32',
    shape: [],
    bytes: new Uint8Array(4),
  };
  const stated: StoredTensor = {
    ...scale,
    name: `${module}.comfy_quant`,
    dtype: 'U8',
    shape: [bytes.length],
    bytes,
  };

  it.each([
    ['a statement', [codes, stated]],
    ['a second scale', [codes, scale]],
  ])('are refused by the name in %s', async (_, tensors) => {
    await expect(open([...others, ...tensors])).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(
        /\.weight is U8 of \[\d+, 1\] in the format nvfp4, which is not read: choose the FP8/,
      ) as string,
    });
  });

  it('are refused by the type of scales for blocks', async () => {
    const eight: StoredTensor = {
      ...first!,
      dtype: 'F8_E4M3',
      bytes: first!.bytes.subarray(first!.bytes.length / 2),
    };
    const scales: StoredTensor = {
      ...first!,
      name: `${first!.name}_scale`,
      dtype: 'U8',
      shape: [8],
      bytes: new Uint8Array(8),
    };
    await expect(open([...others, eight, scales])).rejects.toThrow(
      /is F8_E4M3 with scales in U8 \(MXFP8 has such\), which is not read/,
    );
  });
});
