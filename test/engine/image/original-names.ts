// The names of latent-diffusion, generative-models and OpenCLIP for tensors of the diffusers layout, block by block as those programs number them.

import type { StoredTensor, StoredTensors } from './tiny-tensors.ts';

const RESNET = {
  norm1: 'in_layers.0',
  conv1: 'in_layers.2',
  time_emb_proj: 'emb_layers.1',
  norm2: 'out_layers.0',
  conv2: 'out_layers.3',
  conv_shortcut: 'skip_connection',
} as const;

/** Pairs of prefixes: diffusers', the original one. */
function unetPrefixes(levels: number, layers: number, has: (prefix: string) => boolean): [string, string][] {
  const pairs: [string, string][] = [
    ['time_embedding.linear_1.', 'time_embed.0.'],
    ['time_embedding.linear_2.', 'time_embed.2.'],
    ['add_embedding.linear_1.', 'label_emb.0.0.'],
    ['add_embedding.linear_2.', 'label_emb.0.2.'],
    ['conv_in.', 'input_blocks.0.0.'],
    ['conv_norm_out.', 'out.0.'],
    ['conv_out.', 'out.2.'],
    ['mid_block.attentions.0.', 'middle_block.1.'],
  ];
  const resnet = (prefix: string, original: string): void => {
    for (const [own, other] of Object.entries(RESNET))
      pairs.push([`${prefix}.${own}.`, `${original}.${other}.`]);
  };
  resnet('mid_block.resnets.0', 'middle_block.0');
  resnet('mid_block.resnets.1', 'middle_block.2');
  let input = 1;
  let output = 0;
  for (let level = 0; level < levels; level++) {
    for (let layer = 0; layer < layers; layer++, input++) {
      resnet(`down_blocks.${level}.resnets.${layer}`, `input_blocks.${input}.0`);
      pairs.push([`down_blocks.${level}.attentions.${layer}.`, `input_blocks.${input}.1.`]);
    }
    if (level < levels - 1)
      pairs.push([`down_blocks.${level}.downsamplers.0.conv.`, `input_blocks.${input++}.0.op.`]);
    for (let layer = 0; layer <= layers; layer++, output++) {
      resnet(`up_blocks.${level}.resnets.${layer}`, `output_blocks.${output}.0`);
      pairs.push([`up_blocks.${level}.attentions.${layer}.`, `output_blocks.${output}.1.`]);
      const after = has(`up_blocks.${level}.attentions.${layer}.`) ? 2 : 1;
      if (layer === layers && level < levels - 1)
        pairs.push([`up_blocks.${level}.upsamplers.0.conv.`, `output_blocks.${output}.${after}.conv.`]);
    }
  }
  return pairs;
}

function autoencoderPrefixes(levels: number): [string, string][] {
  const pairs: [string, string][] = [];
  for (const side of ['encoder', 'decoder'] as const) {
    pairs.push([`${side}.conv_norm_out.`, `${side}.norm_out.`]);
    const attention = { group_norm: 'norm', to_q: 'q', to_k: 'k', to_v: 'v', 'to_out.0': 'proj_out' };
    for (const [own, other] of Object.entries(attention))
      pairs.push([`${side}.mid_block.attentions.0.${own}.`, `${side}.mid.attn_1.${other}.`]);
    for (const i of [0, 1]) pairs.push([`${side}.mid_block.resnets.${i}.`, `${side}.mid.block_${i + 1}.`]);
  }
  for (let level = 0; level < levels; level++) {
    const up = levels - 1 - level;
    pairs.push(
      [`encoder.down_blocks.${level}.downsamplers.0.conv.`, `encoder.down.${level}.downsample.conv.`],
      [`decoder.up_blocks.${level}.upsamplers.0.conv.`, `decoder.up.${up}.upsample.conv.`],
    );
    for (const layer of [0, 1, 2]) {
      const down = `encoder.down_blocks.${level}.resnets.${layer}.`;
      const above = `decoder.up_blocks.${level}.resnets.${layer}.`;
      const blocks = [`encoder.down.${level}.block.${layer}.`, `decoder.up.${up}.block.${layer}.`] as const;
      pairs.push(
        [`${down}conv_shortcut.`, `${blocks[0]}nin_shortcut.`],
        [`${above}conv_shortcut.`, `${blocks[1]}nin_shortcut.`],
        [down, blocks[0]],
        [above, blocks[1]],
      );
    }
  }
  return pairs;
}

/** Replaces the first of the prefixes that a name has, and puts another one in front. */
export function renamed(
  tensors: StoredTensors,
  pairs: readonly [string, string][],
  prefix: string,
): StoredTensor[] {
  return [...tensors.values()].map((tensor) => {
    const [own, original] = pairs.find(([one]) => tensor.name.startsWith(one)) ?? ['', ''];
    return { ...tensor, name: prefix + original + tensor.name.slice(own.length) };
  });
}

export function originalUNet(tensors: StoredTensors, prefix = 'model.diffusion_model.'): StoredTensor[] {
  const names = [...tensors.keys()];
  const numbers = (pattern: RegExp): number =>
    new Set(names.flatMap((name) => pattern.exec(name)?.[1] ?? [])).size;
  const has = (start: string): boolean => names.some((name) => name.startsWith(start));
  const levels = numbers(/^down_blocks\.(\d+)\./);
  return renamed(tensors, unetPrefixes(levels, numbers(/^down_blocks\.0\.resnets\.(\d+)\./), has), prefix);
}

export function originalAutoencoder(tensors: StoredTensors, prefix = 'first_stage_model.'): StoredTensor[] {
  const levels = new Set(
    [...tensors.keys()].flatMap((name) => /^encoder\.down_blocks\.(\d+)/.exec(name)?.[1] ?? []),
  );
  const named = renamed(tensors, autoencoderPrefixes(levels.size), prefix);
  // Attention of the original autoencoder projects by convolutions of 1 × 1.
  return named.map((tensor) =>
    tensor.name.includes('.attn_1.') && tensor.shape.length === 2
      ? { ...tensor, shape: [...tensor.shape, 1, 1] }
      : tensor,
  );
}

/** Z-Image as ComfyUI stores it: queries, keys and values in one tensor. */
export function originalZImage(tensors: StoredTensors, prefix = 'model.diffusion_model.'): StoredTensor[] {
  const all: StoredTensor[] = [];
  for (const tensor of tensors.values()) {
    if (/\.to_[kv]\.weight$/.test(tensor.name)) continue;
    const parts = ['q', 'k', 'v'].map((one) => tensors.get(tensor.name.replace('to_q', `to_${one}`))!);
    const name = tensor.name
      .replace(/^all_(x_embedder|final_layer)\.2-1\./, '$1.')
      .replace('.to_out.0.', '.out.')
      .replace('.norm_q.', '.q_norm.')
      .replace('.norm_k.', '.k_norm.');
    if (!name.endsWith('.to_q.weight')) all.push({ ...tensor, name: prefix + name });
    else
      all.push({
        ...tensor,
        name: prefix + name.replace('.to_q.', '.qkv.'),
        shape: [3 * tensor.shape[0]!, tensor.shape[1]!],
        bytes: Buffer.concat(parts.map(({ bytes }) => bytes)),
      });
  }
  return all;
}

const WAN: readonly [RegExp | string, string][] = [
  ['condition_embedder.time_embedder.linear_1.', 'time_embedding.0.'],
  ['condition_embedder.time_embedder.linear_2.', 'time_embedding.2.'],
  ['condition_embedder.text_embedder.linear_1.', 'text_embedding.0.'],
  ['condition_embedder.text_embedder.linear_2.', 'text_embedding.2.'],
  ['condition_embedder.time_proj.', 'time_projection.1.'],
  ['condition_embedder.image_embedder.norm1.', 'img_emb.proj.0.'],
  ['condition_embedder.image_embedder.ff.net.0.proj.', 'img_emb.proj.1.'],
  ['condition_embedder.image_embedder.ff.net.2.', 'img_emb.proj.3.'],
  ['condition_embedder.image_embedder.norm2.', 'img_emb.proj.4.'],
  ['condition_embedder.image_embedder.pos_embed', 'img_emb.emb_pos'],
  [/^scale_shift_table$/, 'head.modulation'],
  ['.scale_shift_table', '.modulation'],
  ['proj_out.', 'head.head.'],
  ['.norm2.', '.norm3.'],
  ['.ffn.net.0.proj.', '.ffn.0.'],
  ['.ffn.net.2.', '.ffn.2.'],
  ['.add_k_proj.', '.k_img.'],
  ['.add_v_proj.', '.v_img.'],
  ['.norm_added_k.', '.norm_k_img.'],
  ['.to_out.0.', '.o.'],
  [/\.to_([qkv])\./, '.$1.'],
  ['.attn1.', '.self_attn.'],
  ['.attn2.', '.cross_attn.'],
];

/** Wan as its makers store it. */
export const originalWan = (tensors: StoredTensors, prefix = 'model.diffusion_model.'): StoredTensor[] =>
  [...tensors.values()].map((tensor) => ({
    ...tensor,
    name: prefix + WAN.reduce((text, [own, other]) => text.replace(own, other), tensor.name),
  }));

/** Lumina 2 as its makers store it: queries, and keys and values of fewer heads, in one tensor. */
export function originalLumina2(tensors: StoredTensors, prefix = 'model.diffusion_model.'): StoredTensor[] {
  return [...tensors.values()].flatMap((tensor) => {
    if (/\.to_[kv]\.weight$/.test(tensor.name)) return [];
    const name = prefix + LUMINA2.reduce((text, [own, other]) => text.replace(own, other), tensor.name);
    if (!tensor.name.endsWith('.to_q.weight')) return [{ ...tensor, name }];
    const parts = ['q', 'k', 'v'].map((one) => tensors.get(tensor.name.replace('to_q', `to_${one}`))!);
    const rows = parts.reduce((sum, { shape }) => sum + shape[0]!, 0);
    const bytes = Buffer.concat(parts.map((part) => part.bytes));
    return [{ ...tensor, name, shape: [rows, tensor.shape[1]!], bytes }];
  });
}

const LUMINA2: [string | RegExp, string][] = [
  ['time_caption_embed.caption_embedder.', 'cap_embedder.'],
  ['time_caption_embed.timestep_embedder.linear_1.', 't_embedder.mlp.0.'],
  ['time_caption_embed.timestep_embedder.linear_2.', 't_embedder.mlp.2.'],
  ['norm_out.linear_1.', 'final_layer.adaLN_modulation.1.'],
  ['norm_out.linear_2.', 'final_layer.linear.'],
  ['.norm1.linear.', '.adaLN_modulation.1.'],
  [/(?<!ffn_)norm1(\.norm)?\.weight$/, 'attention_norm1.weight'],
  [/(?<!ffn_)norm2\./, 'attention_norm2.'],
  ['.attn.to_q.', '.attention.qkv.'],
  ['.attn.to_out.0.', '.attention.out.'],
  [/\.attn\.norm_([qk])\./, '.attention.$1_norm.'],
  ['.feed_forward.linear_', '.feed_forward.w'],
];

const CAUSAL: [string, string][] = [
  ['.norm1.', '.residual.0.'],
  ['.conv1.', '.residual.2.'],
  ['.norm2.', '.residual.3.'],
  ['.conv2.', '.residual.6.'],
  ['.conv_shortcut.', '.shortcut.'],
];

/** The autoencoder of Wan 2.2, whose blocks stand within those of their resolution. */
export function originalResidualCausal(tensors: StoredTensors): StoredTensor[] {
  const blocks = (side: string): number =>
    [...tensors.keys()].filter((name) =>
      new RegExp(`^${side}_blocks\\.0\\.resnets\\.\\d+\\.norm1`).test(name),
    ).length;
  const [down, up] = [blocks('encoder.down'), blocks('decoder.up')];
  const nested = [...tensors.values()].map((tensor) => ({
    ...tensor,
    name: tensor.name
      .replace(/down_blocks\.(\d+)\.resnets\.(\d+)/, 'downsamples.$1.downsamples.$2')
      .replace(/down_blocks\.(\d+)\.downsampler/, `downsamples.$1.downsamples.${down}`)
      .replace(/up_blocks\.(\d+)\.resnets\.(\d+)/, 'upsamples.$1.upsamples.$2')
      .replace(/up_blocks\.(\d+)\.upsampler/, `upsamples.$1.upsamples.${up}`),
  }));
  return originalCausal(new Map(nested.map((tensor) => [tensor.name, tensor])), '');
}

/** The autoencoder of Qwen-Image as Wan's is stored, with modules numbered through. */
export function originalCausal(tensors: StoredTensors, prefix: string): StoredTensor[] {
  const blocks = new Set(
    [...tensors.keys()].flatMap((name) => /^decoder\.up_blocks\.0\.resnets\.(\d+)/.exec(name)?.[1] ?? []),
  );
  return [...tensors.values()].map((tensor) => {
    let name = tensor.name;
    for (const [own, original] of CAUSAL) name = name.replace(own, original);
    name = name
      .replace(/^quant_conv/, 'conv1')
      .replace(/^post_quant_conv/, 'conv2')
      .replace('.conv_in.', '.conv1.')
      .replace('.norm_out.', '.head.0.')
      .replace('.conv_out.', '.head.2.')
      .replace('.mid_block.resnets.0.', '.middle.0.')
      .replace('.mid_block.attentions.0.', '.middle.1.')
      .replace('.mid_block.resnets.1.', '.middle.2.')
      .replace('.down_blocks.', '.downsamples.')
      .replace(
        /\.up_blocks\.(\d+)\.(resnets\.(\d+)|upsamplers\.0)\./,
        (_, level: string, __, nth?: string) => {
          const at = Number(level) * (blocks.size + 1) + (nth === undefined ? blocks.size : Number(nth));
          return `.upsamples.${at}.`;
        },
      );
    return { ...tensor, name: prefix + name };
  });
}

const OPEN_CLIP: [string, string][] = [
  ['self_attn.out_proj', 'attn.out_proj'],
  ['layer_norm1', 'ln_1'],
  ['layer_norm2', 'ln_2'],
  ['mlp.fc1', 'mlp.c_fc'],
  ['mlp.fc2', 'mlp.c_proj'],
];

/** A text encoder as OpenCLIP stores it: queries, keys and values in one tensor, and the projection transposed. */
export function originalOpenClip(tensors: StoredTensors, prefix: string): StoredTensor[] {
  const all: StoredTensor[] = [];
  for (const tensor of tensors.values()) {
    const name = tensor.name.replace('text_model.', '');
    const add = (own: string, more: Partial<StoredTensor> = {}): void =>
      void all.push({ ...tensor, ...more, name: prefix + own });
    const [, layer, module, kind] = /^encoder\.layers\.(\d+)\.(.*)\.(weight|bias)$/.exec(name) ?? [];
    const part = /^self_attn\.([qkv])_proj$/.exec(module ?? '')?.[1];
    if (part === 'q') {
      const parts = ['q', 'k', 'v'].map((one) => tensors.get(tensor.name.replace('q_proj', `${one}_proj`))!);
      const bytes = Buffer.concat(parts.map((one) => one.bytes));
      const [rows, ...behind] = tensor.shape;
      add(`transformer.resblocks.${layer}.attn.in_proj_${kind}`, { bytes, shape: [3 * rows!, ...behind] });
    } else if (part === undefined && layer !== undefined) {
      const original = OPEN_CLIP.find(([own]) => own === module)![1];
      add(`transformer.resblocks.${layer}.${original}.${kind}`);
    } else if (name === 'text_projection.weight') {
      add('text_projection', { bytes: transposed(tensor), shape: tensor.shape.toReversed() });
    } else if (layer === undefined) {
      add(
        name
          .replace('embeddings.token_embedding', 'token_embedding')
          .replace('embeddings.position_embedding.weight', 'positional_embedding')
          .replace('final_layer_norm', 'ln_final'),
      );
    }
  }
  return all;
}

function transposed({ bytes, shape }: StoredTensor): Uint8Array {
  const [rows = 1, k = 1] = shape;
  const values = new Uint16Array(bytes.slice().buffer);
  const out = new Uint16Array(values.length);
  for (let r = 0; r < rows; r++) for (let c = 0; c < k; c++) out[c * rows + r] = values[r * k + c]!;
  return new Uint8Array(out.buffer);
}
