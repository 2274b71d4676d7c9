// Names of transformers that SVDQuant made for nunchaku: diffusers', with matrices that read one input in one tensor, or shorter ones of an earlier
// version. source: nunchaku's models/transformers, deepcompressor's converter

import type { NamedRows, PartLayout, Rename } from '../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../files/pipeline/renamed-tensors.ts';

/** A module in a file, and those whose rows it has. */
type Modules = readonly (readonly [module: RegExp, names: readonly string[]])[];

/** Ends of names, of which a fused matrix has as many rows as its parts together, or one tensor for all. */
const END = /\.(weight|bias|weight\.up|weight\.down|weight\.smooth)$/;
const SHARED = ['weight.down', 'weight.smooth'];

const MODULES: Modules = [
  [/\b(attn|attention)\.to_qkv$/, ['$1.to_q', '$1.to_k', '$1.to_v']],
  [/\battn\.add_qkv_proj$/, ['attn.add_q_proj', 'attn.add_k_proj', 'attn.add_v_proj']],
];

const IN_BLOCK = /^((?:single_)?transformer_blocks\.\d+)\./.source;

/** FLUX.1's first files. */
const SHORT: Modules = [
  [new RegExp(`${IN_BLOCK}qkv_proj$`), ['$1.attn.to_q', '$1.attn.to_k', '$1.attn.to_v']],
  [
    new RegExp(`${IN_BLOCK}qkv_proj_context$`),
    ['$1.attn.add_q_proj', '$1.attn.add_k_proj', '$1.attn.add_v_proj'],
  ],
  [new RegExp(`${IN_BLOCK}(norm_(?:added_)?[qk])$`), ['$1.attn.$2']],
  [/^(transformer_blocks\.\d+)\.out_proj$/, ['$1.attn.to_out.0']],
  [/^(transformer_blocks\.\d+)\.out_proj_context$/, ['$1.attn.to_add_out']],
  [/^(transformer_blocks\.\d+)\.mlp(_context)?_fc1$/, ['$1.ff$2.net.0.proj']],
  [/^(transformer_blocks\.\d+)\.mlp(_context)?_fc2$/, ['$1.ff$2.net.2']],
  [/^(single_transformer_blocks\.\d+)\.mlp_fc1$/, ['$1.proj_mlp']],
];

/** Z-Image's feed-forward part, in which value and gate stand in one tensor. */
const GATED: Modules = [
  [/\bfeed_forward\.net\.0\.proj$/, ['feed_forward.w3', 'feed_forward.w1']],
  [/\bfeed_forward\.net\.2$/, ['feed_forward.w2']],
];

/** Names of diffusers for a tensor. */
export const nunchakuNames: Rename = (name, shape) => {
  const end = END.exec(name)?.[1];
  if (end === undefined) return name;
  const module = name.slice(0, -end.length - 1);
  const found = [...MODULES, ...SHORT, ...GATED].find(([pattern]) => pattern.test(module));
  if (!found) return name;
  const [pattern, names] = found;
  const all = names.map((one) => `${module.replace(pattern, one)}.${end}`);
  if (SHARED.includes(end)) return all.map((one): NamedRows => ({ name: one }));
  return all.length === 1 ? all[0]! : equalRows(all, shape);
};

/** The layout of such files of a component that is known by `signs`, whose names are those of the file. */
export const nunchakuLayout = (
  layout: Pick<PartLayout, 'prefixes' | 'configure'>,
  signs: readonly string[],
): PartLayout => ({ ...layout, signs, names: () => nunchakuNames });
