// Files of DeepSeek-OCR's tower with the sizes of the published model: what is not in them is as published.

import { describe, expect, it } from 'vitest';
import type { GgufTensor } from '../../../src/files/gguf/gguf.ts';
import { GgufKeys } from '../../../src/files/gguf/keys.ts';
import type { TowerFile } from '../../../src/files/gguf/tower.ts';
import type { GgufValue } from '../../../src/files/gguf/values.ts';
import { readDeepseekOcr } from '../../../src/models/vision/ocr/deepseek-ocr-config.ts';
import { DEEPSEEK_OCR_GGUF } from '../../../src/models/vision/ocr/deepseek-ocr-gguf.ts';

const PUBLISHED = {
  projector_config: { input_dim: 2048, n_embed: 1280, projector_type: 'linear' },
  vision_config: {
    image_size: 1024,
    model_name: 'deeplip_b_l',
    width: {
      'clip-l-14-224': { heads: 16, image_size: 224, layers: 24, patch_size: 14, width: 1024 },
      sam_vit_b: {
        downsample_channels: [512, 1024],
        global_attn_indexes: [2, 5, 8, 11],
        heads: 12,
        layers: 12,
        width: 768,
      },
    },
  },
  candidate_resolutions: [[1024, 1024]],
  global_view_pos: 'head',
  tile_tag: '2D',
};
const STATED = readDeepseekOcr({ config: PUBLISHED, processors: {}, hidden: 1280 });

function shapes(places: number[]): Record<string, number[]> {
  const found: Record<string, number[]> = {
    'v.sam.pos_embd.weight': places,
    'v.sam.net_2.weight': [512, 256, 3, 3],
    'v.sam.net_3.weight': [1024, 512, 3, 3],
    'v.position_embd.weight': [257, 1024],
  };
  for (let i = 0; i < 24; i++) found[`v.blk.${i}.ln1.weight`] = [1024];
  for (let i = 0; i < 12; i++) {
    found[`v.sam.blk.${i}.pre_ln.weight`] = [768];
    found[`v.sam.blk.${i}.attn.pos_h.weight`] = [i % 3 === 2 ? 127 : 27, 64];
  }
  return found;
}

function fileOf(metadata: Record<string, GgufValue>, places = [1, 64, 64, 768]): TowerFile {
  const keys = new GgufKeys({ name: 'mmproj.gguf', metadata: new Map(Object.entries(metadata)) });
  const tensors = Object.entries(shapes(places)).map(
    ([name, shape]) => [name, { name, shape } as unknown as GgufTensor] as const,
  );
  const language = { metadata: 'deepseek2-ocr', keys, config: { hidden_size: 1280 } };
  return { keys, tensors: new Map(tensors), language };
}

function configOf(file: TowerFile) {
  const { config, processors } = DEEPSEEK_OCR_GGUF.read(file);
  return readDeepseekOcr({ config, processors, hidden: 1280 });
}

const KEYS = {
  'clip.vision.image_size': 224,
  'clip.vision.patch_size': 14,
  'clip.vision.feed_forward_length': 64,
  'clip.vision.attention.head_count': 16,
  'clip.vision.attention.layer_norm_epsilon': 1e-6,
  'clip.vision.image_mean': Float32Array.of(0.5, 0.5, 0.5),
  'clip.vision.image_std': Float32Array.of(0.5, 0.5, 0.5),
  'clip.vision.window_size': 14,
  'clip.vision.preproc_min_tiles': 2,
  'clip.vision.preproc_max_tiles': 9,
};

describe('a GGUF tower of DeepSeek-OCR', () => {
  it.each([
    ['all keys', fileOf(KEYS)],
    ['few keys', fileOf({})],
    ['positions without their first dimension', fileOf(KEYS, [64, 64, 768])],
  ])('with %s has the configuration of the published model', (_, file) => {
    expect(configOf(file)).toEqual(STATED);
  });

  it('may bound the tiles', () => {
    const file = fileOf({ ...KEYS, 'clip.vision.preproc_max_tiles': 32 });
    expect(configOf(file)).toEqual({ ...STATED, bounds: { min: 2, max: 32 } });
  });

  it('with other windows is refused', () => {
    expect(() => configOf(fileOf({ ...KEYS, 'clip.vision.window_size': 16 }))).toThrow(
      /mmproj\.gguf: clip\.vision\.window_size 16 is not built; choose a model that has 14/,
    );
  });

  it('has the tensors of the published model', () => {
    const file = fileOf(KEYS);
    const named = (name: string, shape: number[]) => DEEPSEEK_OCR_GGUF.parts({ name, shape }, file);
    expect(named('v.sam.pos_embd.weight', [64, 64, 768])).toEqual([
      { name: 'sam_model.pos_embed', shape: [1, 64, 64, 768] },
    ]);
    expect(named('v.view_seperator', [1, 1280])).toEqual([{ name: 'view_seperator', shape: [1280] }]);
    expect(named('v.sam.blk.2.attn.pos_w.weight', [127, 64])).toEqual([
      { name: 'sam_model.blocks.2.attn.rel_pos_w', shape: [127, 64] },
    ]);
    expect(named('v.blk.23.attn_q.bias', [1024])).toEqual([
      { name: 'vision_model.transformer.layers.23.self_attn.q_proj.bias', shape: [1024] },
    ]);
    expect(named('v.sam.blk.2.attn.gate.weight', [1])).toBe(null);
  });
});
