// Names of the tensors of Stable Diffusion's UNets in the original programs (latent-diffusion, generative-models), which A1111 and ComfyUI
// keep, and the names that diffusers gives them. source: diffusers' loaders/single_file_utils.py

/** Numbered modules of a residual block. */
const RESNET: readonly (readonly [original: string, name: string])[] = [
  ['in_layers.0.', 'norm1.'],
  ['in_layers.2.', 'conv1.'],
  ['emb_layers.1.', 'time_emb_proj.'],
  ['out_layers.0.', 'norm2.'],
  ['out_layers.3.', 'conv2.'],
  ['skip_connection.', 'conv_shortcut.'],
];

/** Modules outside of the blocks. */
const OUTER: readonly (readonly [original: string, name: string])[] = [
  ['time_embed.0.', 'time_embedding.linear_1.'],
  ['time_embed.2.', 'time_embedding.linear_2.'],
  ['time_embed.cond_proj.', 'time_embedding.cond_proj.'],
  ['label_emb.0.0.', 'add_embedding.linear_1.'],
  ['label_emb.0.2.', 'add_embedding.linear_2.'],
  ['input_blocks.0.0.', 'conv_in.'],
  ['out.0.', 'conv_norm_out.'],
  ['out.2.', 'conv_out.'],
];

const BLOCK = /^(input_blocks|middle_block|output_blocks)\.(\d+)\.(.*)$/;

/**
 * Returns the name that diffusers gives to a tensor, or to a module if `name` ends with a dot; names that it does not know are returned
 * unchanged. `layers`: residual blocks of a level on the way down, one fewer than on the way up.
 */
export function unetName(name: string, layers: number): string {
  const outer = replaced(name, OUTER);
  if (outer !== null) return outer;
  const [, part, index, rest] = BLOCK.exec(name) ?? [];
  if (part === undefined) return name;
  const at = Number(index);
  if (part === 'middle_block')
    return at % 2 === 0
      ? resnet(`mid_block.resnets.${at / 2}`, rest!)
      : `mid_block.attentions.${(at - 1) / 2}.${rest!}`;
  const [, inner, behind] = /^(\d+)\.(.*)$/.exec(rest!) ?? [];
  if (inner === undefined) return name;
  const isDown = part === 'input_blocks';
  const nth = isDown ? at - 1 : at;
  const block = `${isDown ? 'down' : 'up'}_blocks.${Math.floor(nth / (layers + 1))}`;
  const layer = nth % (layers + 1);
  if (behind!.startsWith('op.')) return `${block}.downsamplers.0.conv.${behind!.slice(3)}`;
  if (behind!.startsWith('conv.')) return `${block}.upsamplers.0.${behind!}`;
  return inner === '0'
    ? resnet(`${block}.resnets.${layer}`, behind!)
    : `${block}.attentions.${layer}.${behind!}`;
}

function resnet(block: string, name: string): string {
  return `${block}.${replaced(name, RESNET) ?? name}`;
}

function replaced(name: string, table: readonly (readonly [string, string])[]): string | null {
  const found = table.find(([original]) => name.startsWith(original));
  return found ? found[1] + name.slice(found[0].length) : null;
}

/** Residual blocks of a level on the way down, by the first block that halves the resolution. */
export function layersOf(has: (name: string) => boolean): number {
  for (let at = 1; has(`input_blocks.${at}.0.in_layers.0.weight`); at++)
    if (has(`input_blocks.${at + 1}.0.op.weight`)) return at;
  return 2;
}
