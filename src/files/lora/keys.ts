// Names of the tensors in LoRAs' files: which module a tensor belongs to, and which factor of it. One table for the spellings of PEFT,
// diffusers (present and former), kohya and LyCORIS. source: diffusers' loaders, lycoris.modules

/** The factor that a tensor holds, by its name in LyCORIS, or in PEFT where that has it too. */
export type FactorRole =
  | 'down'
  | 'up'
  | 'mid'
  | 'alpha'
  | 'magnitude'
  | 'diff'
  | 'value'
  | 'diff_b'
  | 'w1'
  | 'w2'
  | `w${1 | 2}_${'a' | 'b'}`
  | `t${1 | 2}`;

/** `hada`, `lokr`: methods whose factors have the same roles. */
export type FactorMethod = 'lora' | 'hada' | 'lokr';

export interface TensorKey {
  module: string;
  method: FactorMethod;
  role: FactorRole;
}

/** A LoRA's name between the factor's and `weight`, as PEFT writes it before saving. */
const OWN = '(?:\\.[\\w-]+)?';

/** Endings of names; those of diffusers before PEFT have the module's last part in them. */
const ENDINGS: readonly (readonly [ending: RegExp, role: FactorRole])[] = [
  [new RegExp(`\\.lora_A${OWN}\\.weight$`), 'down'],
  [new RegExp(`\\.lora_B${OWN}\\.weight$`), 'up'],
  [new RegExp(`\\.lora_B${OWN}\\.bias$`), 'diff_b'],
  [/\.lora_up\.bias$/, 'diff_b'],
  [/\.(?:lora_|lora\.|lora_linear_layer\.)down\.weight$/, 'down'],
  [/\.(?:lora_|lora\.|lora_linear_layer\.)up\.weight$/, 'up'],
  [/\.lora_mid\.weight$/, 'mid'],
  [/\.alpha$/, 'alpha'],
  [/\.dora_scale$/, 'magnitude'],
  [new RegExp(`\\.lora_magnitude_vector${OWN}$`), 'magnitude'],
  [/\.(?:diff|w_norm)$/, 'diff'],
  [/\.(?:diff_b|b_norm)$/, 'diff_b'],
  // Norms of queries and keys, which LoRAs for control images store whole, by the names of the original program and of diffusers.
  [/(?<=[._](?:query|key)_norm)\.scale$/, 'value'],
  [/(?<=\.norm_(?:added_)?[qk])\.weight$/, 'value'],
];

const PROCESSOR =
  /^(.*?)(?:\.processor)?\.(to_[qkv]|to_out|add_[qkv]_proj|to_add_out)_lora\.(down|up)\.weight$/;
/** Names of Xlabs' program, whose blocks have one module for what they project of images, and of texts. */
const FUSED_PROCESSOR =
  /^(.*(?:double|single)_blocks\.\d+)\.processor\.(qkv|proj)_lora([12]?)\.(down|up)\.weight$/;
const LYCORIS = /^(.*)\.(hada|lokr)_(w[12](?:_[ab])?|t[12])$/;
/** PEFT's wrapper around a model. */
const WRAPPER = /^base_model\.model\./;

/** Methods of other LoRAs, by endings of their tensors' names. */
const UNBUILT: readonly (readonly [ending: RegExp, method: string])[] = [
  [/\.(?:oft_blocks|oft_diag|oft_R(?:\.\w+)*\.weight|rescale)$/, 'OFT'],
  [/\.(?:a1|a2|b1|b2|bm1|bm2)\.weight$/, 'GLoRA'],
  [/\.(?:on_input|ia3_l(?:\.\w+)?)$/, 'IA³'],
  [/\.(?:vera_lambda_[bd](?:\.\w+)?)$/, 'VeRA'],
  [/\.lora_embedding_[AB](?:\.\w+)?$/, 'LoRA of an embedding'],
  [/\.reshape_weight$/, 'a layer with other inputs'],
];

/** Returns the parts of a tensor's name; null if it has no ending of a LoRA. */
export function readKey(name: string): TensorKey | null {
  const key = name.replace(WRAPPER, '');
  const [, block, layer, side] = PROCESSOR.exec(key) ?? [];
  if (layer !== undefined) {
    const module = `${block}.${layer === 'to_out' ? 'to_out.0' : layer}`;
    return { module, method: 'lora', role: side as 'down' | 'up' };
  }
  const [, fused, part, stream, end] = FUSED_PROCESSOR.exec(key) ?? [];
  if (end !== undefined) {
    const attention = { '': '', 1: 'img_attn.', 2: 'txt_attn.' }[stream!];
    return { module: `${fused}.${attention}${part}`, method: 'lora', role: end as 'down' | 'up' };
  }
  const [, module, method, role] = LYCORIS.exec(key) ?? [];
  if (role !== undefined)
    return { module: module!, method: method as FactorMethod, role: role as FactorRole };
  for (const [ending, found] of ENDINGS)
    if (ending.test(key)) return { module: key.replace(ending, ''), method: 'lora', role: found };
  return null;
}

/** The name of the method that a tensor's ending shows, if it is one that is not built. */
export function unbuiltMethod(name: string): string | null {
  return UNBUILT.find(([ending]) => ending.test(name))?.[1] ?? null;
}
