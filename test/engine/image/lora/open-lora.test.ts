// LoRAs' files opened for a pipeline: what they change, what is listed as unmatched, files for other models, and damaged files.

import { describe, expect, it } from 'vitest';
import { openLora, unmatchedNote, type LoraTarget } from '../../../../src/engine/image/lora/open-lora.ts';
import { fewStepsOf } from '../../../../src/engine/image/lora/few-step-loras.ts';
import { imageFamilies } from '../../../../src/engine/image/families/registry.ts';
import { EngineError } from '../../../../src/files/error.ts';
import { safetensorsHead, type TensorSpec } from '../../../../src/files/tensors/safetensors.ts';
import type { Folder } from '../../../../src/files/source.ts';
import { mutations } from '../../../files/gguf/mutations.ts';
import { memorySource } from '../../../files/memory-source.ts';
import { tinySD1 } from '../tiny-pipelines.ts';

const { tensors: TINY } = tinySD1();
type Files = ReturnType<LoraTarget['components']['filesOf']>;

/** Stable Diffusion 1 with the tensors of a tiny pipeline. */
const TARGET: LoraTarget = {
  family: imageFamilies().find(({ name }) => name === 'stable-diffusion')!,
  families: imageFamilies(),
  components: {
    has: (name) => TINY[name] !== undefined,
    filesOf: (name) => ({ tensors: TINY[name]! }) as unknown as Files,
  },
};

/** A module with LoRA's factors of rank 2, and its alpha. */
function lora(name: string, rows: number, columns: number): TensorSpec[] {
  return [
    { name: `${name}.alpha`, dtype: 'F32', shape: [] },
    { name: `${name}.lora_down.weight`, dtype: 'F32', shape: [2, columns] },
    { name: `${name}.lora_up.weight`, dtype: 'F32', shape: [rows, 2] },
  ];
}

/** Zeros are valid numbers of all factors. */
function bytesOf(specs: TensorSpec[]): { head: Uint8Array; bytes: Uint8Array } {
  const head = safetensorsHead(specs);
  const size = specs.reduce((sum, { shape }) => sum + 4 * shape.reduce((product, n) => product * n, 1), 0);
  const bytes = new Uint8Array(head.length + size);
  bytes.set(head);
  return { head, bytes };
}

function folderOf(bytes: Uint8Array, name = 'style.safetensors'): Folder {
  return { path: `/${name}`, names: async () => [name], open: async () => memorySource(name, bytes.slice()) };
}

const opened = (bytes: Uint8Array, targets?: string[]) =>
  openLora(folderOf(bytes), { given: 'style.safetensors', name: 'default', targets }, TARGET);

const MODULE = 'mid_block.attentions.0.transformer_blocks.0';
const tensor = (name: string) => TINY['unet']!.get(`${name}.weight`)!;

/** All attention projections of a block, so that a damaged name is that of another module, or of none. */
const PROJECTIONS = ['attn1', 'attn2'].flatMap((attention) =>
  ['to_q', 'to_k', 'to_v', 'to_out.0'].map((projection) => `${MODULE}.${attention}.${projection}`),
);

function attention(name: (module: string) => string): TensorSpec[] {
  return PROJECTIONS.flatMap((module) => {
    const [rows, columns] = tensor(module).shape as [number, number];
    return lora(name(module), rows, columns);
  });
}

const kohya = (module: string): string => `lora_unet_${module.replaceAll('.', '_')}`;

/** Changed tensors, with the factors that change them and where these are stored. */
function placesOf({ changes }: Awaited<ReturnType<typeof opened>>): string[] {
  return [...changes].flatMap(([component, tensors]) =>
    [...tensors].flatMap(([name, own]) =>
      own.flatMap(({ delta }) =>
        delta.factors.map((factor) =>
          JSON.stringify([component, name, delta.scale, factor], (key, value: unknown) =>
            key === 'source' || key === 'name' ? undefined : value,
          ),
        ),
      ),
    ),
  );
}

describe('a LoRA that is opened for a pipeline', () => {
  it.each([
    ['kohya', kohya],
    ['diffusers', (module: string) => `unet.${module}`],
    ['ComfyUI', (module: string) => `diffusion_model.${module}`],
  ])('is matched by the names of %s', async (_, name) => {
    const { changes, unmatched } = await opened(bytesOf(attention(name)).bytes);
    expect([...changes.get('unet')!.keys()]).toEqual(PROJECTIONS.map((module) => `${module}.weight`));
    expect(unmatched).toEqual([]);
  });

  it('changes the modules that are named, and lists those that the model does not have', async () => {
    const specs = [...attention(kohya), ...lora('lora_unet_mid_block_nothing', 8, 8)];
    const { bytes } = bytesOf([...specs, { name: 'position_ids', dtype: 'F32', shape: [1] }]);
    const { changes, unmatched } = await opened(bytes, ['attn2.to_k', 'attn2.to_v']);
    expect([...changes.get('unet')!.keys()]).toEqual([
      `${MODULE}.attn2.to_k.weight`,
      `${MODULE}.attn2.to_v.weight`,
    ]);
    expect(unmatched).toEqual(['position_ids', 'lora_unet_mid_block_nothing']);
    await expect(opened(bytes, ['ff.net'])).rejects.toMatchObject({
      code: 'bad_request',
      param: 'loraTargetModules',
      message: expect.stringContaining('changes no module with ff.net in its name') as string,
    });
  });

  it('says what is left out, and warns if that is most of it', async () => {
    const others = (count: number): TensorSpec[] =>
      Array.from({ length: count }, (_, i) => lora(`lora_unet_mid_block_nothing_${i}`, 8, 8)).flat();
    const noteOn = async (...specs: TensorSpec[]) => unmatchedNote(await opened(bytesOf(specs).bytes));
    expect(await noteOn(...attention(kohya))).toBeNull();
    expect(await noteOn(...attention(kohya), ...others(8))).toBe(
      '/style.safetensors also changes 8 modules that this model does not have, which are left out: lora_unet_mid_block_nothing_0, lora_unet_mid_block_nothing_1, lora_unet_mid_block_nothing_2 …',
    );
    expect(await noteOn(...attention(kohya), ...others(9))).toBe(
      '/style.safetensors is mostly left out: it changes 8 modules of this model, and 9 that this model does not have: lora_unet_mid_block_nothing_0, lora_unet_mid_block_nothing_1, lora_unet_mid_block_nothing_2 …; it was probably trained on another model, and images may show little of it',
    );
  });

  it("is refused by name in the numbered layout of cloneofsimo's program", async () => {
    const specs = ['text_encoder', 'unet'].flatMap((part): TensorSpec[] => [
      { name: `${part}:0:up`, dtype: 'F32', shape: [8, 2] },
      { name: `${part}:0:down`, dtype: 'F32', shape: [2, 8] },
    ]);
    await expect(opened(bytesOf(specs).bytes)).rejects.toMatchObject({
      code: 'unsupported',
      param: 'text_encoder:0:up',
      message:
        "/style.safetensors is a LoRA in the numbered layout of cloneofsimo's lora, whose tensors, such as text_encoder:0:up, name no module of a model: merge it into its model with that program, or take it in the layout of kohya, PEFT or diffusers",
    });
  });

  it('is refused if only the text encoder fits, which families share', async () => {
    const name = 'text_model.encoder.layers.0.self_attn.q_proj';
    const [rows, columns] = TINY['text_encoder']!.get(`${name}.weight`)!.shape as [number, number];
    const text = lora(`lora_te1_${name.replaceAll('.', '_')}`, rows, columns);
    const { changes } = await opened(bytesOf(text).bytes);
    expect([...changes.keys()]).toEqual(['text_encoder']);
    const both = [...text, ...lora('lora_unet_double_blocks_0_img_mod_lin', 8, 3072)];
    await expect(opened(bytesOf(both).bytes)).rejects.toThrow('it fits FLUX.1, and this is a model of');
    const bare = { ...TARGET, family: { ...TARGET.family, name: 'bare' } };
    delete (bare.family as { lora?: unknown }).lora;
    const folder = folderOf(bytesOf(text).bytes);
    const given = { given: 'style.safetensors', name: 'default', targets: undefined };
    await expect(openLora(folder, given, bare)).rejects.toThrow(
      'which models of the family bare do not take yet',
    );
  });

  it('is refused if a module has another shape, or no model has such names', async () => {
    const [module] = PROJECTIONS;
    const shaped = bytesOf(lora(kohya(module!), 8, 12)).bytes;
    await expect(opened(shaped)).rejects.toThrow(/to_q with 8 × 12 weights, and the model has \d+ × \d+/);
    const strange = bytesOf(lora('encoder.something', 8, 12)).bytes;
    await expect(opened(strange)).rejects.toThrow(
      /1 module that this model does not have: encoder.something; it was trained on another model/,
    );
  });
});

it('a LoRA is refused by the tensor whose type no kernel reads', async () => {
  const specs = attention(kohya);
  const integers = specs.map((spec, i) => (i === 2 ? { ...spec, dtype: 'I32' as const } : spec));
  await expect(opened(bytesOf(integers).bytes)).rejects.toMatchObject({
    code: 'unsupported',
    message: `/style.safetensors: ${specs[2]!.name} is stored as I32, and only F32, F16 and BF16 are read: convert it`,
  });
});

it(
  'damaged LoRA files are refused, or change what they changed, or list what is left out',
  { timeout: 60_000 },
  async () => {
    const { head, bytes: original } = bytesOf(attention(kohya));
    const wanted = placesOf(await opened(original)).toSorted();
    let refused = 0;
    for (const damaged of mutations(head, 500)) {
      const bytes = new Uint8Array([...damaged, ...original.subarray(head.length)]);
      const found = await opened(bytes).catch((error: unknown) => {
        expect(error).toBeInstanceOf(EngineError);
        expect((error as EngineError).code).toMatch(/^(bad_checkpoint|unsupported)$/);
        refused++;
        return null;
      });
      if (found !== null && found.unmatched.length === 0) expect(placesOf(found).toSorted()).toEqual(wanted);
    }
    expect(refused).toBeGreaterThan(250);
  },
);

describe('a LoRA for few steps', () => {
  const LIGHTNING = { guidance: 1, scheduler: 'euler-trailing' };
  const HYPER = { guidance: 1, scheduler: 'ddim-trailing' };
  it.each([
    ['sdxl_lightning_4step_lora', { ...LIGHTNING, steps: 4 }],
    ['Qwen-Image-Lightning-8steps-V1.0', { ...LIGHTNING, steps: 8 }],
    ['Hyper-SDXL-8steps-lora', { ...HYPER, steps: 8 }],
    ['Hyper-SD15-1step-lora', { steps: 1, guidance: 1, scheduler: 'tcd' }],
    ['Hyper-SDXL-12steps-CFG-lora', { steps: 12, guidance: 5, scheduler: 'ddim-trailing' }],
    ['Hyper-FLUX.1-dev-8steps-lora', { steps: 8, guidance: 3.5, scale: 0.125 }],
    ['Hyper-FLUX.1-dev-16steps-lora', { steps: 16, guidance: 3.5, scale: 0.125 }],
    ['Hyper-SD3-4steps-CFG-lora', { steps: 4, guidance: 5, scale: 0.125 }],
    ['ByteDance/Hyper-SD:Hyper-SDXL-4steps-lora.safetensors', { ...HYPER, steps: 4 }],
    ['Hyper-SDXL-1step-lora', { steps: 1, guidance: 1, scheduler: 'tcd' }],
    ['Hyper-SD15-2steps-lora', { ...HYPER, steps: 2 }],
    ['Hyper-SD15-12steps-CFG-lora', { steps: 12, guidance: 5, scheduler: 'ddim-trailing' }],
    ['alimama-creative/FLUX.1-Turbo-Alpha', { steps: 8, guidance: 3.5 }],
    ['fal/FLUX.2-dev-Turbo', { steps: 8, guidance: 2.5 }],
    ['lora_sd3.5m_turbo_8steps', { steps: 8, guidance: 1.5 }],
    ['latent-consistency/lcm-lora-sdv1-5', { steps: 4, guidance: 1, scheduler: 'lcm' }],
    ['h1t/TCD-SDXL-LoRA', { steps: 4, guidance: 1, scheduler: 'tcd' }],
    ['tianweiy/DMD2:dmd2_sdxl_4step_lora_fp16.safetensors', { steps: 4, guidance: 1, scheduler: 'lcm' }],
    ['sdxl_lightning_2step_lora', { ...LIGHTNING, steps: 2 }],
    ['ByteDance/SDXL-Lightning:sdxl_lightning_8step_lora.safetensors', { ...LIGHTNING, steps: 8 }],
    ['Qwen-Image-Edit-2509-Lightning-4steps-V1.0-bf16', { ...LIGHTNING, steps: 4 }],
    ['SDXL-Turbo-LoRA', { ...LIGHTNING, steps: 4 }],
    ['/models/lcm/loras/style.safetensors', null],
    ['FLUX.1-Turbo-Alpha', { steps: 8, guidance: 3.5 }],
    ['latent-consistency/lcm-lora-sdxl', { steps: 4, guidance: 1, scheduler: 'lcm' }],
    ['lcmLoraSdxl', { steps: 4, guidance: 1, scheduler: 'lcm' }],
    ['sdxl-turbo-lora', { ...LIGHTNING, steps: 4 }],
    [
      'lightx2v/Wan2.2-Lightning:Wan2.2-T2V-A14B-4steps-lora/high_noise_model.safetensors',
      { steps: 4, guidance: 1, flowShift: 5 },
    ],
    ['Wan21_T2V_14B_lightx2v_cfg_step_distill_lora_rank32', { steps: 4, guidance: 1, flowShift: 5 }],
    ['Wan21_CausVid_14B_T2V_lora_rank32', { steps: 8, guidance: 1, flowShift: 8 }],
    ['tcd_sdxl_lora', { steps: 4, guidance: 1, scheduler: 'tcd' }],
    ['hyper-realism', null],
    ['lightning-bolts', null],
    ['z_image_turbo_lora_pixels', null],
    ['pixel-art-xl', null],
  ])('%s', (name, settings) => {
    expect(fewStepsOf({ metadata: {} }, [name])).toEqual(settings && { settings, name });
    expect(fewStepsOf({ metadata: { ss_output_name: name } }, ['style'])).toEqual(
      settings && { settings, name },
    );
  });
});
