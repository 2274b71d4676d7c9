// The names that LoRAs give to modules: every matrix of the tiny checkpoints is found by the names of diffusers and of kohya's programs,
// and those of original programs are found where families have them.

import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { imageFamilies } from '../../../../src/engine/image/families/registry.ts';
import type { ImageLora } from '../../../../src/files/lora/image-lora.ts';
import { readKey } from '../../../../src/files/lora/keys.ts';
import { matchLora, type MatchedTarget } from '../../../../src/files/lora/match.ts';
import { readModules } from '../../../../src/files/lora/modules.ts';
import type { TensorEntry } from '../../../../src/files/tensors/safetensors.ts';
import { tinyPipeline } from '../pipeline-golden.ts';
import { readTensors } from '../tiny-tensors.ts';

/** A tiny checkpoint with all components of a family, or most of them. */
const CHECKPOINTS: Readonly<Record<string, string>> = {
  'stable-diffusion': 'sd1',
  'stable-diffusion-xl': 'sdxl',
  'z-image': 'z-image',
  flux: 'flux',
  chroma: 'chroma',
  flux2: 'flux2',
  'flux2-klein': 'flux2-klein',
  'qwen-image': 'qwen-image',
  'stable-diffusion-3': 'sd3-dual',
  sana: 'sana',
  pixart: 'pixart',
  lumina2: 'lumina2',
  wan: 'wan',
  'ltx-video': 'ltx',
};

async function partsOf(family: string, checkpoint = CHECKPOINTS[family]!): Promise<MatchedTarget[]> {
  const scheme = imageFamilies().find(({ name }) => name === family)!.lora!;
  const folder = tinyPipeline(checkpoint);
  const parts: MatchedTarget[] = [];
  for (const part of scheme.parts) {
    const own = `${folder}/${part.component}`;
    const file = existsSync(own) && readdirSync(own).find((name) => name.endsWith('.safetensors'));
    if (file) parts.push({ ...part, tensors: await readTensors(`${own}/${file}`) });
  }
  return parts;
}

type Module = readonly [name: string, shape: readonly number[]];

/** A file with LoRA's factors of rank 1 for these modules. */
function fileOf(modules: readonly Module[], ends: readonly [down: string, up: string]): ImageLora {
  const tensors = new Map<string, TensorEntry>();
  const put = (name: string, shape: number[]): void =>
    void tensors.set(name, { name, shape, dtype: 'F32' } as unknown as TensorEntry);
  for (const [name, [rows = 1, ...behind]] of modules) {
    put(`${name}${ends[0]}`, [1, ...behind]);
    put(`${name}${ends[1]}`, [rows, 1, ...behind.slice(1).map(() => 1)]);
  }
  const { modules: read, unknown } = readModules('file', tensors, new Map(), () => null);
  return { path: 'file', name: 'file', metadata: {}, modules: read, unknown, close: async () => {} };
}

const PEFT = ['.lora_A.weight', '.lora_B.weight'] as const;
const KOHYA = ['.lora_down.weight', '.lora_up.weight'] as const;

/** Matrices and convolutions, whose modules may have factors. */
const modulesIn = ({ tensors }: MatchedTarget): Module[] =>
  [...tensors].flatMap(([name, { shape }]) =>
    name.endsWith('.weight') && shape.length > 1 ? [[name.replace(/\.weight$/, ''), shape] as const] : [],
  );

const CASES = [...Object.entries(CHECKPOINTS), ['stable-diffusion-3', 'sd3'] as const];

describe.each(CASES)('%s, as %s', (family, checkpoint) => {
  it.each([
    ['diffusers', PEFT, ({ component }: MatchedTarget, name: string) => `${component}.${name}`],
    ['kohya', KOHYA, ({ flat }: MatchedTarget, name: string) => `${flat[0]}${name.replaceAll('.', '_')}`],
  ])('has all modules by the names of %s', async (_, ends, nameOf) => {
    const parts = await partsOf(family, checkpoint);
    expect(parts.length).toBeGreaterThan(0);
    for (const part of parts) {
      const modules = modulesIn(part);
      const file = fileOf(
        modules.map(([name, shape]) => [nameOf(part, name), shape]),
        ends,
      );
      const match = matchLora(file, parts);
      expect(match).toMatchObject({ unmatched: [], misfit: null });
      expect([...match.changes.keys()]).toEqual([part.component]);
      expect([...match.changes.get(part.component)!.keys()].sort()).toEqual(
        modules.map(([name]) => `${name}.weight`).sort(),
      );
    }
  });
});

describe('the original names of', () => {
  const found = async (family: string, name: string, shape: number[]): Promise<[string, number][]> => {
    const { changes, misfit } = matchLora(fileOf([[name, shape]], PEFT), await partsOf(family));
    expect(misfit).toBeNull();
    const tensors = [...changes.values()].flatMap((own) => [...own]);
    return tensors.map(([tensor, [change]]) => [tensor, change!.firstRow]);
  };

  it("FLUX.1's norms in LoRAs for control images, which replace those of the model", async () => {
    const [transformer] = await partsOf('flux');
    for (const [stored, name] of [
      ['double_blocks.0.img_attn.norm.query_norm.scale', 'transformer_blocks.0.attn.norm_q'],
      ['double_blocks.1.txt_attn.norm.key_norm.scale', 'transformer_blocks.1.attn.norm_added_k'],
      ['single_blocks.0.norm.key_norm.scale', 'single_transformer_blocks.0.attn.norm_k'],
      [
        'transformer.single_transformer_blocks.0.attn.norm_q.weight',
        'single_transformer_blocks.0.attn.norm_q',
      ],
    ] as const) {
      const shape = [...transformer!.tensors.get(`${name}.weight`)!.shape];
      const entry = { name: stored, shape, dtype: 'F32' } as unknown as TensorEntry;
      const { modules } = readModules('file', new Map([[stored, entry]]), new Map(), () => null);
      const file = { path: 'file', name: 'file', metadata: {}, modules, unknown: [], close: async () => {} };
      const { changes, misfit } = matchLora(file, [transformer!]);
      expect(misfit).toBeNull();
      expect([...changes.get('transformer')!.keys()]).toEqual([`${name}.weight`]);
      expect(changes.get('transformer')!.get(`${name}.weight`)![0]!.delta.replaces).toBe(true);
    }
  });

  it('Wan', async () => {
    const [transformer] = await partsOf('wan');
    for (const [original, name] of [
      ['diffusion_model.blocks.0.self_attn.q', 'blocks.0.attn1.to_q'],
      ['diffusion_model.blocks.1.cross_attn.o', 'blocks.1.attn2.to_out.0'],
      ['lora_unet_blocks_1_ffn_0', 'blocks.1.ffn.net.0.proj'],
      ['lora_unet_blocks_0_cross_attn_k', 'blocks.0.attn2.to_k'],
      ['diffusion_model.time_projection.1', 'condition_embedder.time_proj'],
      ['lora_unet_text_embedding_2', 'condition_embedder.text_embedder.linear_2'],
      ['diffusion_model.head.head', 'proj_out'],
    ] as const) {
      const shape = [...transformer!.tensors.get(`${name}.weight`)!.shape];
      expect(await found('wan', original, shape)).toEqual([[`${name}.weight`, 0]]);
    }
  });

  it('LTX-Video', async () => {
    const [transformer] = await partsOf('ltx-video');
    for (const [original, name] of [
      ['diffusion_model.patchify_proj', 'proj_in'],
      ['diffusion_model.transformer_blocks.1.attn1.to_out.0', 'transformer_blocks.1.attn1.to_out.0'],
      ['lora_unet_adaln_single_emb_timestep_embedder_linear_2', 'time_embed.emb.timestep_embedder.linear_2'],
      ['lora_unet_transformer_blocks_0_attn2_to_k', 'transformer_blocks.0.attn2.to_k'],
    ] as const) {
      const shape = [...transformer!.tensors.get(`${name}.weight`)!.shape];
      expect(await found('ltx-video', original, shape)).toEqual([[`${name}.weight`, 0]]);
    }
  });

  it('FLUX.2', async () => {
    const prefix = 'diffusion_model.';
    const [transformer] = await partsOf('flux2-klein');
    const shape = (name: string) => [...transformer!.tensors.get(`${name}.weight`)!.shape];
    const [hidden = 0, k = 0] = shape('transformer_blocks.0.attn.to_q');
    expect(await found('flux2-klein', `${prefix}double_blocks.0.txt_attn.qkv`, [3 * hidden, k])).toEqual(
      ['add_q_proj', 'add_k_proj', 'add_v_proj'].map((part, i) => [
        `transformer_blocks.0.attn.${part}.weight`,
        i * hidden,
      ]),
    );
    for (const [original, name] of [
      ['double_blocks.0.img_attn.proj', 'transformer_blocks.0.attn.to_out.0'],
      ['double_blocks.0.img_mlp.0', 'transformer_blocks.0.ff.linear_in'],
      ['double_blocks.0.txt_mlp.2', 'transformer_blocks.0.ff_context.linear_out'],
      ['single_blocks.0.linear1', 'single_transformer_blocks.0.attn.to_qkv_mlp_proj'],
      ['single_blocks.0.linear2', 'single_transformer_blocks.0.attn.to_out'],
      ['double_stream_modulation_img.lin', 'double_stream_modulation_img.linear'],
      ['img_in', 'x_embedder'],
      ['time_in.out_layer', 'time_guidance_embed.timestep_embedder.linear_2'],
    ] as const)
      expect(await found('flux2-klein', prefix + original, shape(name))).toEqual([[`${name}.weight`, 0]]);
  });

  it('Stable Diffusion 3', async () => {
    const family = 'stable-diffusion-3';
    const [transformer] = await partsOf(family);
    const shape = (name: string) => [...transformer!.tensors.get(`${name}.weight`)!.shape];
    const block = 'transformer_blocks.0';
    const [hidden = 0, k = 0] = shape(`${block}.attn.to_q`);
    for (const [original, parts] of [
      ['x_block.attn', ['attn.to_q', 'attn.to_k', 'attn.to_v']],
      ['x_block.attn2', ['attn2.to_q', 'attn2.to_k', 'attn2.to_v']],
      ['context_block.attn', ['attn.add_q_proj', 'attn.add_k_proj', 'attn.add_v_proj']],
    ] as const)
      expect(await found(family, `diffusion_model.joint_blocks.0.${original}.qkv`, [3 * hidden, k])).toEqual(
        parts.map((part, i) => [`${block}.${part}.weight`, i * hidden]),
      );
    for (const [original, name] of [
      ['x_block.attn.proj', 'attn.to_out.0'],
      ['x_block.mlp.fc1', 'ff.net.0.proj'],
      ['context_block.mlp.fc2', 'ff_context.net.2'],
      ['context_block.adaLN_modulation.1', 'norm1_context.linear'],
    ] as const) {
      const flat = `joint_blocks.0.${original}`.replaceAll('.', '_');
      expect(await found(family, `lora_unet_${flat}`, shape(`${block}.${name}`))).toEqual([
        [`${block}.${name}.weight`, 0],
      ]);
    }
  });

  it('Lumina 2', async () => {
    const family = 'lumina2';
    const [transformer] = await partsOf(family);
    const shape = (name: string) => [...transformer!.tensors.get(`${name}.weight`)!.shape];
    const [hidden = 0, k = 0] = shape('layers.0.attn.to_q');
    const [shared = 0] = shape('layers.0.attn.to_k');
    for (const [original, name] of [
      ['layers.1.attention.out', 'layers.1.attn.to_out.0'],
      ['layers.0.adaLN_modulation.1', 'layers.0.norm1.linear'],
      ['noise_refiner.0.feed_forward.w2', 'noise_refiner.0.feed_forward.linear_2'],
      ['final_layer.adaLN_modulation.1', 'norm_out.linear_1'],
      ['cap_embedder.1', 'time_caption_embed.caption_embedder.1'],
      ['t_embedder.mlp.0', 'time_caption_embed.timestep_embedder.linear_1'],
      ['x_embedder', 'x_embedder'],
    ] as const)
      for (const spelled of [`diffusion_model.${original}`, `lora_unet_${original.replaceAll('.', '_')}`])
        expect(await found(family, spelled, shape(name))).toEqual([[`${name}.weight`, 0]]);
    for (const spelled of ['diffusion_model.context_refiner.0.', 'lora_unet_context_refiner_0_'])
      expect(
        await found(family, `${spelled}attention${spelled.at(-1)}qkv`, [hidden + 2 * shared, k]),
      ).toEqual(
        [0, hidden, hidden + shared].map((first, i) => [
          `context_refiner.0.attn.to_${'qkv'[i]}.weight`,
          first,
        ]),
      );
  });

  it("FLUX.1 in Xlabs' files, whose single blocks have no feed-forward part", async () => {
    const [transformer] = await partsOf('flux');
    const [hidden = 0] = transformer!.tensors.get('transformer_blocks.0.attn.to_q.weight')!.shape;
    const qkv = (block: string, parts: readonly string[]) =>
      parts.map((part, i) => [`${block}.attn.${part}.weight`, i * hidden]);
    const module = (name: string): string => readKey(`${name}.down.weight`)!.module;
    const wide = [3 * hidden, hidden];
    expect(await found('flux', module('double_blocks.0.processor.qkv_lora1'), wide)).toEqual(
      qkv('transformer_blocks.0', ['to_q', 'to_k', 'to_v']),
    );
    expect(await found('flux', module('double_blocks.0.processor.proj_lora2'), [hidden, hidden])).toEqual([
      ['transformer_blocks.0.attn.to_add_out.weight', 0],
    ]);
    expect(await found('flux', module('single_blocks.0.processor.qkv_lora'), wide)).toEqual(
      qkv('single_transformer_blocks.0', ['to_q', 'to_k', 'to_v']),
    );
    expect(await found('flux', module('single_blocks.0.processor.proj_lora'), [hidden, 5 * hidden])).toEqual([
      ['single_transformer_blocks.0.proj_out.weight', 0],
    ]);
  });
});
