// Adapters of each family, as for its published models, that are given to a model of another family: the refusal names the family that they fit.

import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLora, type LoraTarget } from '../../../src/engine/image/lora/open-lora.ts';
import { imageFamilies } from '../../../src/engine/image/families/registry.ts';
import { safetensorsHead, type TensorSpec } from '../../../src/files/tensors/safetensors.ts';
import { memorySource } from '../../files/memory-source.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { readTensors } from './tiny-tensors.ts';

type Module = readonly [name: string, rows: number, columns: number];

/** Modules of blocks 0 to `last`; `#` stands for the number. */
const blocks = (last: number, ...modules: readonly Module[]): Module[] =>
  Array.from({ length: last + 1 }, (_, i) =>
    modules.map(([name, ...size]): Module => [name.replace('#', String(i)), ...size]),
  ).flat();

const flat = (modules: readonly Module[], prefix = 'lora_unet_'): Module[] =>
  modules.map(([name, ...size]) => [prefix + name.replaceAll('.', '_'), ...size]);

const under = (prefix: string, modules: readonly Module[]): Module[] =>
  modules.map(([name, ...size]) => [`${prefix}.${name}`, ...size]);

const square = (name: string, width: number): Module => [name, width, width];

const UNET = 'down_blocks.1.attentions.0.transformer_blocks';
const DOUBLE = [
  square('transformer_blocks.#.attn.to_q', 3072),
  square('transformer_blocks.#.attn.add_k_proj', 3072),
];
const FLUX_DOUBLE = blocks(18, ...DOUBLE);
const FLUX_ORIGINAL: Module[] = blocks(18, ['double_blocks.#.img_attn.qkv', 9216, 3072]);

/** What an adapter fits, and its modules. */
const ADAPTERS: readonly (readonly [fits: string, families: RegExp, modules: readonly Module[]])[] = [
  [
    'Stable Diffusion 1',
    /^stable-diffusion$/,
    under('unet', [square(`${UNET}.0.attn1.to_q`, 640), [`${UNET}.0.attn2.to_k`, 640, 768]]),
  ],
  [
    'Stable Diffusion 1',
    /^stable-diffusion$/,
    flat([['text_model.encoder.layers.0.mlp.fc1', 3072, 768]], 'lora_te_'),
  ],
  [
    'Stable Diffusion 1 or 2',
    /^stable-diffusion$/,
    flat([square('down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_q', 320)]),
  ],
  [
    'Stable Diffusion 2',
    /^stable-diffusion$/,
    flat([['input_blocks.4.1.transformer_blocks.0.attn2.to_k', 640, 1024]]),
  ],
  [
    'Stable Diffusion XL',
    /^stable-diffusion-xl$/,
    flat([['input_blocks.4.1.transformer_blocks.1.attn2.to_v', 640, 2048]]),
  ],
  [
    'Stable Diffusion XL',
    /^stable-diffusion-xl$/,
    under('unet', [square('mid_block.attentions.0.transformer_blocks.9.attn1.to_q', 1280)]),
  ],
  [
    "Stable Diffusion XL's refiner",
    /^stable-diffusion-xl$/,
    under('unet', [[`${UNET}.0.attn2.to_k`, 768, 1280]]),
  ],
  [
    'Stable Diffusion 1, 2 or XL',
    /^stable-diffusion/,
    flat([['down_blocks.1.resnets.0.time_emb_proj', 640, 1280]]),
  ],
  [
    'Stable Diffusion 3',
    /-3$/,
    under('transformer', blocks(23, square('transformer_blocks.#.attn.to_k', 1536))),
  ],
  [
    'Stable Diffusion 3',
    /-3$/,
    under('transformer', blocks(23, ['transformer_blocks.#.ff.net.0.proj', 6144, 1536])),
  ],
  ['Stable Diffusion 3', /-3$/, flat(blocks(23, ['joint_blocks.#.x_block.attn.qkv', 4608, 1536]))],
  [
    'Stable Diffusion 3.5 medium',
    /-3$/,
    under('transformer', blocks(12, square('transformer_blocks.#.attn2.to_q', 1536))),
  ],
  [
    'Stable Diffusion 3.5 large',
    /-3$/,
    under('transformer', blocks(37, square('transformer_blocks.#.attn.to_q', 2432))),
  ],
  [
    'Stable Diffusion 3.5 large',
    /-3$/,
    under('diffusion_model', blocks(37, ['joint_blocks.#.context_block.mlp.fc1', 9728, 2432])),
  ],
  ['FLUX.1 or Chroma', /^(?:flux|flux-kontext|chroma)$/, under('transformer', FLUX_DOUBLE)],
  ['FLUX.1 or Chroma', /^(?:flux|flux-kontext|chroma)$/, flat(FLUX_ORIGINAL)],
  ['FLUX.1 or Chroma', /^(?:flux|flux-kontext|chroma)$/, under('diffusion_model', FLUX_ORIGINAL)],
  [
    'FLUX.1 or Chroma',
    /^(?:flux|flux-kontext|chroma)$/,
    under('transformer', blocks(37, square('single_transformer_blocks.#.attn.to_v', 3072))),
  ],
  [
    'FLUX.1 or Chroma',
    /^(?:flux|flux-kontext|chroma)$/,
    flat(blocks(37, ['single_blocks.#.linear2', 3072, 15360])),
  ],
  [
    'FLUX.1',
    /^(?:flux|flux-kontext|chroma)$/,
    flat([...FLUX_ORIGINAL, ['double_blocks.0.img_mod.lin', 18432, 3072]]),
  ],
  [
    'FLUX.1',
    /^(?:flux|flux-kontext|chroma)$/,
    under('transformer', [...FLUX_DOUBLE, ['single_transformer_blocks.0.norm.linear', 9216, 3072]]),
  ],
  [
    'Chroma',
    /^(?:flux|flux-kontext|chroma)$/,
    under('diffusion_model', [...FLUX_ORIGINAL, square('distilled_guidance_layer.layers.0.in_layer', 5120)]),
  ],
  [
    'FLUX.2 klein 4B',
    /^flux2/,
    under('diffusion_model', blocks(19, ['single_blocks.#.linear1', 27648, 3072])),
  ],
  [
    'FLUX.2',
    /^flux2/,
    under('transformer', blocks(19, ['single_transformer_blocks.#.attn.to_qkv_mlp_proj', 27648, 3072])),
  ],
  [
    'FLUX.2 klein 9B',
    /^flux2/,
    under('diffusion_model', blocks(7, ['double_blocks.#.img_attn.qkv', 12288, 4096])),
  ],
  ['FLUX.2 dev', /^flux2/, under('transformer', blocks(7, square('transformer_blocks.#.attn.to_q', 6144)))],
  ['Qwen-Image', /^qwen-image/, under('transformer', blocks(59, ...DOUBLE))],
  ['Qwen-Image', /^qwen-image/, flat(blocks(59, ...DOUBLE))],
  ['Qwen-Image', /^qwen-image/, blocks(59, ['transformer_blocks.#.img_mlp.net.2', 3072, 12288])],
  ['Z-Image', /^z-image/, under('diffusion_model', blocks(29, square('layers.#.attention.to_q', 3840)))],
  ['Z-Image', /^z-image/, flat(blocks(29, ['layers.#.feed_forward.w1', 10240, 3840]))],
  ['Lumina 2', /^lumina2/, under('diffusion_model', blocks(25, ['layers.#.attention.qkv', 3840, 2304]))],
  ['Lumina 2', /^lumina2/, under('transformer', blocks(25, square('layers.#.attn.to_q', 2304)))],
  ['Sana', /^sana/, under('transformer', blocks(19, square('transformer_blocks.#.attn1.to_q', 2240)))],
  ['Sana', /^sana/, under('transformer', blocks(27, ['transformer_blocks.#.ff.conv_inverted', 5760, 1152]))],
  ['PixArt', /^pixart/, flat(blocks(27, ['transformer_blocks.#.ff.net.2', 1152, 4608]))],
  [
    'PixArt or Sana 0.6B',
    /^(?:pixart|sana)/,
    under('transformer', blocks(27, square('transformer_blocks.#.attn1.to_q', 1152))),
  ],
  [
    'PixArt or Sana 0.6B',
    /^(?:pixart|sana)/,
    flat(blocks(27, square('transformer_blocks.#.attn2.to_v', 1152))),
  ],
  ['Wan', /^none$/, under('diffusion_model', blocks(29, square('blocks.#.self_attn.q', 1536)))],
  ['HunyuanVideo', /^none$/, flat(blocks(19, ['double_blocks.#.img_attn.qkv', 9216, 3072]))],
  ['LTX-Video', /^none$/, under('transformer', blocks(27, square('transformer_blocks.#.attn1.to_q', 2048)))],
  ['HunyuanVideo 1.5', /^none$/, flat(blocks(53, square('transformer_blocks.#.attn.to_q', 2048)))],
];

/** Tiny checkpoints of the families. */
const CHECKPOINTS: Readonly<Record<string, string>> = {
  'stable-diffusion': 'sd1',
  'stable-diffusion-xl': 'sdxl',
  'stable-diffusion-3': 'sd3-dual',
  'z-image': 'z-image',
  flux: 'flux',
  'flux-kontext': 'flux',
  chroma: 'chroma',
  flux2: 'flux2',
  'flux2-klein': 'flux2-klein',
  'qwen-image': 'qwen-image',
  sana: 'sana',
  pixart: 'pixart',
  lumina2: 'lumina2',
};

async function targetOf(name: string): Promise<LoraTarget> {
  const family = imageFamilies().find((one) => one.name === name)!;
  const folder = tinyPipeline(CHECKPOINTS[name]!);
  const tensors = new Map<string, Awaited<ReturnType<typeof readTensors>>>();
  for (const { component } of family.lora!.parts) {
    const own = `${folder}/${component}`;
    const file = existsSync(own) && readdirSync(own).find((one) => one.endsWith('.safetensors'));
    if (file) tensors.set(component, await readTensors(`${own}/${file}`));
  }
  return targetWith(name, tensors);
}

function targetWith(name: string, tensors: ReadonlyMap<string, unknown>): LoraTarget {
  return {
    family: imageFamilies().find((one) => one.name === name)!,
    families: imageFamilies(),
    components: {
      has: (component) => tensors.has(component),
      filesOf: (component) =>
        ({ tensors: tensors.get(component) }) as ReturnType<LoraTarget['components']['filesOf']>,
    },
  };
}

/** A file with LoRA's factors of rank 1 in one byte for each value. */
function opening(modules: readonly Module[], target: LoraTarget): ReturnType<typeof openLora> {
  const specs = modules.flatMap(([name, rows, columns]): TensorSpec[] => [
    { name: `${name}.lora_down.weight`, dtype: 'F8_E4M3', shape: [1, columns] },
    { name: `${name}.lora_up.weight`, dtype: 'F8_E4M3', shape: [rows, 1] },
  ]);
  const head = safetensorsHead(specs);
  const size = specs.reduce((sum, { shape }) => sum + shape[0]! * shape[1]!, head.length);
  const bytes = new Uint8Array(size);
  bytes.set(head);
  const folder = {
    path: '/style.safetensors',
    names: async () => ['style.safetensors'],
    open: async () => memorySource('style.safetensors', bytes),
  };
  return openLora(folder, { given: 'style', name: 'style', targets: undefined }, target);
}

describe.each(Object.keys(CHECKPOINTS))('a model of the family %s', (name) => {
  it('refuses LoRAs of all others, and names what they fit', async () => {
    const target = await targetOf(name);
    for (const [fits, families, modules] of ADAPTERS) {
      const own = families.test(name);
      const error = await opening(modules, target).catch((found: unknown) => found);
      expect(error, fits).toMatchObject({ code: 'unsupported', param: 'loraPath' });
      // Published widths are not those of the tiny models.
      expect((error as Error).message, `${modules[0]![0]} ${own}`).toContain(
        `it fits ${fits}, and this is a model of the family ${name}`,
      );
    }
  });
});

/** Headers of a transformer with these modules in 16 bits. */
const headers = (modules: readonly Module[]) =>
  new Map([
    [
      'transformer',
      new Map(
        modules.map(([name, ...shape]) => [
          `${name}.weight`,
          { name: `${name}.weight`, dtype: 'BF16', shape },
        ]),
      ),
    ],
  ]);

describe('LoRA modules that two families name alike in the same sizes', () => {
  const KLEIN = headers([
    ...blocks(4, ...DOUBLE),
    ...blocks(19, ['single_transformer_blocks.#.attn.to_out', 3072, 12288]),
  ]);
  const QWEN = headers(blocks(59, ...DOUBLE, ['transformer_blocks.#.img_mlp.net.2', 3072, 12288]));
  const FLUX = headers([...FLUX_DOUBLE, ...blocks(18, ['transformer_blocks.#.ff.net.2', 3072, 12288])]);
  const NARROW = square('transformer_blocks.#.attn1.to_q', 1152);
  const SANA_MODULES = blocks(27, NARROW, ['transformer_blocks.#.ff.conv_inverted', 5760, 1152]);
  const PIXART_MODULES = blocks(27, NARROW, ['transformer_blocks.#.ff.net.0.proj', 4608, 1152]);
  const [SANA, PIXART] = [headers(SANA_MODULES), headers(PIXART_MODULES)];
  it.each([
    ['FLUX.1 or Chroma', 'flux2-klein', KLEIN, under('transformer', FLUX_DOUBLE)],
    [
      'FLUX.1 or Chroma',
      'qwen-image',
      QWEN,
      under('transformer', [...FLUX_DOUBLE, ['transformer_blocks.0.ff.net.2', 3072, 12288]]),
    ],
    ['Qwen-Image', 'flux', FLUX, under('transformer', blocks(59, ...DOUBLE))],
    ['PixArt', 'sana', SANA, under('transformer', PIXART_MODULES)],
    ['Sana', 'pixart', PIXART, under('transformer', SANA_MODULES)],
  ] as const)('are refused as those of %s in a model of %s', async (fits, name, tensors, modules) => {
    await expect(opening(modules, targetWith(name, tensors))).rejects.toThrow(
      `that this model does not have`,
    );
    await expect(opening(modules, targetWith(name, tensors))).rejects.toThrow(`it fits ${fits}, and this`);
  });

  it('are taken where the model has all of them, and by Chroma from FLUX.1', async () => {
    const fewer = await opening(under('transformer', blocks(3, ...DOUBLE)), targetWith('qwen-image', QWEN));
    expect(fewer.changes.get('transformer')!.size).toBe(8);
    const narrow = await opening(under('transformer', blocks(27, NARROW)), targetWith('sana', SANA));
    expect(narrow.changes.get('transformer')!.size).toBe(28);
    const modulated = [...FLUX_DOUBLE, ['transformer_blocks.0.norm1.linear', 18432, 3072] as const];
    const { unmatched } = await opening(under('transformer', modulated), targetWith('chroma', FLUX));
    expect(unmatched).toEqual(['transformer.transformer_blocks.0.norm1.linear']);
  });
});
