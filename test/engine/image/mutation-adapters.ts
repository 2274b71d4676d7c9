// Sound files that are given beside an image model: adapters in the formats of PEFT, kohya and LyCORIS, ControlNets, IP-Adapters, textual
// inversions.

import { originalControlNet } from './original-control.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { tinyControlNet, tinySD1 } from './tiny-pipelines.ts';
import { randomFactors, readTensors, type StoredTensor } from './tiny-tensors.ts';
import type { MutationBases, MutationBase } from './mutation-bases.ts';

const golden = (name: string): Promise<StoredTensor[]> =>
  readTensors(`${tinyPipeline('..')}/${name}.safetensors`).then((tensors) => [...tensors.values()]);

/** Adapters of a golden, on its checkpoint. */
const adapters =
  (golden_: string, checkpoint: string, count: number, more: object = {}) =>
  async (): Promise<MutationBase> => {
    const names = Array.from({ length: count }, (_, i) => `adapter-${i}`);
    const files = await Promise.all(
      names.map(async (name) => [`${name}.safetensors`, await golden(`${golden_}/${name}`)]),
    );
    return {
      files: Object.fromEntries(files) as MutationBase['files'],
      options: {
        model: tinyPipeline(checkpoint),
        loraPath: names.map((name) => `@/${name}.safetensors`),
        ...more,
      },
    };
  };

/** LoHa, LoKr and plain differences on projections of one attention, with kohya's names. */
async function lycoris(): Promise<MutationBase> {
  const unet = await readTensors(`${tinyPipeline('sd1')}/unet/diffusion_pytorch_model.safetensors`);
  const projections = [...unet.values()]
    .filter(({ name }) => /attn1\.to_[qkv]\.weight$/.test(name))
    .slice(0, 3);
  const [loha, lokr, diff] = projections.map(({ name, shape: [rows, columns] }) => ({
    name: `lora_unet_${name.replace(/\.weight$/, '').replaceAll('.', '_')}`,
    rows: rows!,
    columns: columns!,
  }));
  const file = [
    ...randomFactors(loha!.name, {
      hada_w1_a: [loha!.rows, 2],
      hada_w1_b: [2, loha!.columns],
      hada_w2_a: [loha!.rows, 2],
      hada_w2_b: [2, loha!.columns],
      alpha: [],
    }),
    ...randomFactors(lokr!.name, {
      lokr_w1: [4, 4],
      lokr_w2_a: [lokr!.rows / 4, 2],
      lokr_w2_b: [2, lokr!.columns / 4],
      alpha: [],
    }),
    ...randomFactors(diff!.name, { diff: [diff!.rows, diff!.columns] }),
  ];
  return {
    files: { 'style.safetensors': file },
    options: { model: tinyPipeline('sd1'), loraPath: ['@/style.safetensors'] },
  };
}

const imagePrompt = (adapter: string) => async (): Promise<MutationBase> => ({
  files: {
    'ip-adapter.safetensors': await golden(`checkpoints/ip-adapters/${adapter}`),
  },
  options: {
    model: tinyPipeline('sd1'),
    componentPaths: { ip_adapter: '@/ip-adapter.safetensors', image_encoder: tinyPipeline('image-encoder') },
  },
  request: { ipAdapterScale: 0.8, ipAdapterImage: true },
});

export const ADAPTER_BASES: MutationBases = {
  'lora-kohya': adapters('lora-sd1-kohya', 'sd1', 1),
  'lora-dora': adapters('lora-sd1-dora', 'sd1', 1),
  'lora-two': adapters('lora-sd1-two', 'sd1', 2),
  'lora-sgm': adapters('lora-sdxl-sgm', 'sdxl', 1),
  'lora-z-image': adapters('lora-z-image', 'z-image', 1),
  'lora-qwen': adapters('lora-qwen-image', 'qwen-image', 1),
  'lora-lycoris': lycoris,
  'control-file': () => {
    const { tensors } = tinyControlNet('sd1', 29);
    return {
      files: { 'control.safetensors': originalControlNet(tensors, 4) },
      options: { model: tinySD1().folder, controlnetPath: ['@/control.safetensors'] },
      request: { controlImages: true },
    };
  },
  'ip-adapter': imagePrompt('sd1'),
  'ip-adapter-plus': imagePrompt('sd1-plus'),
  words: async () => ({
    files: {
      'learned_embeds.safetensors': await golden('checkpoints/words/learned_embeds'),
      'scribble.safetensors': await golden('checkpoints/words/scribble'),
    },
    options: {
      model: tinyPipeline('sd1'),
      textualInversionPath: ['@/learned_embeds.safetensors', '@/scribble.safetensors'],
    },
    request: { prompt: 'a scribble house by <blob>' },
    namesAreWords: true,
  }),
};
