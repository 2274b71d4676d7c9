// What the towers in GGUF files have in common: names of tensors by tables, sizes that tensors show, settings of processors.

import type { GgufTensor } from '../files/gguf/gguf.ts';
import type { GgufKeys } from '../files/gguf/keys.ts';
import type { GgufPart } from '../files/gguf/model.ts';
import type { TowerFile } from '../files/gguf/tower.ts';
import type { Json } from './config-values.ts';

/** Names of a tower's tensors there → here. */
export interface TowerNames {
  /** Module of layer `i`, with a dot at the end. */
  layer: string;
  modules: Readonly<Record<string, string>>;
  /** Beginnings of the names of tensors outside of the layers. */
  outer: Readonly<Record<string, string>>;
}

type Tensor = Pick<GgufTensor, 'name' | 'shape'>;
type Tensors = TowerFile['tensors'];

const LAYER = /^[av]\.blk\.(\d+)\.([a-z0-9_]+)\.(weight|bias)$/;
/** Files of the first converters have the names of the two matrices exchanged. */
const SWAPPED: Readonly<Record<string, string>> = { ffn_up: 'ffn_down', ffn_down: 'ffn_up' };

/** The page's name of a tensor; null: the page has none such. */
export function towerName({ name }: Tensor, tensors: Tensors, names: TowerNames): string | null {
  const [, index, module, kind] = LAYER.exec(name) ?? [];
  if (index !== undefined && module !== undefined) {
    const own = names.modules[(isSwapped(tensors) && SWAPPED[module]) || module];
    return own === undefined ? null : `${names.layer.replace('#', index)}${own}${kind}`;
  }
  const outer = Object.keys(names.outer).find((start) => name.startsWith(start));
  return outer === undefined ? null : `${names.outer[outer]}${name.slice(outer.length)}`;
}

/** The tensor as a whole under its name on the page; null: the page has none such. */
export function wholePart(tensor: Tensor, tensors: Tensors, names: TowerNames): GgufPart[] | null {
  const name = towerName(tensor, tensors, names);
  return name === null ? null : [{ name, shape: tensor.shape }];
}

/** Shapes of the first layer's matrices, [rows, columns]. */
function shapesOf(tensors: Tensors): { norm: number; up: readonly number[]; down: readonly number[] } {
  const shape = (module: string): readonly number[] =>
    ['v', 'a'].map((one) => tensors.get(`${one}.blk.0.${module}.weight`)).find((one) => one)?.shape ?? [];
  return { norm: shape('ln1')[0] ?? 0, up: shape('ffn_up'), down: shape('ffn_down') };
}

function isSwapped(tensors: Tensors): boolean {
  const { norm, up, down } = shapesOf(tensors);
  return up[0] === norm && down[1] === norm && up[1] !== norm;
}

/** The width of feed-forward blocks, which some files do not state. */
export function feedForward(tensors: Tensors): number {
  const { up, down } = shapesOf(tensors);
  return (isSwapped(tensors) ? down[0] : up[0]) ?? 0;
}

/** The class of a model whose language model and tower are in two files, and its config.json: what all classes state, then `own`. */
export function statedClass({ language }: TowerFile, className: string, modelType: string, own: Json) {
  const { config } = language;
  const tied = config['tie_word_embeddings'];
  return {
    className,
    config: {
      ...{ model_type: modelType, architectures: [className], tie_word_embeddings: tied },
      text_config: config,
      ...own,
    },
  };
}

/** Sizes of the encoder under the names that most classes of transformers have for them. */
export function encoderSizes({ keys, tensors }: TowerFile, kind: 'vision' | 'audio' = 'vision') {
  return {
    hidden_size: keys.count(`clip.${kind}.embedding_length`),
    intermediate_size: feedForward(tensors),
    num_hidden_layers: keys.count(`clip.${kind}.block_count`),
    num_attention_heads: keys.count(`clip.${kind}.attention.head_count`),
  };
}

/** Size of images and patches. */
export function imageSizes({ keys }: TowerFile) {
  return {
    image_size: keys.count('clip.vision.image_size'),
    patch_size: keys.count('clip.vision.patch_size'),
  };
}

/** The epsilon of norms, as the file rounded it to f32. */
export function normEps({ keys }: TowerFile, otherwise: number): number {
  return keys.real('clip.vision.attention.layer_norm_epsilon', otherwise);
}

/** image_mean and image_std, where the file has them. */
export function normalization({ keys }: TowerFile): Record<string, number[]> {
  return Object.fromEntries(
    ['image_mean', 'image_std'].flatMap((key) => {
      const values = keys.numbers(`clip.vision.${key}`);
      return values === null ? [] : [[key, Array.from(values)]];
    }),
  );
}

/** The activation that files state by flags; null: none. */
export function statedActivation(keys: GgufKeys): 'silu' | 'gelu' | null {
  if (keys.flag('clip.use_silu', false)) return 'silu';
  return keys.flag('clip.use_gelu', false) ? 'gelu' : null;
}
